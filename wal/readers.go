package wal

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// ErrClosed refuses a read of a store whose Close has begun.
var ErrClosed = errors.New("wal: store is closed")

// readPatience is how long Close waits for reads that are under way.
const readPatience = 10 * time.Second

// readers counts the reads that are under way. Pebble must not be closed before they end:
// it would panic, or report their iterators as leaked.
type readers struct {
	count atomic.Int64  // below zero once end was called
	none  chan struct{} // capacity 1: receives once the last read has ended after end was called
}

func newReaders() readers { return readers{none: make(chan struct{}, 1)} }

// enter begins a read. A caller that gets nil must call leave.
func (r *readers) enter() error {
	if r.count.Add(1) < 0 {
		r.leave()
		return ErrClosed
	}
	return nil
}

func (r *readers) leave() {
	if r.count.Add(-1) == math.MinInt64 {
		select {
		case r.none <- struct{}{}:
		default:
		}
	}
}

// end refuses further reads. It is called once.
func (r *readers) end() {
	r.count.Add(1)
	r.count.Add(math.MinInt64)
	r.leave()
}

// over waits for the reads that are under way, at most for patience; false: some have not ended.
func (r *readers) over(patience time.Duration) bool {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-r.none:
		return true
	case <-timeout.C:
		return false
	}
}
