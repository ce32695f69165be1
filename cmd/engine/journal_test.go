package engine

import (
	"testing"

	"pixd/actors/pix"
	"pixd/cmd/machine"
	"pixd/wal"
)

// now is the machine's wall clock.
func now() pix.Millis { return machine.Clocks().Wall() }

// settled waits until everything appended is durable.
func settled(t *testing.T, s *wal.Store) {
	t.Helper()
	if err := s.WriteRows(wal.Local); err != nil {
		t.Fatal(err)
	}
}

// written receives an entry's result once the entry is durable.
type written chan error

// Release implements wal.Out.
func (w written) Release(err error) { w <- err }

// openJournal opens the journal of the data folder "data".
func openJournal(t *testing.T, fs wal.FS) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "data/journal", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
