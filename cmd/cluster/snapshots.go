package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/cmd/forward"
	"pixd/cmd/machine"
	"pixd/cmd/snapshots"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
)

// The values of --snapshot-on.
const (
	OnStandby = "standby" // on a standby while there is one, so that no request waits for a snapshot
	OnOwner   = "owner"
	OnAny     = "any" // on whichever node is asked, and on each of them by --snapshot-every
)

// newMaker makes what makes snapshots of a node's journal.
func (s *Served) newMaker(n *node) (err error) {
	clocks := machine.Clocks()
	ctx, cancel := context.WithCancel(context.Background())
	n.unmake = cancel
	n.maker, err = snapshots.NewMaker(s.config.SnapshotOptions(snapshots.Options{
		Store: n.store, Ending: ctx, Folder: &s.snapshotFolder, Turn: func() bool { return s.isMaker(n) },
		Now: func() pix.Millis {
			if e := s.engine.Load(); e != nil {
				return e.Clock.Now()
			}
			return clocks.Wall()
		},
		Raise: func(kind, message string) {
			if e := s.engine.Load(); e != nil {
				e.Raise(kind, message)
				return
			}
			s.meters.alerts.WithLabelValues(kind).Inc()
			s.config.Log.Error(message, "alert", kind)
		},
	}))
	return err
}

// endSnapshots ends the snapshot that is being made. The journal may be closed then.
func (n *node) endSnapshots() {
	n.unmake()
	n.maker.Close()
}

func (s *Served) isMaker(n *node) bool {
	name, _, ok := s.maker(n)
	return ok && name == n.name
}

// maker returns the node that makes snapshots, as this node knows the others.
func (s *Served) maker(n *node) (name, url string, ok bool) {
	if s.flags.SnapshotOn == OnAny {
		return n.name, n.self.URL, true
	}
	if s.flags.SnapshotOn == OnStandby {
		if is, ok := n.firstStandby(); ok {
			return is.Name, is.URL, true
		}
	}
	return n.where()
}

// firstStandby is the first node by name that follows, and is not far behind: a snapshot is of what its node has. False: there
// is none.
func (n *node) firstStandby() (seen, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.elapsed()
	var all []seen
	for name, is := range n.seen {
		role := is.Role
		if name == n.name {
			role = n.role
		}
		if role == roleStandby && is.alive(now) && is.Wrong == "" && !n.heads.far(is.Applied, now) {
			all = append(all, is)
		}
	}
	if len(all) == 0 {
		return seen{}, false
	}
	return slices.MinFunc(all, func(a, b seen) int { return cmp.Compare(a.Name, b.Name) }), true
}

// operators wraps the operator API of a node that is not the owner: the node that makes snapshots lists them. What
// begins one, or a verification, goes by way of the owner, which puts it on record first.
func (s *Served) operators(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	guarded := control.Guard(s.tokens(), s.aboutSnapshots, admin.SnapshotsPath)
	return func(ctx *fasthttp.RequestCtx) {
		if (ctx.IsGet() || ctx.IsHead()) && admin.AboutSnapshots(string(ctx.URI().PathOriginal())) {
			guarded(ctx)
			return
		}
		next(ctx)
	}
}

// aboutSnapshots answers a request about snapshots, or has the node answer that makes them. Where each node makes its
// own, that is the one that was asked.
func (s *Served) aboutSnapshots(ctx *fasthttp.RequestCtx) {
	n := s.node.Load()
	if asked := forward.From(ctx); n != nil && s.flags.SnapshotOn == OnAny && asked != "" && asked != n.name {
		s.backTo(n, asked, ctx)
		return
	}
	if n != nil && s.isMaker(n) {
		s.ownSnapshots(ctx)
		return
	}
	s.toMaker.Handler(forward.Local)(ctx)
}

// backTo has the node answer a request that has forwarded it to this one.
func (s *Served) backTo(n *node, name string, ctx *fasthttp.RequestCtx) {
	to := forward.New(forward.Options{
		Self: n.name, TLS: s.clientTLS, NoOwner: control.NotReady, Log: s.config.Log,
		Owner: func() (string, string, bool) {
			n.mu.Lock()
			defer n.mu.Unlock()
			is, known := n.seen[name]
			return name, is.URL, known
		},
	})
	defer to.Close()
	to.Handler(forward.Local)(ctx)
}

// ownSnapshots answers a request about the snapshots of this node.
func (s *Served) ownSnapshots(ctx *fasthttp.RequestCtx) {
	n := s.node.Load()
	if n == nil {
		control.NotReady(ctx)
		return
	}
	admin.NewSnapshots(n.maker, s.config.Log)(ctx)
}

func (f *Flags) checkSnapshotOn() error {
	switch f.SnapshotOn {
	case OnStandby, OnOwner, OnAny:
		return nil
	}
	return fmt.Errorf("--snapshot-on %q: %s, %s or %s", f.SnapshotOn, OnStandby, OnOwner, OnAny)
}
