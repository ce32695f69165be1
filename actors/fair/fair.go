// Package fair divides the places of a shared pool among its users, so that one user's work
// delays another's by at most the time of one place.
package fair

import (
	"context"
	"errors"
	"sync"
)

// ErrFull says that a user's queue has no room for one more waiter.
var ErrFull = errors.New("fair: too many wait for a place already")

// Bounds are the sizes of a pool. Each is at least 1, except Queue, which is at least 0.
type Bounds struct {
	Places int // most places that are in use at once
	Share  int // most places that one user has at once
	Queue  int // most waiters of one user; one more gets ErrFull
}

// Pool is a number of places. Users whose share is not used up take turns: a place that is given
// back goes to the next user that waits, and within one user to who has waited longest. A user
// is, for example, an account. All methods may be called from any goroutine.
type Pool[K comparable] struct {
	queue int // see Bounds

	mu      sync.Mutex
	line    Line[K, chan struct{}] // of channels, each of which is closed when its waiter gets a place
	refused uint64
}

// New makes a pool of which no place is in use.
func New[K comparable](b Bounds) *Pool[K] {
	return &Pool[K]{queue: b.Queue, line: NewLine[K, chan struct{}](b.Places, b.Share)}
}

// Take waits until the user k has a place. Whoever got one must call Give once. Errors: ErrFull,
// at once; the context's error, where it ends first.
func (p *Pool[K]) Take(ctx context.Context, k K) error {
	p.mu.Lock()
	if !p.line.Full() && !p.line.Shared(k) {
		p.line.Begin(k)
		p.mu.Unlock()
		return nil
	}
	if _, waiting := p.line.Of(k); waiting >= p.queue {
		p.refused++
		p.mu.Unlock()
		return ErrFull
	}
	mine := make(chan struct{})
	place := p.line.Add(k, mine)
	p.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		return p.leave(ctx, place, mine)
	}
}

// leave ends a wait, unless the waiter was given a place meanwhile: then it has the place.
func (p *Pool[K]) leave(ctx context.Context, place Place[K, chan struct{}], mine <-chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-mine:
		return nil
	default:
	}
	p.line.Remove(place)
	p.refused++
	return ctx.Err()
}

// Give gives back a place of the user k, to the one whose turn it is.
func (p *Pool[K]) Give(k K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.End(k)
	if next, waiter, waits := p.line.Next(); waits {
		p.line.Begin(next)
		close(waiter)
	}
}

// Counts are the figures of a pool.
type Counts struct {
	InUse   int    // places in use
	Waiting int    // waiters of all users
	Refused uint64 // how often Take returned an error: too many waited, or a wait ended without a place
}

// Counts returns the pool's figures of this moment.
func (p *Pool[K]) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{p.line.InUse(), p.line.Waiting(), p.refused}
}
