package sim

import (
	"context"

	"pixd/actors/ledger"
	"pixd/wal"
)

// Store is what the simulator needs of a journal: a *wal.Store is one. With one
// that releases an entry within its Append, nothing that the simulator is asked
// blocks, and no goroutine is started before Start.
type Store interface {
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each key in [lo, hi), upwards, until fn says no more.
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	// Append queues an entry; entries become visible and durable in order.
	Append(e *wal.Entry) wal.Ticket
	Close() error
}

// durable is told that an entry is on disk. What follows from that happens
// whether or not anyone still waits.
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

// append queues an entry. The result yields once, when it is durable; then runs
// before that, perhaps within this call: it must not take order.
func (s *Sim) append(ops []wal.Op, then func()) <-chan error {
	d := durable{make(chan error, 1), then}
	s.store.Append(&wal.Entry{Ops: ops, Out: []wal.Out{d}})
	return d.done
}

// settle waits until all that was appended so far is durable, and so may be told.
func (s *Sim) settle(ctx context.Context) error { return wait(ctx, s.append(nil, nil)) }

func wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	default: // an entry that was released at once counts, however late the caller is
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now is the scheme's clock. It never goes back, because what was added up is
// closed: where the clock it is given goes back, it stands still.
func (s *Sim) now() ledger.Millis {
	for {
		now, last := int64(s.opts.Now())+s.ahead, s.last.Load()
		if now <= last {
			return ledger.Millis(last)
		}
		if s.last.CompareAndSwap(last, now) {
			return ledger.Millis(now)
		}
	}
}
