package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pixd/wal"
	"pixd/wal/waltest"
)

// TestNamedAtOnce checks that a node to which the log is handed over takes it at once, and not at the next time it looks.
func TestNamedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := aNode(t, waltest.NewTape(), "b", t.TempDir())
		_, err := n.log.Found(t.Context(), wal.Cluster{ID: "c"})
		if err := errors.Join(err, n.lookOnce(t.Context())); err != nil {
			t.Fatal(err)
		}
		says := func(o wal.Owner) {
			at, batch, err := n.store.OwnBatch(o)
			if err := errors.Join(err, n.log.Append(t.Context(), logNumber, at, batch)); err != nil {
				t.Fatal(err)
			}
		}
		says(wal.Owner{Name: "x", Run: "x1"})
		done := make(chan error, 1)
		go func() { done <- n.follow(t.Context()) }()
		time.Sleep(lookEvery / 3)
		began := time.Now()
		says(wal.Owner{Next: "b"})
		if err := <-done; err != nil || !n.owns() || time.Since(began) > 0 {
			t.Errorf("after %v it is the owner: %v, %v", time.Since(began), n.owns(), err)
		}
	})
}

// TestDue checks when a node takes over: from whom, after how long, and when never.
func TestDue(t *testing.T) {
	const start, moment = time.Hour, time.Millisecond
	first, second := "b", "c"
	if weight(logNumber, first) < weight(logNumber, second) {
		first, second = second, first
	}
	anew := func(n *node) {
		n.seen["x"] = seen{NodeVersion: wal.NodeVersion{Name: "x", Version: 8}, state: state{Run: "x2"}, since: start, runSince: start}
	}
	lost := wal.Owner{Name: "x", Run: "x1"}
	left := func(next string) wal.Owner { return wal.Owner{Next: next} }
	for _, c := range []struct {
		name, self, other string // other is alive; empty: no other is
		owner             wal.Owner
		change            func(*node)
		after             time.Duration // since the owner was heard of; negative: never
		deposed           bool
	}{
		{"the owner is lost", first, second, lost, nil, takeAfter, true},
		{"another comes before", second, first, lost, nil, takeAfter + rankAfter, true},
		{"the other that comes before is gone", second, "", lost, nil, takeAfter, true},
		{"the owner's name has another process", first, second, lost, anew, takeAfter, false},
		{"handed over to it", second, first, left(second), nil, 0, false},
		{"handed over to another that is there", first, second, left(second), nil, takeAfter, false},
		{"handed over to another that is gone", first, "", left(second), nil, 0, false},
		{"handed over to any", second, first, left(""), nil, rankAfter, false},
		{"it is the owner", first, second, wal.Owner{Name: first, Run: first + "1"}, nil, -1, false},
		{"it was the owner in another process", first, second, wal.Owner{Name: first, Run: first + "0"}, nil, takeAfter, false},
		{"its journal is not the log's", first, second, lost, func(n *node) { n.wrong = "its sum differs" }, -1, false},
		{"it is not certain of its own state", first, second, lost, func(n *node) { n.lease.lose() }, -1, false},
		{"it has read no states", first, second, lost, func(n *node) { n.seen = nil }, -1, false},
	} {
		n := aNode(t, waltest.NewTape(), c.self, t.TempDir())
		at, batch, err := n.store.OwnBatch(c.owner)
		if err == nil {
			err = n.store.Apply(at+1, batch)
		}
		if err != nil {
			t.Fatal(err)
		}
		now := start
		n.elapsed = func() time.Duration { return now }
		n.lease.elapsed = n.elapsed
		n.seen = seenNodes{"x": {NodeVersion: wal.NodeVersion{Name: "x", Version: 7}, state: state{Run: "x1"}, since: start - takeAfter}}
		n.owner, n.ownerBeat = n.store.Owner(), start
		if c.change != nil {
			c.change(n)
		}
		dueAt := func(after time.Duration) (takeover, bool) {
			now = start + after
			n.lease.renewed(now)
			if is := n.seen[c.other]; n.seen != nil && c.other != "" {
				is.since = now
				n.seen[c.other] = is
			}
			return n.due()
		}
		if _, due := dueAt(max(0, c.after) - moment); due {
			t.Errorf("%s: %s takes over before %v", c.name, c.self, c.after)
		}
		if c.after < 0 {
			if _, due := dueAt(time.Minute); due {
				t.Errorf("%s: %s takes over", c.name, c.self)
			}
			continue
		}
		switch got, due := dueAt(c.after); {
		case !due:
			t.Errorf("%s: %s does not take over after %v", c.name, c.self, c.after)
		case got.from != n.store.Owner() || (got.deposed == wal.NodeVersion{Name: "x", Version: 7}) != c.deposed || !c.deposed && got.deposed != (wal.NodeVersion{}):
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
