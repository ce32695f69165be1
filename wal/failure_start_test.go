package wal

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// TestFailedStart lets a store fail while it is being opened for writing, and a read is in hand: Pebble must stay open
// under that read.
func TestFailedStart(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	broken, release, read := errors.New("the disk is gone"), make(chan struct{}), make(chan error, 1)
	var s *Store
	o := Options{Dir: harnessDir, FS: fs, CacheBytes: 1 << 20, MemTableBytes: 1 << 20}.withDefaults()
	once := false
	o.ReadFault = func() error {
		if once || !calledBy("raiseFormat") {
			return nil
		}
		once = true
		s.fail.fail(broken)
		<-release
		go func() {
			defer func() {
				if r := recover(); r != nil {
					read <- errors.New("pebble was closed under the read")
				}
			}()
			_, _, err := s.db.Get([]byte("absent"))
			read <- err
		}()
		return nil
	}
	anchor, err := prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	s = &Store{opts: o, fail: newFailure(), notes: &flushNotes{}, readers: newReaders(), newest: map[Stream]Ticket{}}
	if err := s.inspect(anchor); err != nil {
		t.Fatal(err)
	}
	if err := s.start(anchor); !errors.Is(err, broken) {
		t.Errorf("start returned %v, want %v", err, broken)
	}
	time.Sleep(50 * time.Millisecond) // for whatever might close Pebble
	close(release)
	if err := <-read; !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("the read got %v, want %v", err, pebble.ErrNotFound)
	}
}

// calledBy reports whether a function of the name is among the callers.
func calledBy(name string) bool {
	var pc [32]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "."+name) {
			return true
		}
		if !more {
			return false
		}
	}
}
