package cluster

import (
	"context"
	"fmt"
	"time"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/machine"
	"pixd/wal"
)

const (
	goneAfter   = 10 * time.Second
	behindAfter = 10 * time.Second
	trimEvery   = time.Second

	// clockEvery is the time between two comparisons of the nodes' clocks, and clockApart by how much they may
	// differ without an alert. The scheme refuses an owner whose clock is off by five minutes, and does not sign what
	// it says then: an owner that is ahead hears the right time from the other nodes alone.
	clockEvery = 10 * time.Second
	clockApart = time.Minute

	// heldForGone is how large the log's database may be before it is trimmed although a node that is
	// gone lacks batches: it copies another node's journal when it returns. A node that reads a long
	// log makes the log's owner hold all of it in memory, which is why this is not more.
	// A node that is there, and lacks them, holds half of what the database may have.
	heldForGone = 512 << 20
)

// keeper is the owner's care for the log and the other nodes.
type keeper struct {
	n      *node
	ask    func(context.Context) []said // asks the other nodes what they are
	raise  func(kind, message string)
	raised map[string]bool          // alerts that stand, by kind and node
	behind map[string]time.Duration // since when a node is behind where the owner was then
	goal   map[string]uint64        // the position that a node has to reach, and then is no longer behind
}

func (s *Served) newKeeper(n *node, raise func(kind, message string)) *keeper {
	ask := func(ctx context.Context) []said { return s.askEach(ctx, n.peers()) }
	return &keeper{n: n, ask: ask, raise: raise, raised: map[string]bool{}, behind: map[string]time.Duration{}, goal: map[string]uint64{}}
}

// peers are the other nodes that the log has: also one that has joined since this node was given its list, and none
// that has left.
func (n *node) peers() (all []peer) {
	for _, is := range n.others() {
		all = append(all, peer{is.Name, is.URL})
	}
	return all
}

// run trims the log and watches the nodes until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for compared := k.n.elapsed(); pause(ctx, trimEvery) == nil; {
		if err := k.trim(ctx); err != nil && ctx.Err() == nil {
			k.n.slog.Warn("cluster: the log is not trimmed", "error", err)
		}
		k.watch()
		if now := k.n.elapsed(); now-compared >= clockEvery {
			compared = now
			k.compare(k.ask(ctx), machine.Clocks().Wall())
		}
	}
}

// compare raises an alert for each node whose clock is far from this one's. Which of them is wrong it does not know.
func (k *keeper) compare(others []said, own pix.Millis) {
	for _, o := range others {
		if o.err != nil || o.said.Clock == 0 {
			continue
		}
		ahead, is := time.Duration(own-o.said.Clock)*time.Millisecond, "ahead of"
		if ahead < 0 {
			ahead, is = -ahead, "behind"
		}
		k.stand(engine.AlertClock, o.name, ahead > clockApart, fmt.Sprintf("the clock of this node, %s, is %s %s that of node %s: the scheme refuses an owner whose clock is off by more than five minutes", k.n.name, ahead.Round(time.Second), is, o.name))
	}
}

// trim removes from the log what all nodes have on their disks.
func (k *keeper) trim(ctx context.Context) error {
	bytes, most, err := k.n.log.Size(ctx)
	if err != nil {
		return err
	}
	k.stand(engine.AlertLogFull, "", bytes > most/2, fmt.Sprintf("the log's database has %d bytes of %d: is a node gone, or the log shared with others?", bytes, most))
	upto := k.n.store.Synced()
	k.n.mu.Lock()
	now := k.n.elapsed()
	for name, is := range k.n.seen {
		if held := is.alive(now) && bytes < most/2 || bytes < heldForGone; name != k.n.name && is.Wrong == "" && held {
			upto = min(upto, is.Synced)
		}
	}
	k.n.mu.Unlock()
	return k.n.log.Trim(ctx, logNumber, upto)
}

// watch raises an alert for each node that is gone, behind or wrong, once until that is over.
func (k *keeper) watch() {
	head, _, _ := k.n.store.Head()
	now := k.n.elapsed()
	for _, is := range k.n.others() {
		gone := now-is.since > goneAfter
		k.stand(engine.AlertNodeGone, is.Name, gone, fmt.Sprintf("node %s has not been heard of for %s", is.Name, (now-is.since).Round(time.Second)))
		k.stand(engine.AlertLogMismatch, is.Name, is.Wrong != "", fmt.Sprintf("node %s follows no more: %s", is.Name, is.Wrong))
		if is.Applied >= k.goal[is.Name] {
			k.goal[is.Name], k.behind[is.Name] = head, now
		}
		k.stand(engine.AlertNodeBehind, is.Name, !gone && is.Wrong == "" && now-k.behind[is.Name] > behindAfter,
			fmt.Sprintf("node %s is at batch %d, where this node was %s ago at %d", is.Name, is.Applied, (now-k.behind[is.Name]).Round(time.Second), k.goal[is.Name]))
	}
}

// stand raises an alert when what it is about begins.
func (k *keeper) stand(kind, name string, is bool, message string) {
	if is && !k.raised[kind+name] {
		k.raise(kind, message)
	}
	k.raised[kind+name] = is
}

// others are the other nodes.
func (n *node) others() []seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []seen
	for name, is := range n.seen {
		if name != n.name {
			all = append(all, is)
		}
	}
	return all
}

// tookOver says from whom this node has taken over, if that was lost.
func tookOver(k *keeper, from wal.Owner) {
	if from.Name != "" {
		k.raise(engine.AlertTookOver, fmt.Sprintf("node %s has taken over from %s, which was lost or could not be reached", k.n.name, from.Name))
	}
}
