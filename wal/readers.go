package wal

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// ErrClosed is the error of a read that begins after Close was called.
var ErrClosed = errors.New("wal: store is closed")

// readPatience is how long Close waits for reads that have begun.
const readPatience = 10 * time.Second

// readers counts the reads that have begun and not ended. Pebble must not be closed before
// they end: it would panic, or report their iterators as leaked.
type readers struct {
	count atomic.Int64  // below zero once close was called
	none  chan struct{} // capacity 1: after close was called, receives a value once the last read has ended
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

// close makes enter refuse further reads. It is called once.
func (r *readers) close() {
	r.count.Add(1)
	r.count.Add(math.MinInt64)
	r.leave()
}

// over waits until the reads that have begun are over, for patience at most; false: a read
// has not ended.
func (r *readers) over(patience time.Duration) bool {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-r.none:
		select { // for who asks again
		case r.none <- struct{}{}:
		default:
		}
		return true
	case <-timeout.C:
		return false
	}
}
