package provider

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pixd/actors/scheme"
)

const (
	// noticePatience is longer than an engine takes to answer.
	noticePatience = 15 * time.Second
	// noticesAtOnce are sent at once; others wait for their turn.
	noticesAtOnce = 64
)

// Notifier brings a scheme's notices to an engine in another process. Take is
// its scheme.Feed.
type Notifier struct {
	client *client
	turns  chan struct{}
	ending context.Context
	end    context.CancelFunc

	mu     sync.Mutex // guards closed, and work against being waited for while it grows
	closed bool
	work   sync.WaitGroup
}

// NewNotifier brings notices to the engine at an address.
func NewNotifier(o Options) (*Notifier, error) {
	c, err := newClient(o, ToEngine)
	if err != nil {
		return nil, err
	}
	n := &Notifier{client: c, turns: make(chan struct{}, noticesAtOnce)}
	n.ending, n.end = context.WithCancel(context.Background())
	return n, nil
}

// Take implements scheme.Feed. How many may wait here is bounded by who brings
// them.
func (n *Notifier) Take(notice scheme.Notice, done func(error)) {
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.work.Add(1)
	}
	n.mu.Unlock()
	if closed {
		done(context.Canceled)
		return
	}
	go func() {
		defer n.work.Done()
		done(n.deliver(notice))
	}()
}

// deliver is nil once the engine has acknowledged.
func (n *Notifier) deliver(notice scheme.Notice) error {
	select {
	case n.turns <- struct{}{}:
		defer func() { <-n.turns }()
	case <-n.ending.Done():
		return n.ending.Err()
	}
	ctx, cancel := context.WithTimeout(n.ending, noticePatience)
	defer cancel()
	status, answer, err := n.client.post(ctx, PathNotices, TellNotice(notice), MaxBody)
	if err == nil && status != http.StatusOK {
		err = unexpected(status, answer)
	}
	if err != nil {
		return fmt.Errorf("notice of %s: %w", notice.EndToEnd, err)
	}
	return nil
}

// Close ends what is being sent; none of it counts as acknowledged.
func (n *Notifier) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.work.Wait()
	n.client.close()
}
