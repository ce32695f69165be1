package wal_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pixd/wal"
)

// TestClusterOf checks that a folder says whose journal it has, without a change, and not while a process writes it.
func TestClusterOf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	is := func(want string) {
		t.Helper()
		for range 2 {
			if id, err := wal.ClusterOf(dir); id != want || err != nil {
				t.Errorf("%q, expected %q: %v", id, want, err)
			}
		}
	}
	is("")
	s, err := wal.Open(wal.Options{Dir: dir, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	is("")
	if s, err = wal.Open(wal.Options{Dir: dir, Shared: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Join("c"); err != nil {
		t.Fatal(err)
	}
	if id, err := wal.ClusterOf(dir); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while it is written: %q, %v", id, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	is("c")
	if s, err = wal.Open(wal.Options{Dir: dir, Shared: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
