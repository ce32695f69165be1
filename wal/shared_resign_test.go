package wal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/wal"
	"pixd/wal/waltest"
)

// lateLog is a log whose answers to appends are held back.
type lateLog struct {
	wal.Log
	came chan struct{} // receives a value when the log has taken a batch
	hold chan struct{} // closed: answers are given
}

// Append implements wal.Log.
func (l *lateLog) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	err := l.Log.Append(ctx, log, after, batch)
	l.came <- struct{}{}
	<-l.hold
	return err
}

// TestSharedResignedReads checks that a copy which hands over answers no read any more, although it does
// not know yet that the log has another owner.
func TestSharedResignedReads(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	late := &lateLog{Log: a.reel, came: make(chan struct{}, 1), hold: make(chan struct{})}
	after, batch, err := a.store.OwnBatch(wal.Owner{Name: "a", Run: "a1"})
	if err == nil {
		err = a.reel.Take(t.Context(), 0, after, wal.NodeVersion{}, batch)
	}
	if err == nil {
		err = a.follow()
	}
	if err == nil {
		err = a.store.Lead(wal.Lead{Log: late, Certain: func() bool { return true }}) // it still renews itself
	}
	if err != nil {
		t.Fatal(err)
	}
	resigned := make(chan error, 1)
	go func() { resigned <- a.store.Resign("b") }()
	<-late.came
	b.own()
	b.mustAppend(3)
	looked := make(chan error, 1)
	go func() {
		looked <- a.store.Look(7, func(v *wal.View) error {
			_, _, err := v.Get([]byte("r2"))
			return err
		})
	}()
	select {
	case err := <-looked:
		t.Error("the former owner has answered a read:", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(late.hold)
	if err := <-resigned; err != nil {
		t.Error(err)
	}
	if err := a.store.Close(); err != nil {
		t.Error(err)
	}
	if err := <-looked; err == nil {
		t.Error("the read succeeded")
	}
}

// TestSharedTooLarge appends an entry that no log takes: it panics, and the journal goes on.
func TestSharedTooLarge(t *testing.T) {
	t.Parallel()
	c := openShared(t, waltest.NewTape(), "a", vfs.NewMem())
	c.own()
	row := func(bytes int) *wal.Entry {
		return &wal.Entry{Shared: true, Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("k"), Value: make([]byte, bytes)}}}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an entry of more than 4 MiB was taken")
			}
		}()
		c.store.Append(row(4 << 20))
	}()
	out := make(chan error, 1)
	e := row(4<<20 - 1)
	e.Out = []wal.Out{reply(out)}
	c.store.Append(e)
	if err := <-out; err != nil {
		t.Fatal(err)
	}
}

// TestSharedResignsOnce checks that a store which has resigned, or is closed, does not resign again, and
// can be closed.
func TestSharedResignsOnce(t *testing.T) {
	c := openShared(t, waltest.NewTape(), "a", vfs.NewMem())
	c.own()
	c.mustAppend(1)
	if err := c.store.Resign("b"); err != nil {
		t.Fatal(err)
	}
	if err := c.store.Resign("b"); !errors.Is(err, wal.ErrClosed) {
		t.Error(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- c.store.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close does not end")
	}
	if err := c.store.Resign("b"); !errors.Is(err, wal.ErrClosed) {
		t.Error(err)
	}
}

// TestSharedLevel checks that a store may own a log of its own level, and not one that has a later level.
func TestSharedLevel(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	a.own()
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	if !a.store.MayOwn() || !b.store.MayOwn() || b.store.Owner().Level != wal.Level() {
		t.Errorf("level %d of %d", b.store.Owner().Level, wal.Level())
	}
	after, batch, err := b.store.OwnBatchOf(wal.Owner{Name: "new", Run: "n1", Level: wal.Level() + 1})
	if err == nil {
		err = b.reel.Take(t.Context(), 0, after, wal.NodeVersion{}, batch)
	}
	if err == nil {
		err = b.follow()
	}
	if err != nil || b.store.MayOwn() {
		t.Errorf("it may own level %d (%v)", b.store.Owner().Level, err)
	}
}
