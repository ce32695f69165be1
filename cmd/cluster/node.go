package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pixd/actors/strictjson"
	"pixd/wal"
)

// logNumber is the number of the one log that there is.
const logNumber = 0

// node is one of the processes that share a journal, without its listeners and without an engine.
type node struct {
	self    state // the fields that never change
	name    string
	log     wal.Log
	store   *wal.Store
	cluster wal.Cluster
	elapsed func() time.Duration
	slog    *slog.Logger
	lease   *lease

	mu        sync.Mutex
	role      string
	wrong     string
	version   wal.NodeVersion // before register: what an earlier node of this process has written last
	seen      seenNodes
	former    wal.Owner // whom this node has taken over from
	heads     heads
	owner     wal.Owner     // as the store had it last
	ownerBeat time.Duration // when the owner was seen to renew itself last, or to become the owner
}

// errTaken says that a node of the same name is running.
var errTaken = errors.New("another process runs under this node's name, and renews its state: give each node a --node of its own")

// register writes the node's state for the first time. It refuses a name under which another process
// renews its state.
func (n *node) register(ctx context.Context) error {
	own := n.version // nobody else has written since: there is nobody to wait for
	n.version = wal.NodeVersion{Name: n.name}
	for began := n.elapsed(); ; {
		all, err := n.log.Nodes(ctx)
		if err != nil {
			return err
		}
		var found wal.NodeVersion
		for _, other := range all {
			if other.Name == n.name {
				found = other.NodeVersion
			}
		}
		switch {
		case found.Version == 0:
		case n.version.Version == 0:
			n.version = found
		case found.Version != n.version.Version:
			return fmt.Errorf("--node %s: %w", n.name, errTaken)
		}
		if found.Version == 0 || found == own || n.elapsed()-began > 2*renewEvery {
			break
		}
		if err := pause(ctx, renewEvery/3); err != nil {
			return err
		}
	}
	if err := n.renew(ctx); errors.Is(err, wal.ErrMoved) {
		return fmt.Errorf("--node %s: %w", n.name, errTaken)
	} else if err != nil {
		return err
	}
	return nil
}

// renew writes the node's state once more, and tries on until it is known to be written.
func (n *node) renew(ctx context.Context) error {
	n.mu.Lock()
	n.self.Beat++
	is := n.self
	is.Role, is.Wrong, is.Synced = n.role, n.wrong, n.store.Synced()
	is.Applied, _, _ = n.store.Head()
	version := n.version
	n.mu.Unlock()
	text, err := strictjson.Encode(is)
	if err != nil {
		return fmt.Errorf("cluster: state of node %s: %w", n.name, err)
	}
	sent := n.elapsed()
	for {
		next, err := n.log.Node(ctx, version, text)
		if err == nil {
			n.mu.Lock()
			n.version = next
			n.mu.Unlock()
			n.lease.renewed(sent)
			return nil
		}
		if errors.Is(err, wal.ErrMoved) || ctx.Err() != nil {
			return err
		}
		n.slog.Debug("cluster: state not renewed; trying on", "error", err)
		if err := pause(ctx, renewEvery/10); err != nil {
			return err
		}
	}
}

// keep renews the node's state until ctx ends. It returns wal.ErrMoved once another node has taken
// over from this one, or another process has its name.
func (n *node) keep(ctx context.Context) error {
	for {
		if err := pause(ctx, renewEvery); err != nil {
			return err
		}
		if err := n.renew(ctx); err != nil {
			if errors.Is(err, wal.ErrMoved) {
				n.lease.lose()
			}
			return err
		}
	}
}

// lookEvery is the time between two readings of all nodes' states.
const lookEvery = 100 * time.Millisecond

// look reads the states of all nodes until ctx ends.
func (n *node) look(ctx context.Context) error {
	for {
		if err := n.lookOnce(ctx); err != nil && ctx.Err() == nil {
			n.slog.Debug("cluster: states of nodes not read", "error", err)
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

func (n *node) lookOnce(ctx context.Context) error {
	all, err := n.log.Nodes(ctx)
	if err != nil {
		return err
	}
	now := n.elapsed()
	n.mu.Lock()
	defer n.mu.Unlock()
	next, err := n.seen.take(all, now)
	if err != nil {
		return err
	}
	n.seen = next
	n.noteOwner(now)
	newest, _, _ := n.store.Head()
	for _, is := range next {
		newest = max(newest, is.Applied)
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
	if is := n.seen[owner.Name]; is.Run == owner.Run && is.since > n.ownerBeat {
		n.ownerBeat = is.since
	}
}

// due reports whether the node may take over now, and which writing of the owner's state it has to
// depose; none where the owner's process can no longer renew its state.
func (n *node) due() (deposed wal.NodeVersion, due bool) {
	now := n.elapsed()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noteOwner(now)
	if n.wrong != "" || !n.lease.valid() || !n.store.MayOwn() || n.owner.Name == n.name && n.owner.Run == n.self.Run {
		return deposed, false
	}
	wait := time.Duration(n.seen.rank(logNumber, n.name, now)) * rankAfter
	if n.owner.Name == "" {
		switch next := n.owner.Next; {
		case next == n.name:
			wait = 0
		case next != "" && n.seen[next].alive(now):
			wait += takeAfter
		}
		return deposed, now-n.ownerBeat >= wait
	}
	if is := n.seen[n.owner.Name]; is.Run == n.owner.Run {
		deposed = is.NodeVersion
	}
	return deposed, now-n.ownerBeat >= takeAfter+wait
}

// stand takes over as soon as that is due, until ctx ends.
func (n *node) stand(ctx context.Context) error {
	for {
		if err := pause(ctx, lookEvery/4); err != nil {
			return err
		}
		deposed, due := n.due()
		if !due {
			continue
		}
		if err := n.take(ctx, deposed); err != nil && ctx.Err() == nil {
			n.slog.Debug("cluster: not taken over", "error", err)
			if err := pause(ctx, lookEvery); err != nil {
				return err
			}
		}
	}
}

// take makes this node the owner. Whether that has succeeded is known once the log has been followed
// up to there.
func (n *node) take(ctx context.Context, deposed wal.NodeVersion) error {
	after, batch, err := n.store.OwnBatch(wal.Owner{Name: n.name, Run: n.self.Run})
	if err != nil {
		return err
	}
	return n.log.Take(ctx, logNumber, after, deposed, batch)
}

// errOwner ends following: this node is the owner.
var errOwner = errors.New("this node is the owner")

// follow applies the log's batches. It returns nil once this node is the owner, and an error where it
// cannot follow any more, or ctx ends.
func (n *node) follow(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var standing sync.WaitGroup
	standing.Go(func() { _ = n.stand(ctx) })
	defer standing.Wait()
	defer stop()
	for {
		at, _, _ := n.store.Head()
		err := n.log.Follow(ctx, logNumber, at, n.apply)
		switch {
		case errors.Is(err, errOwner):
			return nil
		case ctx.Err() != nil, errors.Is(err, wal.ErrTrimmed), errors.Is(err, wal.ErrShort), n.broken(err):
			return err
		}
		n.slog.Warn("cluster: the log is not followed; trying on", "error", err)
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

func (n *node) apply(position uint64, batch []byte) error {
	former := n.store.Owner()
	if err := n.store.Apply(position, batch); err != nil {
		return err
	}
	if !n.owns() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.former = former
	return errOwner
}

// owns reports whether this node is the owner, as far as it has the log.
func (n *node) owns() bool {
	o := n.store.Owner()
	return o.Name == n.name && o.Run == n.self.Run
}

// broken notes a batch that does not continue this node's journal: the node follows no more.
func (n *node) broken(err error) bool {
	if wrong := (*wal.OutOfPlace)(nil); !errors.As(err, &wrong) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong = err.Error()
	return true
}

// become sets the node's role, which the next renewal writes.
func (n *node) become(role string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role = role
}

// where returns the owner's name and URL; false while there is none that is alive.
func (n *node) where() (name, url string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	n.noteOwner(now)
	if n.owner.Name == n.name && n.owner.Run == n.self.Run {
		return n.name, n.self.URL, true
	}
	is := n.seen[n.owner.Name]
	return n.owner.Name, is.URL, n.owner.Name != "" && is.Run == n.owner.Run && is.alive(now)
}

// pause waits, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
