package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The values of --reads.
const (
	ReadsLease  = "lease"  // by this node's clock: its last renewal was sent less than certainFor ago
	ReadsQuorum = "quorum" // by asking a majority of the nodes, without any clock
)

func (f *Flags) checkReads() error {
	if f.Reads != ReadsLease && f.Reads != ReadsQuorum {
		return fmt.Errorf("--reads %q: %s or %s", f.Reads, ReadsLease, ReadsQuorum)
	}
	return nil
}

// quorum proves by the log itself that this node is the owner: while a majority says that the log ends
// with this node's newest batch, nobody has taken over. Those who ask meanwhile share the next question.
type quorum struct {
	n *node

	mu   sync.Mutex
	next *question // not asked yet; nil: nobody waits
	busy bool      // a question is being asked
}

// question is asked once for all who wait for it.
type question struct {
	done  chan struct{}
	owner bool // set before done is closed
}

// certain waits until a majority has said, after the call, that this node is the owner; false: it is
// not any more.
func (q *quorum) certain() bool { return q.certainBy(context.Background()) }

// certainBy is certain, and false where the context ends first.
func (q *quorum) certainBy(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	q.mu.Lock()
	if q.next == nil {
		q.next = &question{done: make(chan struct{})}
	}
	mine := q.next
	if !q.busy {
		q.busy = true
		go q.ask()
	}
	q.mu.Unlock()
	select {
	case <-mine.done:
		return mine.owner
	case <-ctx.Done():
		return false
	}
}

// ask asks until nobody waits.
func (q *quorum) ask() {
	for {
		q.mu.Lock()
		now := q.next
		q.next = nil
		q.busy = now != nil
		q.mu.Unlock()
		if now == nil {
			return
		}
		now.owner = q.isOwner()
		close(now.done)
	}
}

// isOwner asks a majority until it is known.
func (q *quorum) isOwner() bool {
	for !q.n.lease.lost() {
		ctx, cancel := context.WithTimeout(context.Background(), certainFor)
		end, err := q.n.log.End(ctx, logNumber)
		cancel()
		if at, _, _ := q.n.store.Head(); err == nil && end <= at {
			return true
		}
		// A batch of this node is on its way, or another node has added one: the former will be
		// the newest in a moment, and of the latter this node hears by its next append or renewal.
		time.Sleep(quorumAgain)
	}
	return false
}

// quorumAgain is the time between two questions.
const quorumAgain = 200 * time.Microsecond

// proof says whether a node is the owner: before an answer leaves it, and before the scheme is told of anything.
type proof interface {
	certain() bool
	certainBy(ctx context.Context) bool
}

// before returns how the node proves that it is the owner before it tells the scheme anything: as for an answer, and then by
// the lease in any case, which leaves what is sent the time until another may take over.
func before(owns proof, l *lease) func(ctx context.Context) bool {
	return func(ctx context.Context) bool { return owns.certainBy(ctx) && l.certainBy(ctx) }
}

// proof returns how the node proves that it is the owner.
func (s *Served) proof(n *node) proof {
	if s.flags.Reads == ReadsQuorum {
		return &quorum{n: n}
	}
	return n.lease
}
