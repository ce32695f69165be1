package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pixd/actors/strictjson"
	"pixd/cmd/engine"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestMayTake checks to which nodes the log may be handed over, and which of them gets it where nobody
// says.
func TestMayTake(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	n.owner.Level = 5
	good := func(name string, applied uint64) seen {
		is := seen{since: now, state: state{Role: roleStandby, Level: 5, Applied: applied}}
		is.Name = name
		return is
	}
	n.seen = seenNodes{"a": good("a", 9), "b": good("b", 7), "c": good("c", 8)}
	if err := n.mayTake("b"); err != nil {
		t.Error(err)
	}
	if got := n.successor("", ""); got != "c" {
		t.Errorf("%s would get the log, and c has more of it", got)
	}
	if b, c := n.successor("b", "c"), n.successor("a", ""); b != "b" || c != "c" {
		t.Errorf("%s would get the log where b is ordered, and %s where the owner is", b, c)
	}
	if got := n.successor("", "b"); got != "b" {
		t.Errorf("%s would get the log, and b was chosen before", got)
	}
	stale := good("c", 8)
	stale.since = now - 2*renewEvery
	n.seen = seenNodes{"a": good("a", 9), "b": good("b", 7), "c": stale}
	if b, c := n.successor("", "c"), n.successor("c", ""); b != "b" || c != "c" {
		t.Errorf("%s would get the log where c was not heard of lately, and %s where c is ordered all the same", b, c)
	}
	stale.since = now - takeAfter
	n.seen["c"] = stale
	if got := n.successor("c", ""); got != "b" {
		t.Errorf("%s would get the log where c was ordered and is gone", got)
	}
	delete(n.seen, "b")
	stale.since = now - 2*renewEvery
	n.seen["c"] = stale
	if got := n.successor("", ""); got != "c" {
		t.Errorf("%q would get the log where there is but c, not heard of lately", got)
	}
	n.seen = seenNodes{"a": good("a", 9), "b": good("b", 8), "c": good("c", 8)}
	for range 50 { // asked again, it must not say another
		if got := n.successor("", ""); got != "b" {
			t.Errorf("%s would get the log, and b has as much", got)
		}
	}
	for name, change := range map[string]func(*seen){
		"gone":    func(is *seen) { is.since = now - takeAfter },
		"joining": func(is *seen) { is.Role = roleJoining },
		"wrong":   func(is *seen) { is.Wrong = "x" },
		"older":   func(is *seen) { is.Level = 4 },
	} {
		is := good("b", 7)
		change(&is)
		n.seen = seenNodes{"a": good("a", 9), "b": is}
		if n.mayTake("b") == nil || n.mayTake("") == nil || n.successor("", "") != "" {
			t.Errorf("%s: it may be handed the log", name)
		}
	}
	if n.mayTake("a") == nil || n.mayTake("z") == nil {
		t.Error("the log may be handed to its owner, or to nobody")
	}
	n.seen = seenNodes{"a": good("a", 9), "b": good("b", 7)}
	n.heads.note(8, now-time.Second)
	if err := n.mayTake("b"); err != nil {
		t.Error(err)
	}
	n.heads.note(8, now-3*time.Second)
	if err := n.mayTake("b"); err == nil || !strings.Contains(err.Error(), "node b is behind by 3.0 s") {
		t.Error(err)
	}
}

// TestHeir checks where requests go while the log is handed over: from the owner until its engine has ended, from
// then on, and from the other nodes, to the node that is to be the next.
func TestHeir(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	n.lease.elapsed = n.elapsed
	n.lease.renewed(now)
	heir := seen{since: now, state: state{Run: "heir's", URL: "http://b"}}
	n.seen = seenNodes{"b": heir, "a": {since: now, state: n.self}} // a node reads its own state too
	to := func(want string, ok bool) {
		t.Helper()
		if name, _, is := n.where(); is && name != want || is != ok {
			t.Errorf("requests go to %q, %v; want %q, %v", name, is, want, ok)
		}
	}
	owned := func(o wal.Owner) {
		t.Helper()
		at, batch, err := n.store.OwnBatch(o)
		if err == nil {
			err = n.store.Apply(at+1, batch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	owned(wal.Owner{Name: "a", Run: n.self.Run})
	n.bequeath("b")
	to("a", true)
	n.over.Store(true)
	to("b", true)
	n.bequeath("")
	to("", false)
	n.bequeath("b")
	owned(wal.Owner{Next: "b"})
	to("b", true)
	owned(wal.Owner{Name: "b", Run: "another"}) // which this node has not seen yet
	to("", false)
	owned(wal.Owner{Next: "b"})
	to("b", true)
	now += takeAfter
	n.seen = seenNodes{"b": {since: now, state: heir.state}}
	to("", false) // it is there, and has not taken the log
	owner := heir.state
	owner.Role = roleOwner
	n.seen = seenNodes{"b": {since: now, state: owner}}
	to("b", true) // it has, and this node has not read it while it closes its journal
}

// TestSlow checks that only a node whose renewals have all been slow lately leaves it to others to lead the
// log's members, and that the others know.
func TestSlow(t *testing.T) {
	tape := waltest.NewTape()
	n, other := aNode(t, tape, "a", t.TempDir()), aNode(t, tape, "b", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	renew := func(times int, took time.Duration) {
		for range times {
			sent := now
			now += took
			n.written(renewal{sent: sent}, wal.NodeVersion{Name: "a"}, nil)
		}
	}
	for _, c := range []struct {
		times int
		took  time.Duration
		slow  bool
	}{{8, 400 * time.Millisecond, true}, {1, 5 * time.Millisecond, false}, {7, 400 * time.Millisecond, false}, {1, 200 * time.Millisecond, true}} {
		if renew(c.times, c.took); n.mayLead("a") == c.slow {
			t.Errorf("after %d renewals of %v: it may lead: %v", c.times, c.took, n.mayLead("a"))
		}
		r, err := n.renewal()
		err = errors.Join(err, other.saw([]wal.NodeState{{NodeVersion: wal.NodeVersion{Name: "a", Version: uint64(now)}, State: r.text}}))
		if err != nil || other.mayLead("a") == c.slow {
			t.Errorf("after %d renewals of %v node b has it lead: %v, %v", c.times, c.took, other.mayLead("a"), err)
		}
	}
}

// TestLeadsLately checks that only a node that has renewed its state a moment ago is made to lead: nothing is written
// for a second where it has ended.
func TestLeadsLately(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	n.seen = seenNodes{"b": {since: now}}
	for _, c := range []struct {
		name  string
		later time.Duration
		leads bool
	}{{"b", renewEvery + 100*time.Millisecond, true}, {"b", 2 * renewEvery, false}, {"", 0, false}, {"c", 0, false}} {
		now = 10*time.Minute + c.later
		if n.mayLead(c.name) != c.leads {
			t.Errorf("%q after %v: %v", c.name, c.later, !c.leads)
		}
	}
}

// TestStatus checks what a node says of the others and of itself.
func TestStatus(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", filled(t, "base"))
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	n.lease.elapsed = n.elapsed
	n.lease.renewed(now - time.Second)
	n.role = roleStandby
	b := seen{since: now - 100*time.Millisecond, state: state{Role: roleOwner, Applied: 3, Program: "1.2", URL: "http://b:1"}}
	c := seen{since: now - takeAfter, state: state{Role: roleStandby, Wrong: "its sum differs"}}
	n.seen = seenNodes{"a": {since: now}, "b": b, "c": c}
	n.heads.note(3, now-4*time.Second)
	is := n.status()
	if len(is.Nodes) != 3 || is.Node != "a" || is.Owner != nil || is.Log.Position != 1 {
		t.Fatalf("%+v", is)
	}
	own, owner, gone := is.Nodes[0], is.Nodes[1], is.Nodes[2]
	if own.Role != roleStandby || own.Applied != 1 || own.ValidForMS != 500 || own.LagSeconds != 4 {
		t.Errorf("of itself: %+v", own)
	}
	if owner.Role != roleOwner || owner.ValidForMS != 1400 || owner.Version != "1.2" || owner.URL != "http://b:1" || owner.LagBatches != 0 || owner.LagSeconds != 0 {
		t.Errorf("of the owner: %+v", owner)
	}
	if gone.Role != roleGone || gone.Err == nil || gone.ValidForMS != 0 {
		t.Errorf("of one that is gone: %+v", gone)
	}
}

// TestOwnersNameTaken checks that a node whose readings have failed does not take over while the owner
// may be certain, where another process has the owner's name by then.
func TestOwnersNameTaken(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	after, batch, err := n.store.OwnBatch(wal.Owner{Name: "b", Run: "b1"})
	if err == nil {
		err = n.store.Apply(after+1, batch)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := func(version uint64, run string) wal.NodeState {
		text, err := strictjson.Encode(state{Run: run})
		if err != nil {
			t.Fatal(err)
		}
		return wal.NodeState{NodeVersion: wal.NodeVersion{Name: "b", Version: version}, State: text}
	}
	saw := func(version uint64, run string) {
		t.Helper()
		if err := n.saw([]wal.NodeState{b(version, run)}); err != nil {
			t.Fatal(err)
		}
	}
	saw(1, "b1")
	seen := now
	now += time.Second // in which nothing was read
	saw(9, "b2")
	if n.ownerBeat != now-settleFor {
		t.Errorf("the owner was last heard of %v ago", now-n.ownerBeat)
	}
	now += time.Second
	saw(10, "b2") // the new process renews itself, not the owner
	if n.ownerBeat != now-time.Second-settleFor || n.ownerBeat <= seen {
		t.Errorf("the owner was last heard of %v ago", now-n.ownerBeat)
	}
}

// TestHandoverIsNotForgotten checks that a handover that was answered comes about although the node is busy for longer than
// a second, and that it ends with the engine that was asked.
func TestHandoverIsNotForgotten(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	is := seen{since: now, state: state{Role: roleStandby, Level: 5, Run: "b1"}}
	is.Name = "b"
	n.seen = seenNodes{"b": is}
	s := &Served{handover: make(chan order)}
	s.node.Store(n)
	s.engine.Store(&engine.Served{})
	if _, err := s.Handover("b"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1200 * time.Millisecond)
	select {
	case o := <-s.handover:
		o.done <- nil
	case <-time.After(time.Second):
		t.Fatal("the handover was forgotten")
	}
	if _, err := s.Handover("b"); err != nil {
		t.Fatal(err)
	}
	s.engine.Store(&engine.Served{})
	time.Sleep(2 * lookEvery)
	select {
	case <-s.handover:
		t.Error("the next engine hands over because the former was asked to")
	case <-time.After(2 * lookEvery):
	}
}
