package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// A copy of the journal is opened with little memory, because it is only read.
const (
	copyCache    = 8 << 20
	copyMemTable = 8 << 20
)

// checkpoint copies the journal into the folder, as a data folder has it, and returns the
// manifest of a snapshot of it. The copy is opened, which moves its log into tables, read, and
// closed cleanly: what it says of its end is then what is in its files.
func (s *snapshots) checkpoint(folder string) (*snapshot.Manifest, error) {
	s.stage("copying")
	c := &s.e.Config
	if err := c.files().RemoveAll(folder); err != nil {
		return nil, err
	}
	dir := filepath.Join(folder, journalFolder)
	position, newest, sum, err := s.e.Store.Checkpoint(dir)
	if err != nil {
		return nil, err
	}
	s.stage("reading")
	store, err := wal.Open(wal.Options{
		Dir: dir, FS: wal.Unsynced(c.files()), Hard: hard(c.ISPB), Log: slog.New(slog.DiscardHandler), NoCompactions: true,
		Verified: wal.Head{Position: position, Time: newest, Sum: sum}, CacheBytes: copyCache, MemTableBytes: copyMemTable,
	})
	if err != nil {
		return nil, err
	}
	m, err := s.manifest(store)
	return m, errors.Join(err, store.Close())
}

// manifest describes a copy of the journal.
func (s *snapshots) manifest(store *wal.Store) (*snapshot.Manifest, error) {
	c := &s.e.Config
	position, newest, sum := store.Head()
	m := &snapshot.Manifest{
		Format: snapshot.Format, CreatedAt: time.UnixMilli(int64(s.e.Clock.Now())).UTC().Truncate(time.Second), Engine: c.Version,
		Logs: []snapshot.Log{{Position: position, Time: time.UnixMilli(newest).UTC(), Sum: fmt.Sprintf("%016x", sum)}},
	}
	if c.inProcess() {
		m.SimDir = c.simDir()
		if abs, err := filepath.Abs(m.SimDir); err == nil {
			m.SimDir = abs
		}
	}
	v, r, read := store.View(), rest{time.Now()}, 0
	sums, err := restored.SumsOf(func(fn func(wal.Record) error) error {
		return v.Newest(func(newest wal.Record) error {
			if read++; read%100 == 0 {
				r.rest()
			}
			return errors.Join(s.e.ending.Err(), fn(newest))
		})
	})
	m.Accounts, m.Balance, m.Pending, m.MEDHeld = sums.Accounts, sums.Balance, sums.Pending, sums.MEDHeld
	return m, errors.Join(err, v.Close())
}
