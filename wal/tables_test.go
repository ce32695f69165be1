package wal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestVerifyTables checks that VerifyTables finds a flipped byte anywhere in a table, also
// outside the records.
func TestVerifyTables(t *testing.T) {
	opts := Options{Dir: t.TempDir(), MemTableBytes: 1 << 20}
	s := mustOpen(t, opts)
	for i := range 500 {
		s.Append(&Entry{Ops: []Op{{Kind: OpSet, Key: []byte{'r', byte(i), byte(i >> 8)}, Value: make([]byte, 40)}}})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(opts.Dir, storeName, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	opts.ReadOnly = true
	s = mustOpen(t, opts)
	defer func() { _ = s.Close() }()
	if err := s.VerifyTables(nil); err != nil {
		t.Fatal(err)
	}
	asked := 0
	if err := s.VerifyTables(func() error { asked++; return nil }); err != nil || asked != len(tables) {
		t.Errorf("%v; asked %d times whether to go on, there are %d tables", err, asked, len(tables))
	}
	if err := s.VerifyTables(func() error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a check that is to end returns %v", err)
	}
	name := tables[len(tables)-1]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 7 {
		whole[at] ^= 0x10
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		if s.VerifyTables(nil) == nil {
			t.Errorf("a flip of byte %d of %d went unseen", at, len(whole))
		}
		whole[at] ^= 0x10
	}
	if err := os.WriteFile(name, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyTables(nil); err != nil {
		t.Error(err)
	}
}
