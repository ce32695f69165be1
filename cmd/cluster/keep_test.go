package cluster

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/wal"
	"pixd/wal/waltest"
)

// keeping is a keeper over a node whose clock the test turns, with the alerts that it has raised.
type keeping struct {
	*keeper
	now    time.Duration
	alerts []string
}

func newKeeping(t *testing.T) *keeping {
	t.Helper()
	k := &keeping{now: time.Minute}
	n := aNode(t, waltest.NewTape(), "a", filled(t, "base"))
	n.elapsed = func() time.Duration { return k.now }
	n.seen = seenNodes{}
	k.keeper = &keeper{
		n: n, raise: func(kind, message string) { k.alerts = append(k.alerts, kind+": "+message) },
		raised: map[string]bool{}, behind: map[string]time.Duration{}, goal: map[string]uint64{},
	}
	if _, err := n.log.Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *keeping) sees(name string, change func(*seen)) {
	is := seen{NodeVersion: wal.NodeVersion{Name: name, Version: 1}, since: k.now, state: state{Applied: 1, Synced: 1}}
	change(&is)
	k.n.seen[name] = is
}

func (k *keeping) expect(t *testing.T, kinds ...string) {
	t.Helper()
	k.watch()
	if len(k.alerts) != len(kinds) {
		t.Fatalf("raised %q, expected %q", k.alerts, kinds)
	}
	for i, kind := range kinds {
		if !strings.HasPrefix(k.alerts[i], kind+": ") {
			t.Errorf("raised %q, expected %q", k.alerts[i], kind)
		}
	}
	k.alerts = nil
}

// TestKeeperAlerts checks that each thing that is wrong with a node is raised once until it is over.
func TestKeeperAlerts(t *testing.T) {
	k := newKeeping(t)
	k.sees("b", func(*seen) {})
	k.expect(t)
	k.now += goneAfter
	k.expect(t)
	k.now += time.Millisecond
	k.expect(t, engine.AlertNodeGone)
	k.expect(t)
	k.sees("b", func(is *seen) { is.Wrong = "its sum differs" })
	k.expect(t, engine.AlertLogMismatch)
	k.sees("b", func(is *seen) { is.Applied = 0 })
	k.goal["b"] = 1
	k.behind["b"] = k.now
	k.now += behindAfter
	k.sees("b", func(is *seen) { is.Applied = 0 })
	k.expect(t)
	k.now += time.Millisecond
	k.expect(t, engine.AlertNodeBehind)
	k.expect(t)
	k.sees("b", func(*seen) {})
	k.expect(t)
	k.sees("b", func(is *seen) { is.since = k.now - goneAfter - 1 })
	k.expect(t, engine.AlertNodeGone)
	tookOver(k.keeper, wal.Owner{})
	k.expect(t)
	tookOver(k.keeper, wal.Owner{Name: "b"})
	k.expect(t, engine.AlertTookOver)
}

// sized is a log whose database has a size that the test chooses, and that notes what is trimmed.
type sized struct {
	wal.Log
	bytes   int64
	trimmed uint64
}

// Size implements wal.Log.
func (s *sized) Size(context.Context) (int64, int64, error) { return s.bytes, 8 << 30, nil }

// Trim implements wal.Log.
func (s *sized) Trim(_ context.Context, _ uint16, upto uint64) error {
	s.trimmed = upto
	return nil
}

// TestKeeperTrims checks that the log keeps what a node lacks on its disk, of a node that is gone only
// while the log is small, and that a log that grows is told.
func TestKeeperTrims(t *testing.T) {
	k := newKeeping(t)
	log := &sized{Log: k.n.log}
	k.n.log = log
	for _, c := range []struct {
		name  string
		bytes int64
		is    func(*seen)
		want  uint64
	}{
		{"all have it", 1, func(*seen) {}, 1},
		{"one lacks it", heldForGone, func(is *seen) { is.Synced = 0 }, 0},
		{"one that is gone lacks it", heldForGone - 1, func(is *seen) { is.Synced, is.since = 0, 0 }, 0},
		{"and the log grows", heldForGone, func(is *seen) { is.Synced, is.since = 0, 0 }, 1},
		{"one that is wrong", 1, func(is *seen) { is.Synced, is.Wrong = 0, "x" }, 1},
	} {
		k.sees("b", c.is)
		log.bytes = c.bytes
		if err := k.trim(t.Context()); err != nil || log.trimmed != c.want {
			t.Errorf("%s: trimmed up to %d, expected %d (%v)", c.name, log.trimmed, c.want, err)
		}
	}
	if len(k.alerts) != 0 {
		t.Error(k.alerts)
	}
	log.bytes = 4<<30 + 1
	if err := k.trim(t.Context()); err != nil || len(k.alerts) != 1 || !strings.HasPrefix(k.alerts[0], engine.AlertLogFull) {
		t.Error(k.alerts, err)
	}
}

// TestStatusLag checks for how long a node that lacks batches has lacked them.
func TestStatusLag(t *testing.T) {
	var h heads
	for i := range uint64(3000) {
		h.note(i, time.Duration(i)*glanceEvery)
	}
	now := 3000 * glanceEvery
	for position, want := range map[uint64]time.Duration{2999: 0, 2998: glanceEvery, 2600: now - 2601*glanceEvery, 3: 2400 * glanceEvery} {
		if got := h.since(position, now); got != want {
			t.Errorf("behind at %d for %v, expected %v", position, got, want)
		}
	}
}

// TestRank checks that nodes agree on who comes first, and that who cannot take over does not count.
func TestRank(t *testing.T) {
	now := time.Minute
	all := seenNodes{}
	for _, name := range []string{"a", "b", "c"} {
		all[name] = seen{since: now}
	}
	places := map[int]string{}
	for name := range all {
		places[all.rank(0, name, now)] = name
	}
	if len(places) != 3 {
		t.Fatal(places)
	}
	first := places[0]
	for change, is := range map[string]seen{"gone": {since: now - takeAfter}, "wrong": {since: now, state: state{Wrong: "x"}}} {
		all[first] = is
		if got := all.rank(0, places[1], now); got != 0 {
			t.Errorf("%s: the second comes in place %d", change, got)
		}
	}
}

// TestKeeperClocks checks that an owner tells of each node whose clock is far from its own, once until they agree.
func TestKeeperClocks(t *testing.T) {
	k := newKeeping(t)
	const hour, now = pix.Millis(3_600_000), pix.Millis(1_800_000_000_000)
	is := func(name string, clock pix.Millis) said {
		return said{peer: peer{name: name}, said: hello{Clock: clock}}
	}
	k.compare([]said{is("b", now-59_000), is("c", now+59_000), is("old", 0), {peer: peer{name: "gone"}, err: io.EOF}}, now)
	k.expect(t)
	for range 2 {
		k.compare([]said{is("b", now-hour), is("c", now+2*hour)}, now)
	}
	if len(k.alerts) != 2 || !strings.Contains(k.alerts[0], "the clock of this node, a, is 1h0m0s ahead of that of node b") || !strings.Contains(k.alerts[1], "2h0m0s behind that of node c") {
		t.Errorf("%q", k.alerts)
	}
	k.expect(t, engine.AlertClock, engine.AlertClock)
	k.compare([]said{is("b", now)}, now)
	k.compare([]said{is("b", now+hour)}, now)
	k.expect(t, engine.AlertClock)
}
