package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pixd/wal"
)

// agree returns what the nodes agree on. Where they have not agreed on anything yet, the node with a
// journal founds the cluster with that; if no node has one, any of them founds it once all that peers
// names are there.
func (n *node) agree(ctx context.Context, peers []peer, mine wal.Cluster) (wal.Cluster, error) {
	told := n.elapsed()
	for {
		c, err := n.log.Cluster(ctx)
		if !errors.Is(err, wal.ErrNoCluster) {
			return c, unanswered(ctx, err)
		}
		if id, err := n.store.Cluster(); err != nil || id != "" {
			return c, errors.Join(err, fmt.Errorf("this folder is of cluster %s, and the log knows of no cluster: it is another's, or has lost its data; docs/cluster.md says how to go on", id))
		}
		missing, err := n.lacks(ctx, peers)
		if err != nil {
			return c, err
		}
		mine.Base, _, mine.BaseSum = n.store.Head()
		if len(missing) == 0 {
			c, err := n.log.Found(ctx, mine)
			return c, unanswered(ctx, err)
		}
		if now := n.elapsed(); now-told >= tellEvery {
			told = now
			n.slog.Info("cluster: waiting for all nodes, or for one with a journal, before the cluster is founded", "missing", strings.Join(missing, ", "))
		}
		if err := pause(ctx, lookEvery); err != nil {
			return c, err
		}
	}
}

// lacks returns the nodes that a cluster which is to be founded waits for.
func (n *node) lacks(ctx context.Context, peers []peer) ([]string, error) {
	if n.meet != nil {
		if missing, err := n.meet(ctx); err != nil || len(missing) > 0 {
			return missing, err
		}
	}
	if at, _, _ := n.store.Head(); at > 0 {
		return nil, nil
	}
	all, err := n.log.Nodes(ctx)
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	return unfounded(all, peers)
}

// errUnanswered says that the log has not answered, as it does while its members elect one that leads.
var errUnanswered = errors.New("the log does not answer")

// unanswered returns the error of a call of the log in a start. Where the start was ended meanwhile, the log was not waited for,
// and whatever it has answered says no more than that.
func unanswered(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// tellEvery is the time between two log lines that say what a start waits for.
const tellEvery = 5 * time.Second

// unfounded returns the nodes without which a cluster of empty journals is not founded: those that
// are not there, and those that have a journal and are about to found the cluster with it.
func unfounded(all []wal.NodeState, peers []peer) ([]string, error) {
	known, err := seenNodes{}.take(all, 1)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, p := range peers {
		if is, ok := known[p.name]; !ok || is.Applied > 0 {
			missing = append(missing, p.name)
		}
	}
	return missing, nil
}

// errEmpty says that the folder's journal must first be copied from another node.
var errEmpty = errors.New("this node has no journal yet")

// fits returns an error where the folder's journal is not the cluster's. It joins the cluster with a
// journal that is.
func fits(store *wal.Store, c wal.Cluster, hard map[string]string) error {
	joins, err := belongs(store, c, hard)
	if err == nil && joins {
		return store.Join(c.ID)
	}
	return err
}

// belongs is fits without a change of the folder. joins: its journal is what the cluster began with, and of no cluster yet. Of the
// nodes that are there from the beginning several may have that; one that is added later has an empty folder.
func belongs(store *wal.Store, c wal.Cluster, hard map[string]string) (joins bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Hard)) {
		if got, ok := hard[name]; !ok || got != c.Hard[name] {
			return false, fmt.Errorf("cluster %s was founded with %s %q, and this node has %q", c.ID, name, c.Hard[name], got)
		}
	}
	id, err := store.Cluster()
	position, _, sum := store.Head()
	switch {
	case err != nil:
		return false, err
	case id == c.ID:
		return false, nil
	case id != "":
		return false, fmt.Errorf("this folder is of cluster %s, and the log is of cluster %s", id, c.ID)
	case position == c.Base && sum == c.BaseSum:
		return true, nil
	case position == 0:
		return false, errEmpty
	}
	return false, fmt.Errorf("this folder has a journal of its own, of %d batches, and cluster %s began with another one, of %d: a node joins with an empty folder", position, c.ID, c.Base)
}

// isStranger returns an error where the folder's journal is not that of the cluster which the log has, before the node has written
// anything into the log: the others would take what it says of itself for the state of one of them.
func (n *node) isStranger(ctx context.Context, hard map[string]string) error {
	c, err := n.log.Cluster(ctx)
	if err != nil {
		return nil // there is none yet, or the log does not answer: what follows asks it again
	}
	if _, err := belongs(n.store, c, hard); !errors.Is(err, errEmpty) {
		return err
	}
	return nil
}

// longEnough returns an error for a log that lacks batches which this node has, and writes into the log that it does: a
// node that was behind could not see it, and would take the log over.
func (n *node) longEnough(ctx context.Context, c wal.Cluster) error {
	end, err := n.log.End(ctx, logNumber)
	if err != nil {
		return unanswered(ctx, err)
	}
	at, _, _ := n.store.Head()
	if at <= end {
		n.isWrongBy(nil)
		return nil
	}
	err = fmt.Errorf("this node has batch %d of cluster %s, and the log ends at %d: the log's data was restored from a backup, or a majority has lost them; docs/cluster.md says how to go on from the longest copy: %w", at, c.ID, end, wal.ErrShort)
	n.isWrongBy(err)
	told, cancel := context.WithTimeout(ctx, takeAfter)
	defer cancel()
	return errors.Join(err, n.renew(told))
}

// isAhead reports whether the log is known to lack batches that this node has. Then nobody else has this node's name: what
// it has written of itself is lost, too.
func (n *node) isAhead(ctx context.Context) bool {
	end, err := n.log.End(ctx, logNumber)
	at, _, _ := n.store.Head()
	return err == nil && at > end
}

// lacksBatches returns the error for a log that lacks batches which another node has written down to have; after is the
// newest that this node has.
func (n *node) lacksBatches(ctx context.Context, other *seen, after uint64) error {
	switch end, err := n.log.End(ctx, logNumber); {
	case err != nil:
		return err
	case end > after: // it is this node that has not read all of the log
		return wal.ErrMoved
	}
	return fmt.Errorf("the log lacks batches that node %s has, %s: %w", other.Name, other.Wrong, wal.ErrShort)
}

// lacking returns a node that follows no more, because the log lacks batches which it has; end is where the log ends.
func (s seenNodes) lacking(end uint64) (is seen, lacks bool) {
	for _, is := range s {
		if is.Wrong != "" && is.Applied > end {
			return is, true
		}
	}
	return is, false
}
