package cluster

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/layout"
	"pixd/actors/strictjson"
	"pixd/cmd/journal"
	"pixd/wal"
	"pixd/wal/waltest"
)

const agreedISPB = "99999004"

// aStore opens the journal of a data folder.
func aStore(t *testing.T, dir string, shared bool) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{
		Dir: filepath.Join(dir, journal.Folder), Hard: journal.HardSettings(agreedISPB), SetOnce: layout.SetOnce, Shared: shared,
		MemTableBytes: 1 << 20, CacheBytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// filled makes a folder with a journal of its own.
func filled(t *testing.T, word string) string {
	t.Helper()
	dir := t.TempDir()
	s := aStore(t, dir, false)
	r := wal.Seal(0, wal.Record{Stream: 7, Seq: 1, Kind: 1, Time: 1, Body: []byte(word)})
	done := make(chan error, 1)
	s.Append(&wal.Entry{Stream: 7, Records: []wal.Sealed{r}, Out: []wal.Out{outFunc(func(err error) { done <- err })}})
	if err := errors.Join(<-done, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

type outFunc func(error)

// Release implements wal.Out.
func (f outFunc) Release(err error) { f(err) }

// aNode is a node over a folder, which has written its state.
func aNode(t *testing.T, tape *waltest.Tape, name, dir string) *node {
	t.Helper()
	began := time.Now()
	elapsed := func() time.Duration { return time.Since(began) + time.Second }
	n := &node{
		self: state{Run: name + "1", URL: "http://" + name}, name: name, log: tape.Log(), store: aStore(t, dir, true),
		elapsed: elapsed, slog: slog.New(slog.DiscardHandler), lease: newLease(elapsed), role: roleJoining,
	}
	if err := n.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) agrees(ctx context.Context, peers string) (wal.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all, err := parsePeers(peers)
	if err != nil {
		return wal.Cluster{}, err
	}
	return n.agree(ctx, all, wal.Cluster{ID: "of " + n.name, Hard: journal.HardSettings(agreedISPB)})
}

const twoPeers = "a=http://a:1,b=http://b:1"

// TestAgreeEmpty checks that empty nodes found a cluster only once all of them are there.
func TestAgreeEmpty(t *testing.T) {
	tape := waltest.NewTape()
	a := aNode(t, tape, "a", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if c, err := a.agrees(ctx, twoPeers); err == nil {
		t.Fatalf("founded %+v without the other node", c)
	}
	b := aNode(t, tape, "b", t.TempDir())
	one, err := a.agrees(t.Context(), twoPeers)
	two, err1 := b.agrees(t.Context(), twoPeers)
	if err := errors.Join(err, err1); err != nil || one.ID != two.ID || one.Base != 0 {
		t.Error(one, two, err)
	}
	for _, n := range []*node{a, b} {
		if err := fits(n.store, one, journal.HardSettings(agreedISPB)); err != nil {
			t.Error(err)
		}
		if id, err := n.store.Cluster(); id != one.ID || err != nil {
			t.Error(id, err)
		}
	}
}

// TestAgreeBase checks that a node with a journal founds the cluster with it, also while empty nodes
// wait, and that these must copy it.
func TestAgreeBase(t *testing.T) {
	tape := waltest.NewTape()
	empty := aNode(t, tape, "a", t.TempDir())
	full := aNode(t, tape, "b", filled(t, "base"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	c, err := empty.agrees(ctx, twoPeers+",c=http://c:1")
	if err == nil {
		t.Fatal("founded without the third node", c)
	}
	c, err = full.agrees(t.Context(), twoPeers)
	if err != nil || c.ID != "of b" || c.Base != 1 {
		t.Fatal(c, err)
	}
	again, err := empty.agrees(t.Context(), twoPeers)
	if err != nil || again.ID != c.ID {
		t.Fatal(again, err)
	}
	hard := journal.HardSettings(agreedISPB)
	if err := errors.Join(fits(full.store, c, hard), fits(full.store, c, hard)); err != nil {
		t.Error(err)
	}
	if err := fits(empty.store, c, hard); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
}

// TestFitsNot checks that a folder that is not the cluster's is refused, and stays as it was.
func TestFitsNot(t *testing.T) {
	hard := journal.HardSettings(agreedISPB)
	tape := waltest.NewTape()
	a := aNode(t, tape, "a", filled(t, "base"))
	c, err := a.agrees(t.Context(), twoPeers)
	if err == nil {
		err = fits(a.store, c, hard)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := aStore(t, filled(t, "other"), true)
	for want, err := range map[string]error{
		"a journal of its own, of 1 batches": fits(other, c, hard),
		"the log is of cluster x":            fits(a.store, wal.Cluster{ID: "x"}, hard),
		`was founded with ispb "1"`:          fits(a.store, wal.Cluster{ID: c.ID, Hard: map[string]string{"ispb": "1"}}, hard),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if id, err := other.Cluster(); id != "" || err != nil {
		t.Error(id, err)
	}
	lost := aNode(t, waltest.NewTape(), "a", filled(t, "base"))
	if err := lost.store.Join(c.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := lost.agrees(t.Context(), twoPeers); err == nil || !strings.Contains(err.Error(), "the log knows of no cluster") {
		t.Error(err)
	}
}

// TestLongEnough checks that a node refuses a log that lacks batches which it has.
func TestLongEnough(t *testing.T) {
	tape := waltest.NewTape()
	a := aNode(t, tape, "a", filled(t, "base"))
	if _, err := a.log.Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	if err := a.longEnough(t.Context(), wal.Cluster{ID: "c"}); !errors.Is(err, wal.ErrShort) {
		t.Error(err)
	}
}

// TestBehindShortLog checks that a node which was itself behind does not take over a log that lacks what another
// has, though that has ended; and does where the other follows no more for another reason.
func TestBehindShortLog(t *testing.T) {
	tape := waltest.NewTape()
	behind, ahead := aNode(t, tape, "a", t.TempDir()), aNode(t, tape, "b", filled(t, "base"))
	c, err := behind.log.Found(t.Context(), wal.Cluster{ID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	takes := func() error {
		t.Helper()
		if err := behind.lookOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		return behind.take(t.Context(), takeover{from: behind.store.Owner()})
	}
	if err := errors.Join(behind.longEnough(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	if err := ahead.longEnough(t.Context(), c); !errors.Is(err, wal.ErrShort) || errors.Is(err, wal.ErrMoved) {
		t.Fatal(err)
	}
	if err := takes(); !errors.Is(err, wal.ErrShort) || !strings.Contains(err.Error(), "that node b has, this node has batch 1") {
		t.Error(err)
	}
	// It is started again: until it has looked at the log, what it has written stands.
	again := &node{
		self: state{Run: "b2"}, name: "b", log: tape.Log(), store: ahead.store, role: roleJoining,
		elapsed: ahead.elapsed, slog: slog.New(slog.DiscardHandler), lease: newLease(ahead.elapsed),
	}
	if err := again.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := takes(); !errors.Is(err, wal.ErrShort) {
		t.Error("while the other starts again:", err)
	}
	behind.seen = seenNodes{"b": {NodeVersion: wal.NodeVersion{Name: "b"}, state: state{Wrong: "it differs", Applied: 1}}, "a": behind.seen["a"]}
	if err := behind.mayTake(""); err == nil || !strings.Contains(err.Error(), "the log lacks batches that node b has") {
		t.Error("the log would be handed over:", err)
	}
	behind.wrong = "what its former run has written"
	if err := behind.longEnough(t.Context(), c); err != nil || behind.isWrong() {
		t.Error(err)
	}
	ahead = again
	ahead.wrong = "" // as one that has a journal of its own, and is refused for that
	if err := errors.Join(ahead.renew(t.Context()), takes()); err != nil {
		t.Error(err)
	}
}

// TestNameTaken checks that a name under which another process renews its state is refused.
func TestNameTaken(t *testing.T) {
	tape := waltest.NewTape()
	a := aNode(t, tape, "a", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.keep(ctx) }()
	second := aNewcomer(t, tape.Log())
	if err := second.register(t.Context()); !errors.Is(err, errTaken) {
		t.Error(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := second.register(t.Context()); err != nil {
		t.Error("once the first has ended:", err)
	}
	if err := a.keep(t.Context()); !errors.Is(err, wal.ErrMoved) || !a.lease.lost() {
		t.Error("the first one goes on:", err)
	}
	all, err := tape.Log().Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, earlier := range []wal.NodeVersion{second.version, {}} { // the process itself has written what is there, or another may have
		third := &node{name: "a", elapsed: a.elapsed, earlier: earlier}
		if may, err := third.mayRegister(all); err != nil || may != (earlier == second.version) {
			t.Errorf("after %v: %v, %v", earlier, may, err)
		}
	}
}

// arriving is a log in which something arrives right before some of a node's readings and writings.
type arriving struct {
	wal.Log
	before map[int]func() // of the readings and writings of nodes, in their order
	calls  int
	last   time.Time // when something has arrived last
}

func (l *arriving) next() {
	if do := l.before[l.calls]; do != nil {
		l.last = time.Now()
		do()
	}
	l.calls++
}

// Nodes implements wal.Log.
func (l *arriving) Nodes(ctx context.Context) ([]wal.NodeState, error) {
	l.next()
	return l.Log.Nodes(ctx)
}

// Node implements wal.Log.
func (l *arriving) Node(ctx context.Context, self wal.NodeVersion, text []byte) (wal.NodeVersion, error) {
	l.next()
	return l.Log.Node(ctx, self, text)
}

// TestLastRenewalIsLate checks that a node takes its name although the last renewal of a process that has ended, or of the
// same process's earlier node, arrives while it registers. A process that lives renews itself more than once, slowly
// perhaps, and one that starts has another run. Before the node takes its name, it has seen no renewal for some time.
func TestLastRenewalIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		knows  bool  // what the earlier node of the process had written last but one
		at     []int // right before these readings and writings, of which there is one every 0.1 s
		taken  bool
		leaves int // right before this one the name is given up
		watch  time.Duration
	}{
		"the process's own, before it reads":       {knows: true, at: []int{0}, watch: settleFor},
		"the process's own, before it writes":      {knows: true, at: []int{1}, watch: takeAfter},
		"another's, before it reads":               {at: []int{0}, watch: settleFor},
		"another's, between two readings":          {at: []int{3}, watch: takeAfter},
		"another's, twice":                         {at: []int{2, 5}, taken: true},
		"another's that goes on, before it writes": {knows: true, at: []int{1, 3}, taken: true},
		"another's that is slow":                   {at: []int{5, 15}, taken: true},
		"another's, which then leaves":             {at: []int{3}, leaves: 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			tape := waltest.NewTape()
			former := aNode(t, tape, "a", t.TempDir())
			log := &arriving{Log: tape.Log(), before: map[int]func(){}}
			for _, at := range c.at {
				log.before[at] = func() {
					if err := former.renew(t.Context()); err != nil {
						t.Error(name, err)
					}
				}
			}
			if c.leaves > 0 {
				log.before[c.leaves] = func() {
					if err := log.Leave(t.Context(), "a"); err != nil {
						t.Error(name, err)
					}
				}
			}
			n := aNewcomer(t, log)
			if c.knows {
				n.earlier = former.version
			}
			err := n.register(t.Context())
			if log.calls <= c.at[len(c.at)-1] {
				t.Errorf("%s: it ended after %d calls: %v", name, log.calls, err)
			}
			if c.taken != errors.Is(err, errTaken) || !c.taken && (err != nil || !n.lease.valid()) {
				t.Errorf("%s: %v", name, err)
			}
			if watched := time.Since(log.last); !c.taken && watched < c.watch {
				t.Errorf("%s: it took the name %v after a renewal", name, watched)
			}
		})
	}
}

// TestTwoStart has two processes start under one name at the same time: one of them is refused, though the other does not
// renew itself yet.
func TestTwoStart(t *testing.T) {
	tape := waltest.NewTape()
	log := &arriving{Log: tape.Log()}
	log.before = map[int]func(){1: func() { aNode(t, tape, "a", t.TempDir()) }}
	n := aNewcomer(t, log)
	if err := n.register(t.Context()); !errors.Is(err, errTaken) {
		t.Error(err)
	}
}

// aNewcomer is a node a that has not written its state yet.
func aNewcomer(t *testing.T, log wal.Log) *node {
	t.Helper()
	began := time.Now()
	elapsed := func() time.Duration { return time.Since(began) + time.Second }
	return &node{
		self: state{Run: "a2"}, name: "a", log: log, store: aStore(t, t.TempDir(), true),
		elapsed: elapsed, slog: slog.New(slog.DiscardHandler), lease: newLease(elapsed),
	}
}

// TestPutBackWithoutCluster checks that a folder which was put back does not wait for a log that knows of no cluster: that is
// said next.
func TestPutBackWithoutCluster(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", filled(t, "base"))
	n.member = true
	if err := errors.Join(n.store.Join("c"), n.putBack(t.Context(), 2)); err != nil {
		t.Error(err)
	}
}

// TestPutBack checks that a folder which ends before what its node has had on its disk is refused, time and again, where a
// member of etcd was put back with it; and that one without a journal is let in.
func TestPutBack(t *testing.T) {
	for _, c := range []struct {
		member    bool
		of        string
		had, want uint64
		wrong     bool
	}{{true, "c", 2, 1, true}, {true, "c", 1, 1, false}, {false, "c", 2, 1, false}, {true, "", 2, 0, false}, {true, "another", 2, 1, false}} {
		tape := waltest.NewTape()
		if _, err := tape.Log().Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
			t.Fatal(err)
		}
		former, err := strictjson.Encode(state{Run: "a0", Synced: c.had})
		if err == nil {
			_, err = tape.Log().Node(t.Context(), wal.NodeVersion{Name: "a"}, former)
		}
		dir := t.TempDir()
		if c.want > 0 {
			dir = filled(t, "base")
		}
		n := &node{name: "a", self: state{Run: "a1"}, log: tape.Log(), store: aStore(t, dir, true), slog: slog.New(slog.DiscardHandler), member: c.member}
		if c.of != "" {
			err = errors.Join(err, n.store.Join(c.of))
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			now := time.Second
			n.elapsed = func() time.Duration { now += settleFor; return now }
			n.lease, n.version = newLease(n.elapsed), wal.NodeVersion{}
			err := n.register(t.Context())
			if wrong := err != nil && strings.Contains(err.Error(), "was put back to an earlier state"); wrong != c.wrong || !wrong && err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}
