package sim

import (
	"context"

	"pixd/actors/ledger"
	"pixd/wal"
)

// Store is the journal that the simulator needs; *wal.Store implements it. With a Store
// whose Append releases the entry before it returns, no call to the simulator blocks, and
// no goroutine is started before Start.
type Store interface {
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each key in [lo, hi) in ascending order, until fn returns more =
	// false.
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	// Append queues an entry; entries become visible and durable in the order of the calls.
	Append(e *wal.Entry) wal.Ticket
	Close() error
}

// durable is released when an entry is on disk. Then its function runs, whether or not the
// caller still waits.
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

// append queues an entry. Its result receives one value, once the entry is durable; the
// function then runs before that, perhaps within this call, and must not take order.
func (s *Sim) append(ops []wal.Op, then func()) <-chan error {
	d := durable{make(chan error, 1), then}
	s.store.Append(&wal.Entry{Ops: ops, Out: []wal.Out{d}})
	return d.done
}

// settle waits until everything appended so far is durable, and so may be shown.
func (s *Sim) settle(ctx context.Context) error { return wait(ctx, s.append(nil, nil)) }

func wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	default: // an entry that is released already counts, even where ctx has ended
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now returns the scheme's time. It never goes back, because sums up to an earlier time are
// final: while Options.Now goes back, now stands still.
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
