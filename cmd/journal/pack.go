package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"pixd/actors/layout"
	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// A copy of the journal is opened with little memory, because it is only read.
const (
	copyCache    = 8 << 20
	copyMemTable = 8 << 20
)

// PackJob is the packing of a copy of the journal into a snapshot.
type PackJob struct {
	Folder    string   // has the copy, as a data folder has the journal
	Dir       string   // folder of the snapshots
	Verified  wal.Head // the engine knows the batches up to this one to be right
	CreatedAt time.Time
	Engine    string // version of the program
	ISPB      string
	SimDir    string // folder of the in-process simulator's book; empty: there is none
	// Base is the path of a snapshot in Dir, to make an increment upon; empty: the snapshot has all its files.
	Base string
	// Sums are the SHA-256 of tables, by their paths in Folder, that need not be read for it.
	Sums map[string]string
}

// Packing is the progress of a PackJob or, with Path or Err, its end.
type Packing struct {
	Stage       string // reading or packing
	Done, Total int64  // bytes that were read or packed, or need not be, of twice all that there are
	Need        int64  // set once, before anything is written: the most bytes that may be
	Path        string // of the finished snapshot
	Err         string // why there is none
}

// Pack makes a snapshot of a copy of the journal and returns its path. The copy is opened, which
// moves its log into tables, read, and closed cleanly: what it says of its end is then what is
// in its files. An error of tell ends the work.
func Pack(fsys snapshot.FS, j PackJob, tell func(Packing) error) (string, error) {
	if err := tell(Packing{Stage: "reading"}); err != nil {
		return "", err
	}
	store, err := wal.Open(wal.Options{
		Dir: filepath.Join(j.Folder, Folder), FS: wal.Unsynced(fsys), Hard: HardSettings(j.ISPB), SetOnce: layout.SetOnce, Log: slog.New(slog.DiscardHandler),
		Verified: j.Verified, NoCompactions: true, LeaveCluster: true, CacheBytes: copyCache, MemTableBytes: copyMemTable,
	})
	if err != nil {
		return "", err
	}
	m, err := j.manifest(store)
	if err = errors.Join(err, store.Close()); err != nil {
		return "", err
	}
	c := snapshot.Contents{Folder: j.Folder, Sums: j.Sums, Room: func(most int64) error {
		return tell(Packing{Stage: "packing", Need: most})
	}}
	if j.Base != "" {
		if c.Base, err = snapshot.Open(fsys, j.Base); err != nil {
			return "", fmt.Errorf("the base: %w", err)
		}
	}
	return snapshot.Create(fsys, c, j.Dir, m, func(done, total int64) error {
		return tell(Packing{Stage: "packing", Done: done, Total: total})
	})
}

// manifest describes a copy of the journal.
func (j *PackJob) manifest(store *wal.Store) (*snapshot.Manifest, error) {
	position, newest, sum := store.Head()
	m := &snapshot.Manifest{
		Format: snapshot.Format, CreatedAt: j.CreatedAt.UTC().Truncate(time.Second), Engine: j.Engine, SimDir: j.SimDir,
		Logs: []snapshot.Log{{Position: position, Time: time.UnixMilli(newest).UTC(), Sum: fmt.Sprintf("%016x", sum)}},
	}
	v := store.View()
	sums, err := restored.SumsOf(v.Newest)
	if err == nil {
		m.Epoch, err = restored.Epoch(store)
	}
	m.Accounts, m.Balance, m.Pending, m.MEDHeld = sums.Accounts, sums.Balance, sums.Pending, sums.MEDHeld
	return m, errors.Join(err, v.Close())
}
