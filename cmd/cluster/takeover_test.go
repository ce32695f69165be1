package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pixd/wal"
	"pixd/wal/waltest"
)

// stalls is a log whose Glance has no answer while it is stalled, as one that goes to a frozen member of etcd.
type stalls struct {
	wal.Log
	stalled atomic.Bool
	asked   atomic.Int64
}

// Glance implements wal.Log.
func (s *stalls) Glance(ctx context.Context) ([]wal.NodeState, error) {
	s.asked.Add(1)
	if s.stalled.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Log.Glance(ctx)
}

// owned writes into the log, and into a node's journal, who owns the log from now on.
func owned(t *testing.T, n *node, by wal.Owner) {
	t.Helper()
	at, batch, err := n.store.OwnBatch(by)
	if err := errors.Join(err, n.log.Append(t.Context(), logNumber, at, batch), n.store.Apply(at+1, batch)); err != nil {
		t.Fatal(err)
	}
}

// TestTakesFromWhomAMajorityNames checks that a node which has not read that the owner is another process of its name than
// before leaves the log to it, as it is alive, and that two nodes are never certain to be the owner at once. The owner writes nothing
// into the log meanwhile, which would void the decision.
func TestTakesFromWhomAMajorityNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		tape := waltest.NewTape()
		if _, err := aNode(t, tape, "a", t.TempDir()).log.Found(ctx, wal.Cluster{ID: "c"}); err != nil {
			t.Fatal(err)
		}
		b, c := aNode(t, tape, "b", t.TempDir()), aNode(t, tape, "c", t.TempDir())
		log := &stalls{Log: c.log}
		c.log = log
		for _, n := range []*node{b, c} {
			go func() { _ = n.keep(ctx) }()
			go func() { _ = n.look(ctx) }()
		}
		owned(t, b, wal.Owner{Name: "b", Run: "b1"})
		go func() { _ = c.follow(ctx) }()
		time.Sleep(lookEvery)

		log.stalled.Store(true)
		a := aNode(t, tape, "a", t.TempDir()) // it begins anew
		a.self.Run = "a2"
		if err := a.renew(ctx); err != nil {
			t.Fatal(err)
		}
		go func() { _ = a.keep(ctx) }()
		go func() { _ = a.look(ctx) }()
		owned(t, b, wal.Owner{Next: "a"})
		if err := a.follow(ctx); err != nil || !a.owns() {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(lookEvery)
			if a.owns() && a.lease.valid() && c.owns() && c.lease.valid() {
				t.Fatal("both a and c own the log, and are certain of it")
			}
		}
		if !a.lease.valid() || c.owns() {
			t.Errorf("the owner is certain: %v; c has taken the log over: %v", a.lease.valid(), c.owns())
		}
	})
}

// TestGlancesAgain checks that a reading of the states which has no answer is not waited for: the next one may go to a member of
// etcd that answers.
func TestGlancesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		n := aNode(t, waltest.NewTape(), "a", t.TempDir())
		log := &stalls{Log: n.log}
		log.stalled.Store(true)
		n.log = log
		go func() { _ = n.look(ctx) }()
		time.Sleep(time.Second)
		if asked := log.asked.Load(); asked < 3 {
			t.Errorf("asked %d times in a second", asked)
		}
		log.stalled.Store(false)
		time.Sleep(glanceFor + glanceEvery)
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.seen["a"].alive(n.elapsed()) {
			t.Error("it has read no states")
		}
	})
}

// TestForwardsWithoutFollowing checks that a node which follows no more forwards to the new owner after the log was handed over,
// also where it had read that a handover had begun, and goes on when the node that it was to be is not the owner any more.
func TestForwardsWithoutFollowing(t *testing.T) {
	for name, lastRead := range map[string]wal.Owner{"an owner": {Name: "a", Run: "a1"}, "a handover": {Next: "a"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tape := waltest.NewTape()
				a := aNode(t, tape, "a", t.TempDir())
				if _, err := a.log.Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
					t.Fatal(err)
				}
				b, c := aNode(t, tape, "b", t.TempDir()), aNode(t, tape, "c", t.TempDir())
				at, batch, err := b.store.OwnBatch(lastRead)
				if err := errors.Join(err, b.store.Apply(at+1, batch)); err != nil {
					t.Fatal(err)
				}
				b.broken(&wal.OutOfPlace{Position: at + 2, Why: errors.New("its sum differs")})
				b.where()
				time.Sleep(takeAfter) // for so long a handover is waited for
				for _, owner := range []*node{a, c} {
					owner.become(roleOwner)
					if err := errors.Join(a.renew(t.Context()), c.renew(t.Context()), b.lookOnce(t.Context())); err != nil {
						t.Fatal(err)
					}
					if to, url, ok := b.where(); !ok || to != owner.name || url != owner.self.URL {
						t.Errorf("where %s is the owner it forwards to %q at %q: %v", owner.name, to, url, ok)
					}
					owner.become(roleStandby)
					owner.self.Run += "again" // a node that has handed the log over begins anew
				}
			})
		})
	}
}
