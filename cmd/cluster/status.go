package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal/etcdlog"
)

// Status implements admin.Cluster.
func (s *Served) Status() admin.ClusterStatus {
	n := s.node.Load()
	if n == nil {
		return admin.ClusterStatus{Node: s.flags.Node, Nodes: []admin.NodeStatus{}}
	}
	out := n.status()
	if s.member != nil {
		out.Nodes = withMembers(out.Nodes, s.member.Known())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out.Log.Bytes, out.Log.MostBytes, _ = s.log.Size(ctx) // 0 where the log does not answer
	return out
}

// status returns what the node knows of all nodes.
func (n *node) status() admin.ClusterStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	n.noteOwner(now)
	head, _, _ := n.store.Head()
	out := admin.ClusterStatus{ID: n.cluster.ID, Node: n.name, Log: admin.ClusterLog{Position: head}, Nodes: []admin.NodeStatus{}}
	if n.owner.Name != "" {
		owner := n.owner.Name // n.owner may change while the answer is written
		out.Owner = &owner
	}
	for name, is := range n.seen {
		row := admin.NodeStatus{
			Node: name, Role: is.Role, Applied: is.Applied, Version: is.Program, URL: is.URL,
			ValidForMS: max(0, certainFor-(now-is.since)).Milliseconds(),
		}
		switch {
		case name == n.name:
			row.Role, row.Applied, row.ValidForMS = n.role, head, n.lease.left().Milliseconds()
		case !is.alive(now):
			row.Role = roleGone
		}
		if is.Wrong != "" {
			row.Err = &is.Wrong
		}
		row.LagBatches = max(head, is.Applied, row.Applied) - row.Applied
		row.LagSeconds = n.heads.since(row.Applied, now).Seconds()
		out.Nodes = append(out.Nodes, row)
	}
	slices.SortFunc(out.Nodes, byName)
	return out
}

// withMembers adds the members of etcd whose nodes have not written their state yet: they were added and not started, or
// have just begun. One that never started has no name in etcd, and is shown by its HOST:PORT.
func withMembers(nodes []admin.NodeStatus, members []etcdlog.Peer) []admin.NodeStatus {
	for _, p := range members {
		name := cmp.Or(p.Name, hostOf(p))
		if !slices.ContainsFunc(nodes, func(n admin.NodeStatus) bool { return n.Node == name }) {
			nodes = append(nodes, admin.NodeStatus{Node: name, Role: roleJoining, URL: formerPort(p.URL)})
		}
	}
	slices.SortFunc(nodes, byName)
	return nodes
}

func byName(a, b admin.NodeStatus) int { return cmp.Compare(a.Node, b.Node) }

// heads are the positions of the newest batch that any node had at the last readings of their states.
type heads struct {
	ring [2400]struct {
		position uint64
		at       time.Duration
	}
	next int
}

func (h *heads) note(position uint64, at time.Duration) {
	h.ring[h.next%len(h.ring)].position, h.ring[h.next%len(h.ring)].at = position, at
	h.next++
}

// far reports whether a node with the newest batch at a position is far behind: for longer than behindAfter, or, as one that has
// just come back, for longer than this node can tell.
func (h *heads) far(position uint64, now time.Duration) bool {
	unknown := h.next > 0 && h.next <= len(h.ring) && h.ring[0].position > position
	return unknown || h.since(position, now) > behindAfter
}

// since returns for how long the newest batch has been behind a position; at most a minute.
func (h *heads) since(position uint64, now time.Duration) time.Duration {
	first := now
	for i := max(0, h.next-len(h.ring)); i < h.next; i++ {
		if r := h.ring[i%len(h.ring)]; r.position > position {
			first = min(first, r.at)
		}
	}
	return now - first
}

// Handover implements admin.Cluster.
func (s *Served) Handover(to string) (admin.ClusterStatus, error) {
	n, e := s.node.Load(), s.engine.Load()
	if e == nil || n == nil {
		owner := "there is none now"
		if name, _, ok := s.where(); ok {
			owner = "it is " + name
		}
		return admin.ClusterStatus{}, control.Refuse(fasthttp.StatusConflict, "this node is not the owner; %s", owner)
	}
	if err := n.mayTake(to); err != nil {
		return admin.ClusterStatus{}, err
	}
	go func() { // the request itself is in hand, and the engine ends only when none is
		o := order{to: to, done: make(chan error, 1)}
		for s.engine.Load() == e { // until the engine that was asked has ended for another reason, such as another order
			select {
			case s.handover <- o:
				if err := <-o.done; err != nil {
					s.config.Log.Warn("cluster: the handover failed", "error", err)
				}
				return
			case <-time.After(lookEvery):
			}
		}
	}()
	return n.status(), nil
}

// handoverLag is by how much the node may be behind that the log is handed over to on command: requests wait
// until it has caught up, and others take over if that lasts.
const handoverLag = 2 * time.Second

// mayTake returns a Problem if the node to cannot be handed the log.
func (n *node) mayTake(to string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	at, _, _ := n.store.Head()
	if is, lacks := n.seen.lacking(at); lacks {
		return control.Refuse(fasthttp.StatusConflict, "the log lacks batches that node %s has: nobody would take it over", is.Name)
	}
	if to != "" {
		is, known := n.seen[to]
		switch {
		case !known:
			return control.Missing("no node %q", to)
		case to == n.name:
			return control.Refuse(fasthttp.StatusConflict, "node %s is the owner already", to)
		case !n.able(is, now):
			return control.Refuse(fasthttp.StatusConflict, "node %s is not a standby that follows", to)
		case n.heads.since(is.Applied, now) > handoverLag:
			return control.Refuse(fasthttp.StatusConflict, "node %s is behind by %.1f s: payments would wait for it", to, n.heads.since(is.Applied, now).Seconds())
		}
		return nil
	}
	for _, is := range n.seen {
		if n.able(is, now) {
			return nil
		}
	}
	return control.Refuse(fasthttp.StatusConflict, "no other node is a standby that follows")
}

// able reports whether the log may be handed over to a node.
func (n *node) able(is seen, now time.Duration) bool {
	return is.Name != n.name && is.alive(now) && is.Wrong == "" && is.Role == roleStandby && is.Level >= n.owner.Level
}

// successor returns the node to which the log is handed over; empty: to any. Without a name the others would wait for each
// other, and for this node, which is still there. It is the one that was ordered where that is able to take the log, then one
// that has renewed its state a moment ago, of these the one that was chosen before, and then the one that has most of the log.
func (n *node) successor(ordered, before string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	var best seen
	for _, is := range n.seen {
		if n.able(is, now) && (best.Name == "" || is.precedes(best, ordered, before, now)) {
			best = is
		}
	}
	return best.Name
}

// precedes reports whether a node rather than another one gets the log; see successor.
func (n seen) precedes(other seen, ordered, before string, now time.Duration) bool {
	for _, is := range []func(seen) bool{
		func(one seen) bool { return one.Name == ordered },
		func(one seen) bool { return one.fresh(now) },
		func(one seen) bool { return one.Name == before },
	} {
		if is(n) != is(other) {
			return is(n)
		}
	}
	return cmp.Or(cmp.Compare(other.Applied, n.Applied), cmp.Compare(n.Name, other.Name)) < 0
}

// measures returns what the metrics say.
func (s *Served) measures() (role string, lag time.Duration, bytes int64) {
	is := s.Status()
	for _, n := range is.Nodes {
		if n.Node == is.Node {
			role, lag = n.Role, time.Duration(n.LagSeconds*float64(time.Second))
		}
	}
	return role, lag, is.Log.Bytes
}
