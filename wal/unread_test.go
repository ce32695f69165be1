package wal

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestPassingReadError checks that an entry is not refused because one read of its stream's
// newest record fails, that it is where the reads go on failing, and that neither counts as
// damage.
func TestPassingReadError(t *testing.T) {
	var fails atomic.Int64
	var fault func() error // of reads while nothing is written; nil: none fails so
	s := memStore(t, Options{ReadFault: func() error {
		if fault != nil {
			return fault()
		}
		if fails.Add(-1) >= 0 {
			return syscall.EIO
		}
		return nil
	}})
	prev := uint64(0)
	put := func(seq uint64, failing int64) error {
		fails.Store(failing)
		sealed := Seal(prev, Record{Stream: 7, Seq: seq, Kind: 1, Body: []byte("a")})
		done := make(resultOut, 1)
		s.Append(&Entry{Stream: 7, Expect: seq - 1, Records: []Sealed{sealed}, Forget: true, Out: []Out{done}})
		err := <-done
		if err == nil {
			prev = sealed.Sum
		}
		return err
	}
	if err := put(1, 0); err != nil {
		t.Fatal(err)
	}
	if err := put(2, lastTries-1); err != nil {
		t.Errorf("refused after reads that failed: %v", err)
	}
	if err := put(3, lastTries); !errors.Is(err, ErrSequence) || !IsUnread(err) || IsDamage(err) {
		t.Errorf("while reads fail: %v", err)
	}
	if err := put(3, 0); err != nil {
		t.Error(err)
	}
	for what, read := range map[string]func() error{
		"get":    func() error { _, _, err := s.Get([]byte("a")); return err },
		"scan":   func() error { return s.Scan(nil, nil, func(_, _ []byte) (bool, error) { return true, nil }) },
		"read":   func() error { return s.Read(7, 1, 0, func(Record) error { return nil }) },
		"record": func() error { _, _, err := s.Record(7, 2); return err },
		"last":   func() error { _, _, err := s.Last(7); return err },
		"verify": func() error { _, err := s.Verify(func(Record) error { return nil }, func(Report) {}); return err },
	} {
		for at := int64(1); ; at++ { // each of its reads fails once
			left := at
			fault = func() error {
				if left--; left == 0 {
					return syscall.EIO
				}
				return nil
			}
			err := read()
			fault = nil
			if left > 0 {
				break
			}
			if !errors.Is(err, syscall.EIO) || !IsUnread(err) || IsDamage(err) {
				t.Errorf("%s, read %d: %v", what, at, err)
			}
		}
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} { // a file that ends too early is damaged
			fault = func() error { return end }
			if err := read(); !errors.Is(err, end) || IsUnread(err) || !IsDamage(err) {
				t.Errorf("%s, %v: %v", what, end, err)
			}
			fault = nil
		}
	}
}
