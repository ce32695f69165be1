package wal_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/wal"
	"pixd/wal/waltest"
)

// TestSharedUncertainAmongWrites checks that what waits behind a write that takes no place in the log is not released by a
// node which is not certain to be the owner.
func TestSharedUncertainAmongWrites(t *testing.T) {
	a := openShared(t, waltest.NewTape(), "a", vfs.NewMem())
	a.own()
	a.mustAppend(1)
	a.lost.Store(true)
	read := make(out, 1)
	a.store.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("local"), Value: []byte("1")}}, Out: []wal.Out{read}})
	select {
	case err := <-read:
		t.Error("released:", err)
	case err := <-a.fell:
		if err == nil {
			t.Error("it fell for no reason")
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing came of it")
	}
}

// TestSharedCloseCut cuts the power after each write of a node's Close: the anchor never names a batch that is lost.
func TestSharedCloseCut(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.mustAppend(5)
	fs := vfs.NewCrashableMem()
	b := openShared(t, tape, "b", fs)
	_ = b.store.Close()
	var mu sync.Mutex
	var cuts []*vfs.MemFS
	o := sharedOptions(b)
	o.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			cuts = append(cuts, fs.CrashClone(vfs.CrashCloneCfg{}))
			mu.Unlock()
		}
		return nil
	}))
	s, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	b.store = s
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	cuts = nil
	mu.Unlock()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, left := range append(cuts, fs.CrashClone(vfs.CrashCloneCfg{})) {
		o.FS = left
		again, err := wal.Open(o)
		if err != nil {
			t.Fatalf("a cut before write %d of %d: %v", i, len(cuts), err)
		}
		_ = again.Close()
	}
}

// TestLeftClusterHasNoOwner checks that a store which has left its cluster keeps nothing of it.
func TestLeftClusterHasNoOwner(t *testing.T) {
	a := openShared(t, waltest.NewTape(), "a", vfs.NewMem())
	a.own()
	a.mustAppend(3)
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	o := sharedOptions(a)
	o.Shared, o.LeaveCluster = false, true
	s, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.LeaveCluster, o.Shared = false, true
	if s, err = wal.Open(o); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if o := s.Owner(); o.Name != "" || o.Run != "" {
		t.Errorf("the owner is still %+v", o)
	}
}

// deaf is a log that does not take its first batches.
type deaf struct {
	wal.Log
	left atomic.Int64 // how many tries
}

// Append implements wal.Log.
func (d *deaf) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	if d.left.Add(-1) >= 0 {
		return errors.New("deaf")
	}
	return d.Log.Append(ctx, log, after, batch)
}

// TestSharedWarnsOnce checks that a log which does not take a batch for a second is told of once, and has it in the end.
func TestSharedWarnsOnce(t *testing.T) {
	var log bytes.Buffer
	a := openShared(t, waltest.NewTape(), "a", vfs.NewMem())
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	o := sharedOptions(a)
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	var err error
	if a.store, err = wal.Open(o.WithPatience(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	to := &deaf{Log: a.reel}
	to.left.Store(40)
	a.to = to
	a.own()
	a.mustAppend(1)
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "does not take a batch"); n != 1 || to.left.Load() >= 0 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}
