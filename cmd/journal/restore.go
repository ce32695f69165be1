package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// SnapshotOptions say what VerifySnapshot and RestoreSnapshot work on. File is always needed.
type SnapshotOptions struct {
	File     string
	DataDir  string         // RestoreSnapshot: the folder to restore to
	TempDir  string         // VerifySnapshot: where the snapshot is unpacked, and rows are sorted; empty: the system's folder
	FS       snapshot.FS    // nil: the machine's file system
	Now      time.Time      // RestoreSnapshot: when it is restored
	Progress func(Progress) // called often, but never by two goroutines at once; may be nil
	// Context ends the work early, with its error and without anything left behind; nil: nothing
	// does.
	Context context.Context //nolint:containedctx // options of one call
}

// VerifiedSnapshot is a snapshot that was verified: what its manifest says is what its records
// come to.
type VerifiedSnapshot struct {
	Manifest *snapshot.Manifest
	Found    Verified
}

// VerifySnapshot checks a snapshot: its checksum, each file's, and the journal in it as Verify
// does. What the manifest says of the journal must be what its records come to.
func VerifySnapshot(o SnapshotOptions) (*VerifiedSnapshot, error) {
	u, err := o.openForUnpacking()
	if err != nil {
		return nil, err
	}
	dir, remove, err := u.scratch()
	if err != nil {
		return nil, err
	}
	t, err := snapshot.NewTarget(u.fs, dir)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	found, err := u.unpack(t)
	if err = errors.Join(err, t.Abort(), remove()); err != nil {
		return nil, err
	}
	return &VerifiedSnapshot{u.Manifest, found}, nil
}

// scratch returns a folder to unpack a snapshot in. On the disk it is a new one of its owner alone:
// in a folder that others can write to, they could have put something at a name that they can
// tell beforehand. remove removes it.
func (u *unpackRun) scratch() (dir string, remove func() error, err error) {
	if u.fs != snapshot.Disk {
		return filepath.Join(u.o.TempDir, u.Manifest.Name()+".unpacked"), func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp(u.o.TempDir, "pixd-verify-")
	if err != nil {
		return "", nil, fmt.Errorf("a folder to unpack the snapshot in: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// RestoreSnapshot verifies a snapshot as VerifySnapshot does, and makes a data folder of it,
// which is in place once all is well. The journal in it has a mark: an engine refuses it until
// an operator accepts that payments since the snapshot are missing.
func RestoreSnapshot(o SnapshotOptions) (*VerifiedSnapshot, error) {
	u, err := o.openForUnpacking()
	if err != nil {
		return nil, err
	}
	if o.DataDir == "" {
		return nil, errors.New("--data-dir is empty")
	}
	t, err := snapshot.NewTarget(u.fs, filepath.Clean(o.DataDir))
	if err != nil {
		return nil, err
	}
	found, err := u.unpack(t)
	if err == nil {
		err = u.mark(t)
	}
	if err != nil {
		return nil, errors.Join(err, t.Abort())
	}
	if err := t.Finish(Folder); err != nil {
		return nil, err
	}
	return &VerifiedSnapshot{u.Manifest, found}, nil
}

// unpackRun is a snapshot that is being unpacked.
type unpackRun struct {
	*snapshot.Snapshot
	o  SnapshotOptions
	fs snapshot.FS
}

func (o SnapshotOptions) openForUnpacking() (*unpackRun, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	u := &unpackRun{o: o, fs: o.FS}
	if u.fs == nil {
		u.fs = snapshot.Disk
	}
	var err error
	if u.Snapshot, err = snapshot.Open(u.fs, o.File); err != nil {
		return nil, err
	}
	return u, u.Check(u.step("checksum"))
}

// step returns a step that shows progress.
func (u *unpackRun) step(stage string) snapshot.Step {
	return func(done, total int64) error {
		u.o.Progress(Progress{Stage: stage, Bytes: done, OfBytes: total})
		return u.o.Context.Err()
	}
}

// unpack unpacks the snapshot into the target's folder and verifies the journal there.
func (u *unpackRun) unpack(t *snapshot.Target) (Verified, error) {
	free, err := snapshot.Free(u.fs, t.Folder())
	if err != nil {
		return Verified{}, err
	}
	if need := uint64(u.Manifest.Size()); need > free {
		return Verified{}, fmt.Errorf("%s needs %s, and %s has %s", u.Path, humanize.IBytes(need), t.Folder(), humanize.IBytes(free))
	}
	if err := u.Unpack(t.Folder(), u.step("files")); err != nil {
		return Verified{}, err
	}
	at := u.options(t)
	at.ReadOnly = true
	found, err := verify(at, VerifyOptions{TempDir: u.o.TempDir, Progress: u.o.Progress, ended: u.o.Context.Err})
	if err == nil {
		err = u.agrees(&found)
	}
	if err != nil {
		err = fmt.Errorf("%s: the journal in it: %w", u.Path, err)
	}
	return found, err
}

func (u *unpackRun) options(t *snapshot.Target) wal.Options {
	return wal.Options{
		Dir: filepath.Join(t.Folder(), Folder), FS: u.fs, Log: slog.New(slog.DiscardHandler), NoCompactions: true, SetOnce: layout.SetOnce,
		CacheBytes: 32 << 20, MemTableBytes: copyMemTable,
	}
}

// agrees compares the manifest with what was found in the journal.
func (u *unpackRun) agrees(found *Verified) error {
	m := u.Manifest
	log := m.Logs[0]
	for _, c := range []struct{ what, says, is string }{
		{"position", strconv.FormatUint(log.Position, 10), strconv.FormatUint(found.Position, 10)},
		{"time", pix.Millis(log.Time.UnixMilli()).String(), pix.Millis(found.Time).String()},
		{"sum", log.Sum, fmt.Sprintf("%016x", found.Sum)},
		{"number of accounts", strconv.Itoa(m.Accounts), strconv.Itoa(found.Accounts)},
		{"balance", m.Balance.String(), found.Balance.String()},
		{"pending", m.Pending.String(), found.Pending.String()},
		{"med held", m.MEDHeld.String(), found.MEDHeld.String()},
	} {
		if c.says != c.is {
			return fmt.Errorf("its %s is %s, and the manifest says %s", c.what, c.is, c.says)
		}
	}
	if len(m.Logs) > 1 {
		return fmt.Errorf("the manifest names %d journals, and this version reads one", len(m.Logs))
	}
	return nil
}

// mark marks the journal in the target's folder as restored.
func (u *unpackRun) mark(t *snapshot.Target) error {
	store, err := wal.Open(u.options(t))
	if err != nil {
		return err
	}
	log := u.Manifest.Logs[0]
	m := &restored.Mark{
		Position: log.Position, Newest: pix.Millis(log.Time.UnixMilli()),
		Taken: pix.Millis(u.Manifest.CreatedAt.UnixMilli()), Restored: pix.Millis(u.o.Now.UnixMilli()),
	}
	op, err := m.Op()
	if err == nil {
		err = store.WriteRows(wal.Shared, op)
	}
	return errors.Join(err, store.Close())
}
