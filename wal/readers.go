package wal

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// ErrClosed refuses a read of a store whose Close has begun.
var ErrClosed = errors.New("wal: store is closed")

// readPatience is how long Close waits for reads in hand.
const readPatience = 10 * time.Second

// readers counts the reads in hand, because Pebble must not be closed under any:
// it panics, or calls their iterators leaked.
type readers struct {
	count atomic.Int64  // below zero once the end has begun
	none  chan struct{} // capacity 1: after the end began, the last read in hand was over
}

func newReaders() readers { return readers{none: make(chan struct{}, 1)} }

// enter begins a read. Each that was let in calls leave.
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

// end lets no read in any more. It is called once.
func (r *readers) end() {
	r.count.Add(1)
	r.count.Add(math.MinInt64)
	r.leave()
}

// over waits for the reads in hand; false: they are not over yet.
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
