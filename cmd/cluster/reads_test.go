package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/engine"
	"pixd/wal"
	"pixd/wal/waltest"
)

// asked is a log whose end the test says, and that counts how often it is asked for it.
type asked struct {
	wal.Log
	end    atomic.Uint64
	count  atomic.Int64
	before func()
}

// End implements wal.Log.
func (a *asked) End(context.Context, uint16) (uint64, error) {
	a.count.Add(1)
	if a.before != nil {
		a.before()
	}
	return a.end.Load(), nil
}

func newQuorum(t *testing.T) (*quorum, *asked) {
	t.Helper()
	n := aNode(t, waltest.NewTape(), "a", filled(t, "base"))
	log := &asked{Log: n.log}
	log.end.Store(1)
	n.log = log
	return &quorum{n: n}, log
}

// TestQuorumAsks checks that each proof is from after the call, and that those who ask meanwhile share
// one question.
func TestQuorumAsks(t *testing.T) {
	q, log := newQuorum(t)
	for i := range int64(3) {
		if !q.certain() || log.count.Load() != i+1 {
			t.Fatalf("after %d proofs the log was asked %d times", i+1, log.count.Load())
		}
	}
	hold := make(chan bool)
	log.before = func() { <-hold }
	log.count.Store(0)
	var all sync.WaitGroup
	ask := func() {
		all.Go(func() {
			if !q.certain() {
				t.Error("the owner is not certain")
			}
		})
	}
	ask()
	for log.count.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 50 { // the first question was asked before they came
		ask()
	}
	for waits := false; !waits; {
		time.Sleep(time.Millisecond)
		q.mu.Lock()
		waits = q.next != nil
		q.mu.Unlock()
	}
	time.Sleep(20 * time.Millisecond)
	close(hold)
	all.Wait()
	if got := log.count.Load(); got > 3 {
		t.Errorf("51 reads asked %d questions", got)
	}
}

// TestQuorumWaits checks that a log that goes on beyond this node's newest batch proves nothing, until
// the node has the batch, or has lost the log.
func TestQuorumWaits(t *testing.T) {
	q, log := newQuorum(t)
	log.end.Store(2)
	got := make(chan bool, 1)
	go func() { got <- q.certain() }()
	select {
	case is := <-got:
		t.Fatal("the log has a batch that this node does not know, and the proof says", is)
	case <-time.After(50 * time.Millisecond):
	}
	log.end.Store(1)
	if !<-got {
		t.Error("the owner is not certain")
	}
	log.end.Store(2)
	go func() { got <- q.certain() }()
	q.n.lease.lose()
	if <-got {
		t.Error("a node that has lost the log is certain")
	}
}

// TestProofs checks what a node asks before an answer leaves it and before the scheme is told of anything, by the setting: its
// clock, or a majority. Where the time for it is over, its clock still answers, and a majority is not asked.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, reads := range []string{ReadsLease, ReadsQuorum} {
		s, _ := alone(t, func(c *engine.Config, f *Flags) {
			c.DataDir, c.Scheme, f.Reads = t.TempDir(), "http://127.0.0.1:1", reads
		})
		for until := time.Now().Add(20 * time.Second); s.engine.Load() == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("no owner")
			}
		}
		sh := s.engine.Load().Config.Shared
		if !sh.Certain(t.Context()) || !sh.Lead.Certain() {
			t.Errorf("%s: the owner is not certain", reads)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if got := sh.Certain(over); got != (reads == ReadsLease) {
			t.Errorf("%s: certain %v when the time is over", reads, got)
		}
	}
}

// TestBeforeScheme checks that the scheme is told of nothing unless both a majority and the clock say that the node is the
// owner.
func TestBeforeScheme(t *testing.T) {
	q, log := newQuorum(t)
	now := time.Minute
	l := newLease(func() time.Duration { return now })
	certain := before(q, l)
	asks := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return certain(ctx)
	}
	if asks(50 * time.Millisecond) {
		t.Error("without a lease")
	}
	l.renewed(now)
	if !asks(10 * time.Second) {
		t.Error("not certain")
	}
	log.end.Store(2)
	if asks(50 * time.Millisecond) {
		t.Error("of a log that goes on")
	}
	q.n.lease.lose() // or it would ask on
}

// TestQuorumInTime checks that nobody waits for a majority longer than there is time.
func TestQuorumInTime(t *testing.T) {
	q, log := newQuorum(t)
	log.end.Store(2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if q.certainBy(ctx) {
		t.Error("certain of a log that goes on")
	}
	q.n.lease.lose() // or it would ask on
}

// TestMaker checks which node makes snapshots.
func TestMaker(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "b", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	after, batch, err := n.store.OwnBatch(wal.Owner{Name: "a", Run: "a1"})
	if err == nil {
		err = n.store.Apply(after+1, batch)
	}
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, role string) seen {
		is := seen{since: now, state: state{Role: role, Run: name + "1", URL: "http://" + name, Applied: 8}}
		is.Name = name
		return is
	}
	n.heads.note(5, now-time.Hour)
	n.heads.note(7, now-behindAfter-time.Millisecond)
	n.heads.note(8, now-behindAfter)
	far, near := node("aa", roleStandby), node("aa", roleStandby)
	far.Applied, near.Applied = 6, 7
	for _, c := range []struct {
		on, own string
		others  []seen
		want    string
	}{
		{OnStandby, roleJoining, []seen{node("a", roleOwner), far}, "a"},
		{OnStandby, roleStandby, []seen{node("a", roleOwner), far}, "b"},
		{OnStandby, roleStandby, []seen{node("a", roleOwner), near}, "aa"},
		{OnStandby, roleStandby, []seen{node("a", roleOwner), node("c", roleStandby)}, "b"},
		{OnStandby, roleStandby, []seen{node("a", roleOwner), node("aa", roleStandby)}, "aa"},
		{OnStandby, roleJoining, []seen{node("a", roleOwner)}, "a"},
		{OnStandby, roleJoining, []seen{node("a", roleOwner), node("c", roleStandby)}, "c"},
		{OnOwner, roleStandby, []seen{node("a", roleOwner)}, "a"},
		{OnAny, roleStandby, []seen{node("a", roleOwner)}, "b"},
	} {
		n.role = c.own
		n.seen = seenNodes{"b": node("b", c.own)}
		for _, is := range c.others {
			n.seen[is.Name] = is
		}
		s := &Served{flags: Flags{SnapshotOn: c.on}}
		if name, _, ok := s.maker(n); !ok || name != c.want {
			t.Errorf("--snapshot-on %s: %q makes snapshots, expected %s", c.on, name, c.want)
		}
	}
}

// TestFar checks that a node which was behind when this one began to look is far behind until it has reached what was there
// then, however short a time ago that was.
func TestFar(t *testing.T) {
	var h heads
	if h.far(0, time.Hour) {
		t.Error("far behind nothing")
	}
	now := time.Hour
	h.note(100, now)
	if !h.far(99, now) || h.far(100, now) {
		t.Error("at the first look")
	}
	now += time.Second
	h.note(101, now)
	if !h.far(99, now) || h.far(100, now) {
		t.Error("a second later")
	}
	if now += behindAfter + 1; !h.far(100, now) || h.far(101, now) {
		t.Error("much later")
	}
	for range len(h.ring) {
		h.note(101, now)
	}
	if h.far(101, now) || !h.far(100, now+behindAfter+1) {
		t.Error("once the first look is forgotten")
	}
}
