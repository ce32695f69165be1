package wal

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCloseWaitsForReaders checks that Close waits for reads that have begun, that later
// reads are refused, and that the store stays open where a read does not end in time.
func TestCloseWaitsForReaders(t *testing.T) {
	for name, wait := range map[string]time.Duration{"in time": 50 * time.Millisecond, "not in time": time.Second} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			s := readable(t, func(err error) { failed <- err })
			inside, over := make(chan struct{}), make(chan error, 1)
			var late error
			var ended atomic.Bool
			go func() {
				over <- s.Scan(nil, nil, func([]byte, []byte) (bool, error) {
					close(inside)
					time.Sleep(wait)
					_, _, late = s.Get([]byte("a"))
					ended.Store(true)
					return false, nil
				})
			}()
			<-inside
			err := s.Close()
			if in := wait < s.opts.readPatience; in != (err == nil) || in != ended.Load() {
				t.Errorf("closed: %v, the read had ended: %v", err, ended.Load())
			}
			if err := <-over; err != nil || !errors.Is(late, ErrClosed) {
				t.Errorf("the read: %v, one within it: %v", err, late)
			}
			if len(failed) > 0 {
				t.Errorf("taken for a failure of the disk: %v", <-failed)
			}
		})
	}
}

// TestClosedRefusesReads checks that every method that reads returns ErrClosed after Close.
func TestClosedRefusesReads(t *testing.T) {
	s := readable(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v := s.View()
	all := func([]byte, []byte) (bool, error) { return true, nil }
	reads := map[string]func() error{
		"Get":         func() error { _, _, err := s.Get([]byte("a")); return err },
		"Scan":        func() error { return s.Scan(nil, nil, all) },
		"ScanBack":    func() error { return s.ScanBack(nil, nil, all) },
		"Read":        func() error { return s.Read(1, 1, 0, nil) },
		"Record":      func() error { _, _, err := s.Record(1, 1); return err },
		"Last":        func() error { _, _, err := s.Last(1); return err },
		"Meta":        func() error { _, _, err := s.Meta("a"); return err },
		"HardSetting": func() error { _, _, err := s.HardSetting("a"); return err },
		"Verify":      func() error { _, err := s.Verify(nil, nil); return err },
		"Checkpoint":  func() error { _, _, _, err := s.Checkpoint("copy"); return err },
		"View.Get":    func() error { _, _, err := v.Get([]byte("a")); return err },
		"View.Scan":   func() error { return v.Scan(nil, nil, all) },
		"View.Back":   func() error { return v.ScanBack(nil, nil, all) },
		"View.Read":   func() error { return v.Read(1, 1, 0, nil) },
	}
	for name, read := range reads {
		if err := read(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// readable is a store with a row in it.
func readable(t *testing.T, onFailure func(error)) *Store {
	t.Helper()
	s, err := Open(Options{
		Dir: "journal", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20, OnFailure: onFailure,
		readPatience: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	s.Append(&Entry{Ops: []Op{{Kind: OpSet, Key: []byte("a"), Value: []byte("b")}}, Out: []Out{reported(done)}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return s
}

type reported chan error

// Release implements Out.
func (o reported) Release(err error) { o <- err }

// TestRows checks that Rows skips the journal's own keys and no other key.
func TestRows(t *testing.T) {
	s := readable(t, nil)
	r := Seal(0, Record{Stream: 1, Seq: 1, Body: []byte("x")})
	done := make(chan error, 1)
	s.Append(&Entry{
		Stream: 1, Records: []Sealed{r}, Out: []Out{reported(done)},
		Ops: []Op{{Kind: OpSet, Key: []byte("z"), Value: nil}, {Kind: OpSet, Key: MetaKey("m"), Value: nil}},
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// Rows also finds keys that no caller can write.
	for _, key := range []string{"\x00", "\"", "A", "C", "I", "K", "`", "{", "\xff"} {
		if err := s.db.Set([]byte(key), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var keys string
	if err := s.Rows(func(k, _ []byte) error { keys += string(k); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := "\x00\"ACIK`az{\xff"; keys != want {
		t.Errorf("%q, want %q", keys, want)
	}
	stop := errors.New("stop")
	if err := s.Rows(func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
