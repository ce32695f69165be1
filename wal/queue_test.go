package wal

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lazy is a lazy entry with a row, and a channel that gets its result.
func lazy(key string) (*Entry, chanOut) {
	done := make(chanOut, 1)
	return &Entry{Stream: 1, Ops: []Op{{OpSet, []byte(key), []byte("x")}}, Shared: true, Lazy: true, Out: []Out{done}}, done
}

// waits checks that a lazy entry has not been written: it is not durable, and nothing of it shows.
func waits(t *testing.T, s *Store, ticket Ticket, done chanOut) {
	t.Helper()
	time.Sleep(20 * time.Millisecond)
	if s.Durable() >= ticket || len(done) > 0 {
		t.Errorf("the lazy entry %d was written by itself: durable is %d", ticket, s.Durable())
	}
}

// mustRelease waits until an entry is durable.
func mustRelease(t *testing.T, done chanOut) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("an entry was never written")
	}
}

// TestLazyEntriesJoin checks that lazy entries wait for what clients wait for, and become
// part of its batch: a write, a read, and a view of their stream.
func TestLazyEntriesJoin(t *testing.T) {
	s := memStore(t, Options{lazyDelay: time.Hour})
	for n, join := range []func(){
		func() {
			done := make(chanOut, 1)
			s.Append(&Entry{Stream: 2, Ops: []Op{{OpSet, []byte("prompt"), nil}}, Shared: true, Out: []Out{done}})
			mustRelease(t, done)
		},
		func() {
			done := make(chanOut, 1)
			s.Append(&Entry{Stream: 2, Out: []Out{done}})
			mustRelease(t, done)
		},
		func() {
			if err := s.Look(1, func(*View) error { return nil }); err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := s.Look(0, func(*View) error { return nil }); err != nil {
				t.Error(err)
			}
		},
	} {
		before, _, _ := s.Head()
		one, first := lazy("a")
		two, second := lazy("b")
		s.Append(one)
		ticket := s.Append(two)
		waits(t, s, ticket, second)
		join()
		mustRelease(t, first)
		mustRelease(t, second)
		if after, _, _ := s.Head(); after != before+1 {
			t.Errorf("%d: %d batches", n, after-before)
		}
	}
}

// TestLazyEntryAlone checks that a lazy entry that no other one takes along is written after the
// delay, more than once, and by Close.
func TestLazyEntryAlone(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	for range 3 {
		e, done := lazy("a")
		s.Append(e)
		mustRelease(t, done)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Dir: harnessDir, FS: fs, lazyDelay: time.Hour})
	e, done := lazy("b")
	waits(t, s, s.Append(e), done)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, done)
	s = memStore(t, Options{FS: fs})
	if _, ok, err := s.Get([]byte("b")); !ok || err != nil {
		t.Errorf("after Close: %v, %v", ok, err)
	}
}

// TestLazyEntriesThatWaitForTheWriter checks that lazy entries appended while a batch is being
// synced still wait afterwards.
func TestLazyEntriesThatWaitForTheWriter(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := memStore(t, Options{FS: gate, AnchorEvery: time.Hour, lazyDelay: time.Hour})
	prompt := make(chanOut, 1)
	gate.shut()
	s.Append(counted(1, prompt))
	await(t, "the sync", func() bool { return gate.waiting.Load() > 0 })
	e, done := lazy("a")
	ticket := s.Append(e)
	gate.open()
	mustRelease(t, prompt)
	waits(t, s, ticket, done)
}
