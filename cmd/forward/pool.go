package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"sync"
	"time"

	"pixd/actors/fair"
)

const (
	maxDials    = 16              // connections that are opened at once: more would keep each other from being greeted in time, and none would come about
	maxConns    = 4096            // connections to the owner, and so requests that are at the owner at once
	connShare   = 1024            // how many of them requests with the same credentials have
	lastAnswers = 2 * time.Minute // how long an earlier owner has for the answers to what it was sent: as long as the listener that it answers through
	lastHeads   = 2 * time.Second // how long it has to begin them: it gives up owning after it has answered everything
)

var (
	errOver    = errors.New("forwarding has ended")
	errNoPlace = errors.New("too many requests are at the owner")
)

// pool has the connections to one owner.
type pool struct {
	name, url string
	address   string
	tls       *tls.Config // nil: plain HTTP

	places *fair.Pool[uint64] // one for each connection in use, of whose request it is; see whose
	dials  chan struct{}      // has one entry for each that is being opened
	back   chan struct{}      // wakes those who wait to open one when a connection comes back
	over   chan struct{}      // closed when the pool is retired

	mu      sync.Mutex
	idle    []*link // the one used last at the end
	used    map[*link]struct{}
	retired bool
	reaping bool // idle connections will be looked at
}

// newPool makes the pool of an owner, with no connection yet.
func newPool(name, where string, t *tls.Config) (*pool, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("the owner's URL: %w", err)
	}
	p := &pool{
		name: name, url: where, address: u.Host, places: fair.New[uint64](fair.Bounds{Places: maxConns, Share: connShare, Queue: math.MaxInt}),
		dials: make(chan struct{}, maxDials), back: make(chan struct{}, maxDials), over: make(chan struct{}), used: map[*link]struct{}{},
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Port() == "":
		return nil, fmt.Errorf("the owner's URL %q must be http://host:port or https://host:port", where)
	case u.Scheme == "https" && t == nil:
		return nil, fmt.Errorf("the owner's URL %q is https, and this node has no certificate", where)
	case u.Scheme == "https":
		p.tls = t.Clone()
		p.tls.ServerName = u.Hostname()
	}
	return p, nil
}

// ended is a context in which nothing is waited for.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// get returns a connection that no request uses, for a request of who. It waits for a place until an instant.
func (p *pool) get(who uint64, until time.Time) (*link, error) {
	if p.places.Take(ended, who) != nil { // most find a place, and need no timer
		ctx, cancel := context.WithDeadline(context.Background(), until)
		defer cancel()
		if p.places.Take(ctx, who) != nil {
			return nil, errNoPlace
		}
	}
	l, err := p.connect(until)
	if err != nil {
		p.places.Give(who)
		return nil, err
	}
	l.who = who
	return l, nil
}

// connect returns an idle connection, or a new one.
func (p *pool) connect(until time.Time) (*link, error) {
	l, err := p.await(until)
	if err != nil {
		return nil, err
	}
	if l == nil {
		defer func() { <-p.dials }()
		if l, err = dial(p.address, p.tls, until); err != nil {
			p.clear()
			return nil, err
		}
	}
	return l, p.use(l)
}

// await returns an idle connection; nil: the caller has a place to open one, which it must give back.
func (p *pool) await(until time.Time) (*link, error) {
	l := p.rested(until)
	if l != nil {
		return l, nil
	}
	turn := time.NewTimer(min(time.Until(until), greetFor)) // the owner may be another by then
	defer turn.Stop()
	for l == nil {
		select {
		case p.dials <- struct{}{}:
			if l = p.rested(until); l != nil {
				<-p.dials
			}
			return l, nil
		case <-p.back:
			l = p.rested(until)
		case <-p.over:
			return nil, errOver
		case <-turn.C:
			return nil, errNoPlace
		}
	}
	return l, nil
}

// rested returns an idle connection that can be used; nil: there is none.
func (p *pool) rested(until time.Time) *link {
	for l := p.pop(); l != nil; l = p.pop() {
		if l.usable(until) {
			return l
		}
		_ = l.Close()
	}
	return nil
}

func (p *pool) pop() *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	l := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return l
}

// use counts a connection as in use.
func (p *pool) use(l *link) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		_ = l.Close()
		return errOver
	}
	l.answers.Store(false)
	p.used[l] = struct{}{}
	return nil
}

// put takes a connection back on which another request may follow.
func (p *pool) put(l *link) {
	p.mu.Lock()
	defer p.places.Give(l.who) // read now: the next request may have the link before the place is free
	defer p.mu.Unlock()
	delete(p.used, l)
	if p.retired {
		_ = l.Close()
		return
	}
	l.since = time.Now()
	p.idle = append(p.idle, l)
	select {
	case p.back <- struct{}{}:
	default:
	}
	if !p.reaping {
		p.reaping = true
		time.AfterFunc(idleFor, p.reap)
	}
}

// drop closes a connection that was in use.
func (p *pool) drop(l *link) {
	p.mu.Lock()
	delete(p.used, l)
	p.mu.Unlock()
	_ = l.Close()
	p.places.Give(l.who)
}

// fail closes a connection that has failed, and all idle ones: they are probably dead too.
func (p *pool) fail(l *link) {
	p.drop(l)
	p.clear()
}

// clear closes all idle connections.
func (p *pool) clear() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, l := range idle {
		_ = l.Close()
	}
}

// reap closes the connections that have been idle for too long.
func (p *pool) reap() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) >= idleFor {
		n++
	}
	old := p.idle[:n:n]
	p.idle = p.idle[n:]
	if p.reaping = len(p.idle) > 0; p.reaping {
		time.AfterFunc(idleFor-time.Since(p.idle[0].since), p.reap)
	}
	p.mu.Unlock()
	for _, l := range old {
		_ = l.Close()
	}
}

// retire closes all idle connections. Those in use are closed after two times: the first is for those on
// which no answer has begun.
func (p *pool) retire(heads, answers time.Duration) {
	p.mu.Lock()
	if !p.retired {
		p.retired = true
		close(p.over)
	}
	p.mu.Unlock()
	p.clear()
	if answers == 0 {
		p.cut(false)
		return
	}
	time.AfterFunc(heads, func() { p.cut(true) })
	time.AfterFunc(answers, func() { p.cut(false) })
}

// cut closes the connections in use, or only those on which no answer has begun.
func (p *pool) cut(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.used {
		if !silent || !l.answers.Load() {
			_ = closeUnder(l)
		}
	}
}

// closeUnder closes a connection without a word of TLS, for which a frozen owner could let it wait.
func closeUnder(l *link) error { return l.under.Close() }

var _ net.Conn = (*link)(nil)
