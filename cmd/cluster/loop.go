package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pixd/wal"
)

// register writes the node's state for the first time. It refuses a name under which another process
// starts, or renews its state.
func (n *node) register(ctx context.Context) error {
	n.watched, n.late = 0, false
	for {
		all, err := n.log.Nodes(ctx)
		if err != nil {
			return unanswered(ctx, err)
		}
		may, err := n.mayRegister(all)
		if err != nil {
			return err
		}
		if may {
			if err := n.keepWrong(ctx, all); err != nil {
				return err
			}
			if err := n.renew(ctx); !errors.Is(err, wal.ErrMoved) {
				return err
			}
		}
		if err := pause(ctx, renewEvery/3); err != nil {
			return err
		}
	}
}

// keepWrong keeps what the node's former run has written to be wrong, until it is known that nothing is: meanwhile no other
// node may take over a log that lacks what this one has. It refuses a folder that ends before what that run had on its disk.
func (n *node) keepWrong(ctx context.Context, all []wal.NodeState) error {
	read, err := seenNodes{}.take(all, 0)
	if err != nil {
		return err
	}
	former := read[n.name]
	n.wrong = former.Wrong
	return n.putBack(ctx, former.Synced)
}

// putBack returns an error where this folder was put back to an earlier state, and with it a member of etcd that has
// forgotten what it had promised to keep. synced is what the node has had on its disk. A folder without a journal is new.
func (n *node) putBack(ctx context.Context, synced uint64) error {
	at, _, _ := n.store.Head()
	id, err := n.store.Cluster()
	if err != nil || !n.member || id == "" || at >= synced {
		return err
	}
	c, err := n.log.Cluster(ctx)
	if errors.Is(err, wal.ErrNoCluster) || err == nil && c.ID != id {
		return nil // that is said later
	}
	if err != nil {
		return unanswered(ctx, err)
	}
	return fmt.Errorf("this folder ends at batch %d of cluster %s, and this node has had %d on its disk: it was put back to an earlier state, and has lost what it has promised to keep; `pixd cluster leave %s` and then `pixd cluster join` replace it", at, id, synced, n.name)
}

// renew writes the node's state once more, and tries on until it is known to be written.
func (n *node) renew(ctx context.Context) error {
	r, err := n.renewal()
	if err != nil {
		return err
	}
	for {
		next, err := n.log.Node(ctx, r.version, r.text)
		if again := n.written(r, next, err); !again {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
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

const (
	// lookEvery is the time between two tries of most things that are tried again.
	lookEvery = 100 * time.Millisecond

	// glanceEvery is the time between two readings of all nodes' states. A renewal that the lost owner
	// has sent in its last moment, and that is seen only after etcd has a new leader, puts the
	// takeover off: so the states are read often, where that needs no majority.
	glanceEvery = 25 * time.Millisecond

	// glanceFor is how long one reading may take before the states are asked for again: a member of etcd that is frozen
	// answers nothing, and the next reading goes to another one.
	glanceFor = 300 * time.Millisecond
)

// look reads the states of all nodes until ctx ends.
func (n *node) look(ctx context.Context) error {
	for {
		short, cancel := context.WithTimeout(ctx, glanceFor)
		err := n.lookOnce(short)
		cancel()
		if err != nil && ctx.Err() == nil {
			n.slog.Debug("cluster: states of nodes not read", "error", err)
		}
		if err := pause(ctx, glanceEvery); err != nil {
			return err
		}
	}
}

// lookOnce reads the states of all nodes.
func (n *node) lookOnce(ctx context.Context) error {
	all, err := n.log.Glance(ctx)
	if err != nil {
		return err
	}
	return n.saw(all)
}

// stand takes over as soon as that is due, until ctx ends.
func (n *node) stand(ctx context.Context) error {
	for told := -tellEvery; ; {
		select {
		case <-ctx.Done():
		case <-n.named:
		case <-time.After(lookEvery / 4):
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t, due := n.due()
		if !due {
			continue
		}
		if err := n.take(ctx, t); err != nil && ctx.Err() == nil {
			level := slog.LevelDebug
			if errors.Is(err, wal.ErrShort) && n.elapsed()-told >= tellEvery {
				told, level = n.elapsed(), slog.LevelError
			}
			n.slog.Log(ctx, level, "cluster: not taken over", "error", err)
			if err := pause(ctx, lookEvery); err != nil {
				return err
			}
		}
	}
}

// follow applies the log's batches. It returns nil once this node is the owner, and an error where it
// cannot follow any more, or ctx ends.
func (n *node) follow(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n.named = make(chan struct{}, 1)
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
