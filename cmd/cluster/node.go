package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/strictjson"
	"pixd/cmd/snapshots"
	"pixd/wal"
)

// logNumber is the number of the one log that there is.
const logNumber = 0

// node is one of the processes that share a journal, without its listeners and without an engine. The
// functions of this file decide what it does; they wait for nothing. Those of loop.go call them.
type node struct {
	self    state // the fields that never change
	name    string
	log     wal.Log
	store   *wal.Store
	cluster wal.Cluster
	maker   *snapshots.Maker   // of this node's journal
	over    atomic.Bool        // the engine over it has ended, or is about to
	unmake  context.CancelFunc // cuts short the snapshot that is being made
	elapsed func() time.Duration
	named   chan struct{} // receives once the log is handed over to this node, which follows it
	slog    *slog.Logger
	lease   *lease
	meet    func(context.Context) (missing []string, err error) // asks the others for their lists of nodes; nil: that was done
	member  bool                                                // a member of etcd has the same data folder
	earlier wal.NodeVersion                                     // what an earlier node of this process has written last, as far as it knows

	// While it registers:
	first   state         // of its name, as it was read first
	late    bool          // that was renewed once since
	watched time.Duration // when either was seen; 0: nothing was read yet

	mu        sync.Mutex
	role      string
	wrong     string
	version   wal.NodeVersion
	seen      seenNodes        // nil: it has not read any state
	answers   [8]time.Duration // how long the last renewals took, in any order; 0: none yet
	renewals  int
	former    wal.Owner // whom this node has taken over from
	heir      string    // the node to which this one hands the log over
	heads     heads
	owner     wal.Owner     // as the store had it last
	ownerBeat time.Duration // when the owner was seen to renew itself last, or to become the owner
}

// errTaken says that a node of the same name is running.
var errTaken = errors.New("another process runs under this node's name, and renews its state: give each node a --node of its own")

// mayRegister reports whether the node may write its state for the first time, after a reading of all
// nodes. It refuses a name under which another process starts, or renews its state. A process that has ended, as an earlier
// node of this one has, may have had one last renewal on its way: after one such renewal the name is watched for takeAfter
// and not for settleFor.
func (n *node) mayRegister(all []wal.NodeState) (bool, error) {
	read, err := seenNodes{}.take(all, 0)
	if err != nil {
		return false, err
	}
	found, now := read[n.name], n.elapsed()
	switch {
	case n.watched == 0:
		n.first, n.watched = found.state, now
	case found.Version == 0: // the name was given up
	case found.Run != n.first.Run || found.Beat > n.first.Beat+1:
		return false, fmt.Errorf("--node %s: %w", n.name, errTaken)
	case found.Beat > n.first.Beat && !n.late:
		n.late, n.watched = true, now
	}
	watch := settleFor
	if n.late {
		watch = takeAfter
	}
	n.version = wal.NodeVersion{Name: n.name, Version: found.Version}
	return found.Version == 0 || n.version == n.earlier || now-n.watched > watch, nil
}

// renewal is a writing of the node's state whose answer is not known yet.
type renewal struct {
	sent    time.Duration // for the first time
	version wal.NodeVersion
	text    []byte
}

// renewal begins to write the node's state once more.
func (n *node) renewal() (r renewal, err error) {
	n.mu.Lock()
	n.self.Beat++
	is := n.self
	is.Role, is.Wrong, is.Synced, is.Slow = n.role, n.wrong, n.store.Synced(), n.slow()
	is.Applied, _, _ = n.store.Head()
	r.version = n.version
	n.mu.Unlock()
	if r.text, err = strictjson.Encode(is); err != nil {
		return r, fmt.Errorf("cluster: state of node %s: %w", n.name, err)
	}
	r.sent = n.elapsed()
	return r, nil
}

// written takes in the log's answer to a renewal. again: the same is to be written again, because
// it is not known whether it was.
func (n *node) written(r renewal, next wal.NodeVersion, err error) (again bool) {
	switch {
	case err == nil:
		n.mu.Lock()
		n.version = next
		n.answers[n.renewals%len(n.answers)] = n.elapsed() - r.sent
		n.renewals++
		n.mu.Unlock()
		n.lease.renewed(r.sent)
	case !errors.Is(err, wal.ErrMoved):
		return true
	}
	return false
}

// slowAnswer is how long each renewal takes at least where this node's disk, or the way to the others, is slow.
const slowAnswer = 100 * time.Millisecond

// slow reports whether each of the last renewals was written slowly: one alone may be for many reasons. The caller holds n.mu.
func (n *node) slow() bool { return slices.Min(n.answers[:]) >= slowAnswer }

// mayLead reports whether a node's member of etcd may be made the one that leads: nothing is written for as long as that
// takes, and for a second where it fails, as with a node that has ended a moment ago.
func (n *node) mayLead(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == n.name {
		return !n.slow()
	}
	is := n.seen[name]
	return !is.Slow && is.fresh(n.elapsed())
}

// saw takes in the states of all nodes.
func (n *node) saw(all []wal.NodeState) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.takeIn(all, n.elapsed())
}

// takeIn is saw for a caller that holds n.mu.
func (n *node) takeIn(all []wal.NodeState, now time.Duration) error {
	next, err := n.seen.take(all, now)
	if err != nil {
		return err
	}
	n.seen = next
	n.noteOwner(now)
	newest, _, _ := n.store.Head()
	for _, is := range next {
		if is.alive(now) && is.Wrong == "" && is.Role != roleJoining { // else its journal may be another one
			newest = max(newest, is.Applied)
		}
	}
	n.heads.note(newest, now)
	return nil
}

// noteOwner takes in who the owner is, and when it was seen. The caller holds n.mu.
func (n *node) noteOwner(now time.Duration) {
	owner := n.store.Owner()
	if owner != n.owner || n.ownerBeat == 0 {
		n.owner, n.ownerBeat = owner, now
	}
	switch is, known := n.seen[owner.Name]; {
	case !known:
	case is.Run == owner.Run:
		n.ownerBeat = max(n.ownerBeat, is.since)
	default:
		// Another process has the owner's name. Until it had seen no renewal for settleFor it did not
		// take it; the owner may have renewed itself up to then without being seen here.
		n.ownerBeat = max(n.ownerBeat, is.runSince-settleFor)
	}
}

// errOwner ends following: this node is the owner.
var errOwner = errors.New("this node is the owner")

func (n *node) apply(position uint64, batch []byte) error {
	former := n.store.Owner()
	if err := n.store.Apply(position, batch); err != nil {
		return err
	}
	if !n.owns() {
		n.wake()
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.former = former
	return errOwner
}

// wake has the node stand at once where the log is handed over to it.
func (n *node) wake() {
	if n.store.Owner().Next != n.name {
		return
	}
	select {
	case n.named <- struct{}{}:
	default: // it is about to
	}
}

// owns reports whether this node is the owner, as far as it has the log.
func (n *node) owns() bool {
	o := n.store.Owner()
	return o.Name == n.name && o.Run == n.self.Run
}

// serves reports whether the engine over this node's journal may do something now.
func (n *node) serves() bool { return n.lease.valid() && !n.over.Load() }

// broken notes a batch that does not continue this node's journal: the node follows no more.
func (n *node) broken(err error) bool {
	if wrong := (*wal.OutOfPlace)(nil); !errors.As(err, &wrong) {
		return false
	}
	n.isWrongBy(err)
	return true
}

// isWrongBy notes why the node follows no more, which the next renewal writes; nil: nothing is wrong with it.
func (n *node) isWrongBy(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wrong = ""; err != nil {
		n.wrong = err.Error()
	}
}

// is reports whether the node has a role.
func (n *node) is(role string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.role == role
}

// bequeath notes to whom the node hands the log over.
func (n *node) bequeath(heir string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heir = heir
}

// become sets the node's role, which the next renewal writes.
func (n *node) become(role string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role = role
}

// where returns the owner's name and URL; false while there is none that is alive. While the log is handed
// over, that is the node which is to be the owner: it says so itself as long as it is not, and a node that has
// handed the log over learns of its successor only once it has begun anew. One that does not take it in
// time is not waited for, unless it says that it is the owner. Where this node's journal names no owner that is alive, it is
// whoever says to be the owner.
func (n *node) where() (name, url string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	n.noteOwner(now)
	next := n.owner.Next
	if n.owner.Name == n.name && n.owner.Run == n.self.Run {
		if !n.over.Load() {
			return n.name, n.self.URL, n.serves()
		}
		if next = n.heir; next == "" {
			return n.name, n.self.URL, false
		}
	}
	if is := n.seen[next]; next != "" {
		if is.alive(now) && (now-n.ownerBeat < takeAfter || is.Role == roleOwner) {
			return next, is.URL, true
		}
	} else if is := n.seen[n.owner.Name]; n.owner.Name != "" && is.Run == n.owner.Run && is.alive(now) {
		return n.owner.Name, is.URL, true
	}
	return n.saysItOwns(now)
}

// saysItOwns returns the other node that says it is the owner; of several, which a change of owners leaves for a moment, the one
// with the newest batch. A node whose journal stands still, because it follows no more or copies another's, knows the owner only
// by that. The caller holds n.mu.
func (n *node) saysItOwns(now time.Duration) (name, url string, ok bool) {
	var best seen
	for other, is := range n.seen {
		if other != n.name && is.Role == roleOwner && is.alive(now) && (!ok || is.Applied > best.Applied) {
			best, name, ok = is, other, true
		}
	}
	return name, best.URL, ok
}
