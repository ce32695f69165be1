package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/wal"
	"pixd/wal/waltest"
)

// late is a log whose part on this machine shows nodes as they were some time ago.
type late struct {
	wal.Log
	were []wal.NodeState
}

// Glance implements wal.Log.
func (l late) Glance(context.Context) ([]wal.NodeState, error) { return l.were, nil }

// TestTakeAsksMajority checks that a node does not take over a log that lacks what another has written down to have,
// though its own machine's part of the log does not know that yet.
func TestTakeAsksMajority(t *testing.T) {
	tape := waltest.NewTape()
	behind, ahead := aNode(t, tape, "a", t.TempDir()), aNode(t, tape, "b", filled(t, "base"))
	c, err := behind.log.Found(t.Context(), wal.Cluster{ID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	were, err := tape.Log().Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ahead.longEnough(t.Context(), c); !errors.Is(err, wal.ErrShort) {
		t.Fatal(err)
	}
	behind.log = late{behind.log, were}
	if err := behind.lookOnce(t.Context()); err != nil || behind.seen["b"].Wrong != "" {
		t.Fatal(err, behind.seen["b"].Wrong)
	}
	if err := behind.take(t.Context(), takeover{from: behind.store.Owner()}); !errors.Is(err, wal.ErrShort) {
		t.Error(err)
	}
	if end, err := behind.log.End(t.Context(), logNumber); end != 0 || err != nil {
		t.Errorf("the log ends at %d: %v", end, err)
	}
}

// putBack is a log whose data became older while nodes ran. quiet: what they follow does not say so.
type putBack struct {
	wal.Log
	quiet bool
	began atomic.Bool // the first Follow
}

// Follow implements wal.Log.
func (r *putBack) Follow(ctx context.Context, log uint16, after uint64, fn func(position uint64, batch []byte) error) error {
	if r.quiet && !r.began.Swap(true) {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.Log.Follow(ctx, log, after, fn)
}

// TestShortWhileFollowing checks that a standby which learns that the log lacks batches that it has, from the log or
// because its own state there is another, says so and writes it into the log before it ends.
func TestShortWhileFollowing(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		before, after := waltest.NewTape(), waltest.NewTape()
		dir := filled(t, "base")
		n := aNode(t, before, "b", dir)
		c := wal.Cluster{ID: "c", Hard: journal.HardSettings(agreedISPB)}
		c.Base, _, c.BaseSum = n.store.Head()
		for _, tape := range []*waltest.Tape{before, after} {
			if _, err := tape.Log().Found(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		at, batch, err := n.store.OwnBatch(wal.Owner{Name: "x", Run: "x1"})
		if err := errors.Join(err, fits(n.store, c, c.Hard), n.store.Apply(at+1, batch)); err != nil {
			t.Fatal(err)
		}
		log := &putBack{Log: after.Log(), quiet: quiet}
		n.log, n.cluster = log, c
		s := &Served{
			config: engine.Config{DataDir: dir, ISPB: agreedISPB, Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "b", SnapshotOn: OnStandby},
			log: log, elapsed: n.elapsed, meters: newMeters(),
		}
		if err := s.newMaker(n); err != nil {
			t.Fatal(err)
		}
		s.node.Store(n)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.run(ctx); !errors.Is(err, wal.ErrShort) || !strings.Contains(err.Error(), "this node has batch 2 of cluster c, and the log ends at 1") {
			t.Errorf("quiet %v: %v", quiet, err)
		}
		all, err := after.Log().Nodes(t.Context())
		if err != nil || len(all) != 1 || !strings.Contains(string(all[0].State), "and the log ends at 1") {
			t.Errorf("quiet %v: the log says of the nodes %v, %v", quiet, all, err)
		}
	}
}

// TestNameTakenWhileFollowing checks that a standby whose name another process has taken says that, where the log has all
// that it has.
func TestNameTakenWhileFollowing(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "b", t.TempDir())
	_, err := n.log.Found(t.Context(), wal.Cluster{ID: "c"})
	at, batch, err1 := n.store.OwnBatch(wal.Owner{Name: "x", Run: "x1"})
	if err := errors.Join(err, err1, n.log.Append(t.Context(), logNumber, at, batch), n.store.Apply(at+1, batch)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.log.Node(t.Context(), n.version, []byte(`{"run":"b2"}`)); err != nil {
		t.Fatal(err)
	}
	s := &Served{config: engine.Config{Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "b"}, log: n.log, elapsed: n.elapsed, meters: newMeters()}
	if err := s.newMaker(n); err != nil {
		t.Fatal(err)
	}
	s.node.Store(n)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if again, err := s.live(ctx); again || !errors.Is(err, errTaken) {
		t.Error(again, err)
	}
}

// TestClocksOfAll checks that an owner asks the nodes that the log has, which its own list may lack, for their clocks.
func TestClocksOfAll(t *testing.T) {
	joined := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == helloPath {
			_, _ = w.Write([]byte(`{"node":"d","peers":"","log":"","clock":7}`))
		}
	}))
	defer joined.Close()
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	n.seen = seenNodes{}
	for name, url := range map[string]string{"a": "http://a", "d": joined.URL} {
		is := seen{state: state{URL: url}}
		is.Name = name
		n.seen[name] = is
	}
	s := &Served{flags: Flags{Node: "a"}, peers: []peer{{"a", "http://a"}}}
	if all := s.newKeeper(n, nil).ask(t.Context()); len(all) != 1 || all[0].name != "d" || all[0].err != nil || all[0].said.Clock != 7 {
		t.Errorf("%+v", all)
	}
}

// trimmed is a log that lacks the batches which a node needs next.
type trimmed struct{ wal.Log }

// Follow implements wal.Log.
func (trimmed) Follow(context.Context, uint16, uint64, func(uint64, []byte) error) error {
	return wal.ErrTrimmed
}

// TestJoiningWhileCopying checks that a node which has to copy the journal, because the log no longer has what it lacks,
// is no standby meanwhile: the owner would hand the log over to it, and all would wait for snapshots that it does not make.
func TestJoiningWhileCopying(t *testing.T) {
	dir := t.TempDir()
	n := aNode(t, waltest.NewTape(), "b", dir)
	n.log = trimmed{n.log}
	s := &Served{
		config: engine.Config{DataDir: dir, Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "b"}, log: n.log, elapsed: n.elapsed, meters: newMeters(),
	}
	if err := s.newMaker(n); err != nil {
		t.Fatal(err)
	}
	s.node.Store(n)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.live(ctx)
		ended <- err
	}()
	told := ""
	for until := time.Now().Add(5 * time.Second); !strings.Contains(told, `"role":"joining"`) && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if all, err := n.log.Nodes(t.Context()); err == nil && len(all) == 1 && n.renewed() {
			told = string(all[0].State)
		}
	}
	if !strings.Contains(told, `"role":"joining"`) || n.follows() {
		t.Errorf("the log says of it: %s", told)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !n.lease.lost() {
		t.Error("whoever waits until the node is certain waits on")
	}
}

// renewed reports whether a node has renewed its state since it registered.
func (n *node) renewed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.self.Beat > 2
}
