package simulator

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/cmd/serving"
)

// engines are the URLs of an engine, or of the nodes of one.
func (c *Config) engines() []string { return strings.Split(c.Engine, ",") }

func (c *Config) enginePeer(url string) serving.Peer {
	return serving.Peer{Flag: "engine", URL: url, CA: c.EngineCA}
}

func (c *Config) checkEngineCA() error {
	var errs []error
	for _, one := range c.engines() {
		errs = append(errs, c.enginePeer(one).CheckCA())
	}
	return errors.Join(errs...)
}

// notifiers send each notice to one of an engine's nodes: to the one that took the last notice, and
// to the others in turn where it does not take this one. Any node may get a notice, and an engine
// knows one that it gets again.
type notifiers struct {
	all  []*provider.Notifier
	took atomic.Uint32 // index of the node that took the last notice
}

func newNotifiers(c *Config, now func() pix.Millis) (*notifiers, error) {
	n := &notifiers{}
	for _, one := range c.engines() {
		o, err := c.enginePeer(one).Speaks(c.SchemeSecret, now, c.Log)
		if err != nil {
			return nil, err
		}
		next, err := provider.NewNotifier(o)
		if err != nil {
			return nil, err
		}
		n.all = append(n.all, next)
	}
	return n, nil
}

// Take implements scheme.Feed.
func (n *notifiers) Take(notice scheme.Notice, done func(error)) {
	n.try(notice, int(n.took.Load()), len(n.all)-1, done)
}

// try sends a notice to a node, and to as many others as are left.
func (n *notifiers) try(notice scheme.Notice, at, left int, done func(error)) {
	n.all[at].Take(notice, func(err error) {
		switch {
		case err == nil, errors.Is(err, scheme.ErrNoPayee):
			n.took.Store(uint32(at))
		case left > 0:
			n.try(notice, (at+1)%len(n.all), left-1, func(next error) {
				if next != nil && !errors.Is(next, scheme.ErrNoPayee) {
					next = fmt.Errorf("%w; %w", err, next)
				}
				done(next)
			})
			return
		}
		done(err)
	})
}

// Close cancels the notices that are being sent.
func (n *notifiers) Close() {
	for _, one := range n.all {
		one.Close()
	}
}
