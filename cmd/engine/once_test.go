package engine

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/cmd/journal"
	"pixd/wal"
)

// TestRowsSetOnce checks that the journal of an engine, and a restored one that no engine has opened
// yet, say that open, due and pending rows are set once.
func TestRowsSetOnce(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	check := func(what string, s *wal.Store) {
		if got, _, err := s.Get([]byte("!wal/once")); string(got) != "dop" || err != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	check("served", w.Store)
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "again")
	s, err := wal.Open(wal.Options{Dir: "again/" + journal.Folder, FS: fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	check("restored", s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
