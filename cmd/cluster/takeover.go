package cluster

import (
	"context"
	"time"

	"pixd/wal"
)

// takeover is the decision to take the log over.
type takeover struct {
	from    wal.Owner       // who owned the log when that was decided
	deposed wal.NodeVersion // the writing of its state that is to be its last; none where its process can no longer write any
}

// due reports whether the node may take over now. A node that has not read the others' states cannot
// know whom it would have to depose.
func (n *node) due() (t takeover, due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isDue(n.elapsed())
}

// dueBy takes in the states of all nodes and says by them whether the node may take over, and which of them has a batch behind
// after that the log lacks; nil: none. All of it happens at once: a reading that is older, and may lack a node, does not come between.
func (n *node) dueBy(all []wal.NodeState, after uint64) (t takeover, due bool, lacked *seen, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	if err := n.takeIn(all, now); err != nil {
		return t, false, nil, err
	}
	if is, lacks := n.seen.lacking(after); lacks {
		lacked = &is
	}
	t, due = n.isDue(now)
	return t, due, lacked, nil
}

// isDue is due for a caller that holds n.mu.
func (n *node) isDue(now time.Duration) (t takeover, due bool) {
	n.noteOwner(now)
	if n.wrong != "" || n.seen == nil || !n.lease.valid() || !n.store.MayOwn() || n.owner.Name == n.name && n.owner.Run == n.self.Run {
		return t, false
	}
	t.from = n.owner
	wait := time.Duration(n.seen.rank(logNumber, n.name, now)) * rankAfter
	if n.owner.Name == "" {
		switch next := n.owner.Next; {
		case next == n.name:
			wait = 0
		case next != "" && n.seen[next].alive(now):
			wait += takeAfter
		}
		return t, now-n.ownerBeat >= wait
	}
	if is := n.seen[n.owner.Name]; is.Run == n.owner.Run {
		t.deposed = is.NodeVersion
	}
	return t, now-n.ownerBeat >= takeAfter+wait
}

// take makes this node the owner. Whether that has succeeded is known once the log has been followed
// up to there. Where the log has another owner by now, the decision is void: it has not been waited
// for that one, and it would not be deposed. So it is where a majority says something else of the nodes than this node had
// read: the owner may be another process of its name, which is alive, and nothing would depose that. A log that has lost
// batches nobody takes.
func (n *node) take(ctx context.Context, t takeover) error {
	after, batch, err := n.store.OwnBatch(wal.Owner{Name: n.name, Run: n.self.Run})
	if err != nil {
		return err
	}
	all, err := n.log.Nodes(ctx)
	if err != nil {
		return err
	}
	still, due, lacked, err := n.dueBy(all, after)
	switch {
	case err != nil:
		return err
	case !due || still != t:
		return wal.ErrMoved
	case lacked != nil:
		return n.lacksBatches(ctx, lacked, after)
	}
	return n.log.Take(ctx, logNumber, after, t.deposed, batch)
}
