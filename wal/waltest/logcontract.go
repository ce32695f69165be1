package waltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"pixd/wal"
)

// T is what the contract needs of testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// LogCase is one test of the contract of wal.Log. Run gets a function that opens another connection
// to a log in which no cluster was founded, and closes it after the test.
type LogCase struct {
	Name string
	Run  func(t T, open func() wal.Log)
}

// LogContract returns the tests that every body of wal.Log must pass.
func LogContract() (all []LogCase) {
	for _, c := range []struct {
		name string
		run  func(*logBench)
	}{
		{"nothing works before a cluster is founded", notFounded},
		{"a cluster is founded once", foundsOnce},
		{"batches are appended in order", appendsInOrder},
		{"a batch behind another position is refused and changes nothing", refusesOtherPosition},
		{"a batch that is there already is appended", appendsAgain},
		{"a batch of 4 MiB is kept", keepsLargeBatch},
		{"of several writers at one position one succeeds", oneWriterSucceeds},
		{"logs do not meet", logsApart},
		{"a call whose context has ended is no answer", endedContext},
		{"taking a log deposes its owner", takeDeposes},
		{"taking a log from another version of a node changes nothing", takeRefusesOtherVersion},
		{"taking a log behind another position changes nothing", takeRefusesOtherPosition},
		{"taking a log again with the same batch succeeds", takesAgain},
		{"taking a log from nobody, or from a node that was never written", takesFromNobody},
		{"a node is written by its version", nodeByVersion},
		{"a node's writing that is there already succeeds", nodeAgain},
		{"nodes are listed by name", listsNodes},
		{"a node leaves, and comes back with a larger version", nodeLeaves},
		{"a follower gets every batch once, in order", followsAll},
		{"a follower waits for batches", followWaits},
		{"a follower far behind catches up while batches come", followCatchesUp},
		{"a follower's error and its context end it", followEnds},
		{"a follower's bytes are its own", followBytes},
		{"a follower that is longer than the log is told", followShort},
		{"trimmed batches are gone, those behind them are not", trims},
		{"trimming keeps the newest batch", trimKeepsNewest},
		{"trimming a log leaves others alone", trimLeavesOthers},
		{"the size is within what it may be", sizes},
		{"calls fail after closing", closes},
	} {
		all = append(all, LogCase{c.name, func(t T, open func() wal.Log) { c.run(newLogBench(t, open)) }})
	}
	return all
}

// logBase is the base of the contract's clusters.
const logBase = 41

// logBench is what the contract's tests work with.
type logBench struct {
	T
	wal.Log
	open func() wal.Log
	ctx  context.Context
}

// logPatience is how long one test may take.
const logPatience = 20 * time.Second

func newLogBench(t T, open func() wal.Log) *logBench {
	ctx, cancel := context.WithTimeout(t.Context(), logPatience)
	context.AfterFunc(t.Context(), cancel)
	return &logBench{t, open(), open, ctx}
}

// founded founds the cluster.
func (b *logBench) founded() {
	b.Helper()
	_, err := b.Found(b.ctx, wal.Cluster{ID: "c", Base: logBase})
	b.must(err)
}

func (b *logBench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%v", err)
	}
}

func (b *logBench) wants(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("error %v, want %v", err, want)
	}
}

// filled founds the cluster and appends n batches to log 0.
func (b *logBench) filled(n int) {
	b.Helper()
	b.founded()
	for i := range n {
		b.must(b.Append(b.ctx, 0, logBase+uint64(i), batch(logBase+uint64(i)+1)))
	}
}

// batch returns the bytes that filled appends at a position.
func batch(position uint64) []byte { return fmt.Appendf(nil, "batch %d", position) }

// ends checks where a log ends.
func (b *logBench) ends(log uint16, want uint64) {
	b.Helper()
	end, err := b.open().End(b.ctx, log)
	b.must(err)
	if end != want {
		b.Fatalf("log %d ends at %d, want %d", log, end, want)
	}
}

var errEnough = errors.New("that is enough")

// reads follows log 0 from after to to on a connection of its own and checks each batch.
func (b *logBench) reads(after, to uint64) {
	b.Helper()
	next := after
	err := b.open().Follow(b.ctx, 0, after, func(position uint64, got []byte) error {
		if next++; position != next || !bytes.Equal(got, batch(position)) {
			return fmt.Errorf("position %d: %.40q, want position %d: %q", position, got, next, batch(next))
		}
		if position == to {
			return errEnough
		}
		return nil
	})
	b.wants(err, errEnough)
}

// node returns a node as it is listed.
func (b *logBench) node(name string) wal.NodeState {
	b.Helper()
	all, err := b.open().Nodes(b.ctx)
	b.must(err)
	for _, n := range all {
		if n.Name == name {
			return n
		}
	}
	return wal.NodeState{}
}
