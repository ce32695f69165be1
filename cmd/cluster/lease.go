package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The times that decide who is the owner.
const (
	renewEvery = 300 * time.Millisecond  // between two renewals of a node's state
	certainFor = 1500 * time.Millisecond // from the sending of a renewal: so long no other node can have taken over
	takeAfter  = 2 * time.Second         // from when a node saw the owner's last renewal: then it may take over
	settleFor  = 2 * renewEvery          // so long a process sees no renewal under its name before it takes the name
	rankAfter  = 500 * time.Millisecond  // so much later for each node that comes before it
)

// lease says whether a node is certain that no other has taken over.
type lease struct {
	elapsed func() time.Duration // time of the machine, which goes on while it sleeps

	until atomic.Int64 // the node is certain up to then, in ns of elapsed

	mu      sync.Mutex
	gone    bool
	changed chan struct{} // closed and made anew at each change
}

func newLease(elapsed func() time.Duration) *lease {
	return &lease{elapsed: elapsed, changed: make(chan struct{})}
}

// renewed notes that a renewal that was sent at sent has succeeded.
func (l *lease) renewed(sent time.Duration) {
	l.until.Store(int64(sent + certainFor))
	l.tell(false)
}

// lose notes that the node can never be certain again.
func (l *lease) lose() { l.tell(true) }

func (l *lease) tell(gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = l.gone || gone
	close(l.changed)
	l.changed = make(chan struct{})
}

// valid reports whether the node is certain now.
func (l *lease) valid() bool {
	return int64(l.elapsed()) < l.until.Load() && !l.lost()
}

func (l *lease) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// certain waits until the node is certain; false: it never will be.
func (l *lease) certain() bool { return l.certainBy(context.Background()) }

// certainBy is certain, and false where the context ends first.
func (l *lease) certainBy(ctx context.Context) bool {
	for {
		l.mu.Lock()
		gone, changed := l.gone, l.changed
		l.mu.Unlock()
		if gone {
			return false
		}
		if int64(l.elapsed()) < l.until.Load() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// left is for how long the node is certain; 0: it is not.
func (l *lease) left() time.Duration {
	if !l.valid() {
		return 0
	}
	return max(0, time.Duration(l.until.Load())-l.elapsed())
}
