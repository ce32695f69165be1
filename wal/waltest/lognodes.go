package waltest

import (
	"reflect"

	"pixd/wal"
)

// writes writes a node and returns its version.
func (b *logBench) writes(self wal.NodeVersion, state string) wal.NodeVersion {
	b.Helper()
	got, err := b.Node(b.ctx, self, []byte(state))
	b.must(err)
	if got.Name != self.Name || got.Version <= self.Version {
		b.Fatalf("%+v was written as %+v", self, got)
	}
	return got
}

// moved checks that a node can not be written.
func (b *logBench) moved(self wal.NodeVersion, state string) {
	b.Helper()
	_, err := b.Node(b.ctx, self, []byte(state))
	b.wants(err, wal.ErrMoved)
}

// is checks how a node is listed, and that it is listed in that version.
func (b *logBench) is(self wal.NodeVersion, state string) {
	b.Helper()
	if n := b.node(self.Name); n.NodeVersion != self || string(n.State) != state {
		b.Fatalf("the node is %+v %q, want %+v %q", n.NodeVersion, n.State, self, state)
	}
}

func takeDeposes(b *logBench) {
	b.filled(2)
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	v2 := b.writes(v1, "2")
	b.must(b.open().Take(b.ctx, 0, logBase+2, v2, batch(logBase+3)))
	b.ends(0, logBase+3)
	b.reads(logBase, logBase+3)
	b.moved(v2, "3")
	b.moved(v1, "2") // nor may it take the deposition for its own renewal, of which it had no answer
	b.moved(v2, "2")
	listed := b.node("a")
	if listed.Version <= v2.Version || string(listed.State) != "2" {
		b.Fatalf("the deposed node is %+v", listed)
	}
	v4 := b.writes(listed.NodeVersion, "4") // it is one of the nodes again
	b.is(v4, "4")
}

func takeRefusesOtherVersion(b *logBench) {
	b.filled(2)
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	v2 := b.writes(v1, "2")
	for _, stale := range []wal.NodeVersion{v1, {Name: "a"}, {Name: "a", Version: v2.Version + 1}, {Name: "b", Version: v2.Version}} {
		b.wants(b.Take(b.ctx, 0, logBase+2, stale, []byte("x")), wal.ErrMoved)
	}
	b.ends(0, logBase+2)
	b.is(v2, "2")
	b.writes(v2, "3")
}

func takeRefusesOtherPosition(b *logBench) {
	b.filled(2)
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	for _, after := range []uint64{0, logBase, logBase + 1, logBase + 3} {
		b.wants(b.Take(b.ctx, 0, after, v1, []byte("x")), wal.ErrMoved)
	}
	b.ends(0, logBase+2)
	b.is(v1, "1")
	b.writes(v1, "2")
}

func takesAgain(b *logBench) {
	b.filled(2)
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	b.must(b.Take(b.ctx, 0, logBase+2, v1, []byte("x")))
	b.must(b.Take(b.ctx, 0, logBase+2, v1, []byte("x")))
	b.wants(b.Take(b.ctx, 0, logBase+2, v1, []byte("y")), wal.ErrMoved)
	v3 := b.writes(b.node("a").NodeVersion, "3")
	b.must(b.Take(b.ctx, 0, logBase+2, v1, []byte("x")))
	b.is(v3, "3") // it is not deposed once more
	b.ends(0, logBase+3)
}

func takesFromNobody(b *logBench) {
	b.filled(2)
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	b.must(b.Take(b.ctx, 0, logBase+2, wal.NodeVersion{}, []byte("x")))
	b.ends(0, logBase+3)
	b.is(v1, "1")
	b.must(b.Take(b.ctx, 0, logBase+3, wal.NodeVersion{Name: "new"}, []byte("y")))
	b.moved(wal.NodeVersion{Name: "new"}, "2")
}

func nodeByVersion(b *logBench) {
	b.founded()
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	b.is(v1, "1")
	v2 := b.writes(v1, "2")
	b.is(v2, "2")
	for _, other := range []wal.NodeVersion{v1, {Name: "a"}, {Name: "a", Version: v2.Version + 1}, {Name: "b", Version: v2.Version}} {
		b.moved(other, "3")
	}
	b.is(v2, "2")
}

func nodeAgain(b *logBench) {
	b.founded()
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	for _, before := range []wal.NodeVersion{{Name: "a"}, {Name: "a", Version: v1.Version + 5}} {
		again, err := b.Node(b.ctx, before, []byte("1"))
		b.must(err)
		if again != v1 {
			b.Fatalf("the same state again has version %+v, before %+v", again, v1)
		}
	}
	v2 := b.writes(v1, "2")
	b.moved(wal.NodeVersion{Name: "a"}, "1")
	b.is(v2, "2")
}

func listsNodes(b *logBench) {
	b.founded()
	all, err := b.Nodes(b.ctx)
	b.must(err)
	if len(all) != 0 {
		b.Fatalf("nodes %v before one was written", all)
	}
	names := []string{"a", "a-1", "a1", "b", "z9"}
	for i := len(names) - 1; i >= 0; i-- {
		b.writes(wal.NodeVersion{Name: names[i]}, "state of "+names[i])
	}
	all, err = b.open().Nodes(b.ctx)
	b.must(err)
	for i, n := range all {
		if i >= len(names) || n.Name != names[i] || string(n.State) != "state of "+names[i] {
			b.Fatalf("nodes %v", all)
		}
	}
	if len(all) != len(names) {
		b.Fatalf("nodes %v", all)
	}
	for { // a glance may be late, and shows the same in the end
		seen, err := b.Glance(b.ctx)
		b.must(err)
		if reflect.DeepEqual(seen, all) {
			return
		}
	}
}

func nodeLeaves(b *logBench) {
	b.founded()
	v1 := b.writes(wal.NodeVersion{Name: "a"}, "1")
	other := b.writes(wal.NodeVersion{Name: "ab"}, "1")
	b.must(b.Leave(b.ctx, "nobody"))
	b.must(b.Leave(b.ctx, "a"))
	b.must(b.Leave(b.ctx, "a"))
	if n := b.node("a"); n.Name != "" {
		b.Fatalf("the node is still %+v", n)
	}
	b.is(other, "1")
	b.moved(v1, "2")
	v3 := b.writes(wal.NodeVersion{Name: "a"}, "3")
	if v3.Version <= v1.Version {
		b.Fatalf("%+v follows %+v", v3, v1)
	}
	b.moved(v1, "4")
}
