package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
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
		Logs:    []snapshot.Log{{Position: position, Time: time.UnixMilli(newest).UTC(), Sum: fmt.Sprintf("%016x", sum)}},
		Balance: new(big.Int), Pending: new(big.Int), MEDHeld: new(big.Int),
	}
	if c.inProcess() {
		m.SimDir = c.simDir()
		if abs, err := filepath.Abs(m.SimDir); err == nil {
			m.SimDir = abs
		}
	}
	v, r := store.View(), rest{time.Now()}
	err := v.Newest(func(sealed wal.Record) error {
		if sealed.Stream == registry.Stream || s.e.ending.Err() != nil {
			return s.e.ending.Err()
		}
		newest := ledger.Record{
			Account: ledger.AccountID(sealed.Stream), Seq: sealed.Seq, Time: ledger.Millis(sealed.Time), Kind: ledger.RecordKind(sealed.Kind),
		}
		if err := newest.Decode(sealed.Body); err != nil {
			return err
		}
		if m.Accounts++; m.Accounts%100 == 0 {
			r.rest()
		}
		add(m.Balance, newest.Totals.Balance)
		add(m.Pending, newest.Totals.Held)
		add(m.MEDHeld, newest.Totals.MEDHeld)
		return nil
	})
	return m, errors.Join(err, v.Close())
}
