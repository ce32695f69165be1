package wal

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"
)

// memStore opens a store on a file system in memory, which is closed at the end of the
// test.
func memStore(t testing.TB, opts Options) *Store {
	t.Helper()
	opts.Dir = harnessDir
	if opts.FS == nil {
		opts.FS = vfs.NewMem()
	}
	s := mustOpen(t, opts)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// count is an Out that counts the releases without an error.
type count struct{ n atomic.Int64 }

func (c *count) Release(err error) {
	if err == nil {
		c.n.Add(1)
	}
}

func TestCloseDrains(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fs := vfs.NewMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	var c count
	for i := range 5000 {
		s.Append(&Entry{Ops: []Op{{OpSet, rowKey(i, 0), nil}}, Out: []Out{&c}})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c.n.Load() != 5000 {
		t.Errorf("released %d of 5000", c.n.Load())
	}
	before := s.Submitted()
	if got := s.Append(&Entry{Out: []Out{&c}}); got <= s.Durable() || s.Submitted() != before || c.n.Load() != 5000 {
		t.Error("something was queued after Close, or counts as durable")
	}
	s = mustOpen(t, Options{Dir: harnessDir, FS: fs})
	if _, ok, err := s.Get(rowKey(4999, 0)); !ok || err != nil {
		t.Error(ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAppendDoesNotWait checks that Append returns while the disk is blocked.
func TestAppendDoesNotWait(t *testing.T) {
	var stuck atomic.Bool
	free := make(chan struct{})
	fs := onWrite(vfs.NewMem(), func(errorfs.Op) error {
		if stuck.Load() {
			<-free
		}
		return nil
	})
	s := memStore(t, Options{FS: fs, AnchorEvery: time.Hour})
	var c count
	stuck.Store(true)
	for i := range 1000 {
		s.Append(&Entry{Ops: []Op{{OpSet, rowKey(i, 0), nil}}, Out: []Out{&c}})
	}
	s.Append(&Entry{Out: []Out{&c}})
	time.Sleep(5 * time.Millisecond)
	if n, d := c.n.Load(), s.Durable(); n != 0 || d != 0 {
		t.Errorf("released %d, durable %d, with nothing synced", n, d)
	}
	stuck.Store(false)
	close(free)
	for c.n.Load() < 1001 {
		time.Sleep(time.Millisecond)
	}
}

// TestAnchorFollows checks that, while the store is open, the anchor is at most AnchorEvery
// behind the newest batch.
func TestAnchorFollows(t *testing.T) {
	fs := vfs.NewMem()
	s := memStore(t, Options{FS: fs, AnchorEvery: time.Millisecond})
	w := newHarness(3)
	if err := w.run(s, 40); err != nil {
		t.Fatal(err)
	}
	want, _, sum := s.Head()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		a, ok, err := readAnchor(fs, harnessDir)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if a.at.Position == want && a.at.Sum == sum {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("anchor at %d, journal at %d", a.at.Position, want)
		}
	}
}

// TestMarkFollows checks that the verified mark moves on after flushes, so that an open
// after a crash has to verify few batches.
func TestMarkFollows(t *testing.T) {
	opts := smallOptions()
	s := memStore(t, opts)
	w := newHarness(4)
	for range 200 {
		if err := w.run(s, 50); err != nil {
			t.Fatal(err)
		}
		v, ok, err := get(s.source(), metaKey(markName))
		if err != nil {
			t.Fatal(err)
		}
		if mark, _ := decodeMark(v); ok && mark.Position > 0 {
			if at, err := s.batchHead(mark.Position); err != nil || at != mark {
				t.Errorf("mark %+v, batch %+v, %v", mark, at, err)
			}
			return
		}
	}
	t.Error("the mark never moved")
}

// TestCorruptStream checks that a read reports damage in one stream, with stream and
// sequence, while the store is running, and that other streams still work.
func TestCorruptStream(t *testing.T) {
	s := memStore(t, Options{})
	w := newHarness(8)
	if err := w.run(s, 60); err != nil {
		t.Fatal(err)
	}
	r, ok, err := s.Record(2, 3)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	bad := Seal(1, Record{Stream: 2, Seq: 3, Kind: r.Kind, Time: r.Time, Body: r.Body})
	if err := s.db.Set(keyOf(s.db, 2, 3), bad.Value, nil); err != nil {
		t.Fatal(err)
	}
	var d *Damage
	read := 0
	err = s.Read(2, 1, 0, func(Record) error { read++; return nil })
	if !errors.As(err, &d) || d.Stream != 2 || d.Seq != 3 || read != 2 {
		t.Errorf("read %d, then %v", read, err)
	}
	if _, _, err := s.Record(2, 3); !errors.As(err, &d) {
		t.Error(err)
	}
	if err := s.Read(1, 1, 0, func(Record) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := w.run(s, 1); err != nil {
		t.Error(err)
	}
}

// TestConcurrentAppends checks that entries which many goroutines append are all written,
// without gaps in their streams, and that an entry appended after a view is released only
// once the view's ticket is durable.
func TestConcurrentAppends(t *testing.T) {
	s := memStore(t, Options{AnchorEvery: time.Millisecond})
	done := make(chan error, 8)
	for g := range Stream(8) {
		go func() {
			var at tail
			out := make(chan error, 1)
			for range 300 {
				e := &Entry{Stream: g, Expect: at.seq, Out: []Out{chanOut(out)}}
				e.Records = sealedRun(g, &at, 1, 20)
				s.Append(e)
				if err := <-out; err != nil {
					done <- err
					return
				}
				v := s.View()
				s.Append(&Entry{Out: []Out{chanOut(out)}})
				if err := <-out; err != nil {
					done <- err
					return
				}
				if s.Durable() < v.Ticket() {
					done <- fmt.Errorf("released before %d was durable", v.Ticket())
				}
				_ = v.Close()
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if rep, err := s.Verify(nil, nil); err != nil || rep.Records != 2400 || rep.Streams != 8 {
		t.Errorf("%+v %v", rep, err)
	}
}

type chanOut chan error

func (c chanOut) Release(err error) { c <- err }

// TestCheckpoint checks that a checkpoint made during appends can be opened as a store, and
// that a checkpoint that fails leaves the original store usable.
func TestCheckpoint(t *testing.T) {
	fs := vfs.NewMem()
	var full atomic.Bool
	s := memStore(t, Options{FS: onWrite(fs, func(op errorfs.Op) error {
		if full.Load() && strings.HasPrefix(op.Path, "/copy") {
			return syscall.ENOSPC
		}
		return nil
	})})
	w := newHarness(11)
	if err := w.run(s, 50); err != nil {
		t.Fatal(err)
	}
	released := w.releasedCount()
	position, _, sum, err := s.Checkpoint("/copy/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.run(s, 50); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, Options{Dir: "/copy/1", FS: fs})
	if _, err := w.survivors(c, released); err != nil {
		t.Error(err)
	}
	if rep, err := c.Verify(nil, nil); err != nil || rep.Position != position || rep.Sum != sum {
		t.Errorf("%+v %v", rep, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.Checkpoint("/copy/1"); err == nil {
		t.Error("wrote over a copy")
	}
	full.Store(true)
	if _, _, _, err := s.Checkpoint("/copy/2"); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := w.run(s, 5); err != nil || s.Err() != nil {
		t.Error(err, s.Err())
	}
}

// TestCheckpointFails fails each kind of write of Pebble's part of a checkpoint: the checkpoint returns the error, and the
// store goes on.
func TestCheckpointFails(t *testing.T) {
	fs := vfs.NewMem()
	var fails atomic.Int64 // a kind of operation
	var failed atomic.Bool
	s := memStore(t, Options{FS: onWrite(fs, func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "/copy") && strings.Contains(op.Path, "/"+storeName) && op.Kind == errorfs.OpKind(fails.Load()) {
			failed.Store(true)
			return syscall.ENOSPC
		}
		return nil
	})})
	w := newHarness(13)
	if err := errors.Join(w.run(s, 50), s.db.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpMkdirAll, errorfs.OpFileWrite, errorfs.OpFileSync} {
		fails.Store(int64(kind))
		failed.Store(false)
		ended := make(chan error, 1)
		go func() {
			_, _, _, err := s.Checkpoint(fmt.Sprint("/copy/", int(kind)))
			ended <- err
		}()
		select {
		case err := <-ended:
			if failed.Load() != errors.Is(err, syscall.ENOSPC) {
				t.Errorf("kind %d: %v, a write failed: %v", kind, err, failed.Load())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("kind %d: the checkpoint does not return", kind)
		}
		if !failed.Load() {
			t.Errorf("kind %d: there is no such write", kind)
		}
		if err := w.run(s, 5); err != nil || s.Err() != nil {
			t.Fatal(err, s.Err())
		}
	}
}

// TestCheckpointAmongCommits checks that the anchor of a checkpoint does not name a batch
// that was committed while the copy was made, because the copy may lack such a batch.
func TestCheckpointAmongCommits(t *testing.T) {
	fs := vfs.NewMem()
	var copying atomic.Bool // atomic, because Pebble removes files on a goroutine of its own
	var during func()
	s := memStore(t, Options{FS: onWrite(fs, func(op errorfs.Op) error {
		if copying.Load() && strings.HasPrefix(op.Path, "/copy/") {
			during()
		}
		return nil
	})})
	w := newHarness(12)
	if err := w.run(s, 20); err != nil {
		t.Fatal(err)
	}
	before := s.durableHead()
	sum, seq := uint64(0), uint64(0)
	during = func() { // called at each write of the copy
		seq++
		done := make(chanOut, 1)
		sealed := Seal(sum, Record{Stream: 1 << 40, Seq: seq, Kind: 1, Time: before.Time, Body: []byte("later")})
		sum = sealed.Sum
		s.Append(&Entry{Stream: 1 << 40, Expect: seq - 1, Records: []Sealed{sealed}, Out: []Out{done}})
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	copying.Store(true)
	position, _, _, err := s.Checkpoint("/copy/1")
	copying.Store(false)
	if err != nil || seq < 3 || position != before.Position {
		t.Fatalf("position %d, was at %d, %d commits meanwhile, %v", position, before.Position, seq, err)
	}
	c := mustOpen(t, Options{Dir: "/copy/1", FS: fs})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
