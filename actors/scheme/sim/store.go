package sim

import (
	"context"
	"errors"

	"pixd/actors/pix"
	"pixd/wal"
)

// Store is the journal that the simulator needs; *wal.Store implements it. If a Store's
// Append returns only when the entry is durable and reported as such, no call to the
// simulator blocks, and no goroutine is started before Start.
type Store interface {
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each key in [lo, hi) in ascending order, until fn returns more =
	// false.
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	// Append queues an entry; entries become visible and durable in the order of the calls.
	wal.Journal
	Close() error
}

// durable is an entry's Out: its Release runs the function then once the entry is durable,
// whether or not a caller still waits, and sends the result to done.
type durable struct {
	done chan error
	then func()
}

// Release implements wal.Out.
func (d durable) Release(err error) {
	if err == nil && d.then != nil {
		d.then()
	}
	d.done <- err
}

// ErrReadOnly is the error of everything that would change a book opened with Options.ReadOnly.
var ErrReadOnly = errors.New("sim: the book is only read")

// append queues an entry. The returned channel receives one value, once the entry is durable.
// then runs before that value is sent, perhaps within this call, so it must not take the lock
// order. In a book that is only read everything is durable, and nothing can be added.
func (s *Sim) append(ops []wal.Op, then func()) <-chan error {
	d := durable{make(chan error, 1), then}
	if s.opts.ReadOnly {
		var err error
		if len(ops) > 0 {
			err = ErrReadOnly
		}
		d.Release(err)
		return d.done
	}
	s.store.Append(&wal.Entry{Ops: ops, Out: []wal.Out{d}})
	return d.done
}

// waitDurable waits until everything appended so far is durable, so that it may be shown to
// callers.
func (s *Sim) waitDurable(ctx context.Context) error { return wait(ctx, s.append(nil, nil)) }

func wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	default: // a result that is there already counts, even if ctx has ended
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now returns the scheme's time. It never goes back, because sums up to an earlier time are
// final: while Options.Now goes back, now returns the same time.
func (s *Sim) now() pix.Millis {
	for {
		now, last := int64(s.opts.Now())+s.ahead, s.last.Load()
		if now <= last {
			return pix.Millis(last)
		}
		if s.last.CompareAndSwap(last, now) {
			return pix.Millis(now)
		}
	}
}
