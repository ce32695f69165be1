package wal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errDiskGone = errors.New("the disk is gone")

// TestLookWaits checks that Look returns only after the sync of the entries that its view
// has shown, returns at once where everything is durable, and returns the error of read.
func TestLookWaits(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := memStore(t, Options{FS: gate, AnchorEvery: time.Hour})
	first := make(chanOut, 1)
	s.Append(counted(1, first))
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	sees := func(n uint64) func(*View) error {
		return func(v *View) error {
			if got := newestIn(t, v); got < n {
				return errTooEarly
			}
			return nil
		}
	}
	if err := s.Look(1, sees(1)); err != nil {
		t.Errorf("at rest: %v", err)
	}
	if err := s.Look(1, sees(2)); !errors.Is(err, errTooEarly) {
		t.Errorf("the read's own error: %v", err)
	}
	gate.shut()
	s.Append(counted(2))
	looked := make(chan error, 1)
	go func() {
		err := errTooEarly
		for errors.Is(err, errTooEarly) {
			err = s.Look(1, sees(2))
		}
		looked <- err
	}()
	await(t, "the sync", func() bool { return gate.waiting.Load() > 0 })
	select {
	case err := <-looked:
		t.Errorf("told before the sync: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	gate.open()
	if err := <-looked; err != nil {
		t.Error(err)
	}
}

var errTooEarly = errors.New("not shown yet")

// TestLookOfOtherStreams checks that Look waits for entries of its own stream alone, and with
// stream 0 for all of them.
func TestLookOfOtherStreams(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := memStore(t, Options{FS: gate, AnchorEvery: time.Hour})
	nothing := func(*View) error { return nil }
	gate.shut()
	first := counted(1)
	s.Append(first)
	await(t, "the sync", func() bool { return gate.waiting.Load() > 0 })
	s.Append(counted(2)) // waits behind the batch in work
	waits := make(chan error, 2)
	for _, stream := range []Stream{0, first.Stream} {
		go func() { waits <- s.Look(stream, nothing) }()
	}
	if err := s.Look(first.Stream+1, nothing); err != nil {
		t.Error(err)
	}
	select {
	case err := <-waits:
		t.Errorf("told before the sync: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	gate.open()
	for range 2 {
		if err := <-waits; err != nil {
			t.Error(err)
		}
	}
	await(t, "rest", func() bool { return s.atRest(first.Stream) })
	if len(s.newest) != 0 {
		t.Errorf("%d streams have unfinished entries", len(s.newest))
	}
}

// TestLookWaitsForTheNewest checks that Look waits for all entries of its stream, also where an
// earlier one has become durable meanwhile.
func TestLookWaitsForTheNewest(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := memStore(t, Options{FS: gate, AnchorEvery: time.Hour})
	gate.shut()
	first := make(chanOut, 1)
	s.Append(counted(1, first))
	await(t, "the first sync", func() bool { return gate.waiting.Load() == 1 })
	s.Append(counted(2)) // it waits behind the batch in work
	gate.open()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	await(t, "rest", func() bool { return s.atRest(1) })
	w := &writer{s: s, m: NewMachine(Head{}), pending: []*Entry{counted(3), counted(4)}}
	s.newest[1] = s.Durable() + 2
	w.publish(1)
	if s.atRest(1) {
		t.Error("at rest with the second of two entries in work")
	}
	w.pending = w.pending[1:]
	w.publish(1)
	if !s.atRest(1) {
		t.Error("not at rest with every entry durable")
	}
}

// TestLookEnds checks that Look returns an error where the journal has failed or was
// closed.
func TestLookEnds(t *testing.T) {
	nothing := func(*View) error { return nil }
	failed := mustOpen(t, Options{Dir: harnessDir, FS: vfs.NewMem(), OnFailure: func(error) {}})
	failed.fail.fail(errDiskGone)
	if err := failed.Look(1, nothing); !errors.Is(err, errDiskGone) {
		t.Errorf("after a failure: %v", err)
	}
	out := make(chanOut, 1)
	if failed.Tell(1, []Out{out}); len(out) != 0 {
		t.Error("something was told after a failure")
	}
	_ = failed.Close()

	// The view has shown an entry that is not durable when the store begins to close.
	gate := newSyncGate(vfs.NewMem())
	closed := mustOpen(t, Options{Dir: harnessDir, FS: gate, AnchorEvery: time.Hour})
	gate.shut()
	closed.Append(counted(1))
	ended := make(chan error, 1)
	looked := make(chan error, 1)
	go func() {
		looked <- closed.Look(1, func(*View) error {
			go func() { ended <- closed.Close() }()
			await(t, "the end", func() bool {
				closed.mu.Lock()
				defer closed.mu.Unlock()
				return closed.closing
			})
			return nil
		})
	}()
	select {
	case err := <-looked:
		t.Errorf("told before the sync: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	gate.open()
	if err := <-looked; !errors.Is(err, ErrClosed) {
		t.Errorf("closed meanwhile: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := closed.Look(1, func(v *View) error { _, _, err := v.Get([]byte("a")); return err }); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestWriteRows checks that WriteRows returns only after the sync of its rows, takes a position only
// for shared rows, and returns an error where the journal has failed or was closed.
func TestWriteRows(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := mustOpen(t, Options{Dir: harnessDir, FS: gate, AnchorEvery: time.Hour, OnFailure: func(error) {}})
	for _, shared := range []bool{Local, Shared} {
		before, _, _ := s.Head()
		gate.shut()
		wrote := make(chan error, 1)
		go func() {
			wrote <- s.WriteRows(shared, Op{Kind: OpSet, Key: MetaKey("one"), Value: []byte("1")}, Op{Kind: OpSet, Key: MetaKey("two"), Value: []byte("2")})
		}()
		await(t, "the sync", func() bool { return gate.waiting.Load() > 0 })
		select {
		case err := <-wrote:
			t.Errorf("returned before the sync: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		gate.open()
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		if v, ok, err := s.Get(MetaKey("two")); string(v) != "2" || !ok || err != nil {
			t.Errorf("%q %v %v", v, ok, err)
		}
		if after, _, _ := s.Head(); (after > before) != (shared == Shared) {
			t.Errorf("shared %v: position %d, was %d", shared, after, before)
		}
	}
	failed := mustOpen(t, Options{Dir: harnessDir + "2", FS: vfs.NewMem(), OnFailure: func(error) {}})
	failed.fail.fail(errDiskGone)
	if err := failed.WriteRows(Local); !errors.Is(err, errDiskGone) {
		t.Errorf("after a failure: %v", err)
	}
	_ = failed.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteRows(Local); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestTellStops checks that, where the journal fails during the release of the first Out,
// Tell does not release the second one.
func TestTellStops(t *testing.T) {
	s := mustOpen(t, Options{Dir: harnessDir, FS: vfs.NewMem(), OnFailure: func(error) {}})
	second := make(chanOut, 1)
	s.Tell(7, []Out{failing{s}, second})
	if len(second) != 0 {
		t.Error("told after a failure")
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), errDiskGone.Error()) {
		t.Errorf("close: %v", err)
	}
}

// failing is an Out whose Release makes the journal fail.
type failing struct{ s *Store }

// Release implements Out.
func (f failing) Release(error) { f.s.fail.fail(errDiskGone) }
