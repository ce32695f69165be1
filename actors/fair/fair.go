// Package fair divides the places of a shared pool among its users, so that one user's work
// delays another's by at most the time of one place.
package fair

import (
	"container/list"
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
	bounds Bounds

	mu      sync.Mutex
	inUse   int
	waiting int
	refused uint64
	users   map[K]*user
	turns   list.List // of *user: those that wait and have a place of their share left
}

type user struct {
	inUse   int
	waiting list.List // of chan struct{}, which is closed when its waiter gets a place
	turn    *list.Element
}

// New makes a pool of which no place is in use.
func New[K comparable](b Bounds) *Pool[K] { return &Pool[K]{bounds: b, users: map[K]*user{}} }

// Take waits until the user k has a place. Whoever got one must call Give once. Errors: ErrFull,
// at once; the context's error, where it ends first.
func (p *Pool[K]) Take(ctx context.Context, k K) error {
	p.mu.Lock()
	u := p.users[k]
	if u == nil {
		u = &user{}
		p.users[k] = u
	}
	if p.inUse < p.bounds.Places && u.inUse < p.bounds.Share {
		p.inUse++
		u.inUse++
		p.mu.Unlock()
		return nil
	}
	if u.waiting.Len() >= p.bounds.Queue {
		p.refused++
		p.forget(k, u)
		p.mu.Unlock()
		return ErrFull
	}
	mine := make(chan struct{})
	place := u.waiting.PushBack(mine)
	p.waiting++
	p.line(u)
	p.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		return p.leave(ctx, k, u, place, mine)
	}
}

// leave ends a wait, unless the waiter was given a place meanwhile: then it has the place.
func (p *Pool[K]) leave(ctx context.Context, k K, u *user, place *list.Element, mine <-chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-mine:
		return nil
	default:
	}
	u.waiting.Remove(place)
	p.waiting--
	p.refused++
	p.line(u)
	p.forget(k, u)
	return ctx.Err()
}

// Give gives back a place of the user k.
func (p *Pool[K]) Give(k K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.users[k]
	if u == nil || u.inUse == 0 {
		panic("fair: a place is given back that was not taken")
	}
	u.inUse--
	p.inUse--
	p.line(u)
	if next := p.turns.Front(); next != nil {
		p.serve(next.Value.(*user))
	}
	p.forget(k, u)
}

// serve gives a free place to the user whose turn it is.
func (p *Pool[K]) serve(u *user) {
	first := u.waiting.Front()
	close(u.waiting.Remove(first).(chan struct{}))
	p.waiting--
	u.inUse++
	p.inUse++
	p.turns.Remove(u.turn)
	u.turn = nil
	p.line(u)
}

// line lets the user take turns while it waits and its share is not used up.
func (p *Pool[K]) line(u *user) {
	switch takes := u.waiting.Len() > 0 && u.inUse < p.bounds.Share; {
	case takes && u.turn == nil:
		u.turn = p.turns.PushBack(u)
	case !takes && u.turn != nil:
		p.turns.Remove(u.turn)
		u.turn = nil
	}
}

// forget drops a user that has no place and does not wait, so that memory follows what is at
// work.
func (p *Pool[K]) forget(k K, u *user) {
	if u.inUse == 0 && u.waiting.Len() == 0 {
		delete(p.users, k)
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
	return Counts{p.inUse, p.waiting, p.refused}
}
