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

	"pixd/actors/catchup"
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
	Until    pix.Millis     // RestoreSnapshot: what is newer than this instant is cut off; 0: nothing is
	DryRun   bool           // RestoreSnapshot: everything is done in TempDir and removed again
	TempDir  string         // where rows are sorted, and where VerifySnapshot and a dry run unpack the snapshot; empty: the system's folder
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
	Cut      *CutJournal    // nil: it was not to be cut
	Mark     *restored.Mark // of the restored journal; nil: it was verified alone
}

// VerifySnapshot checks a snapshot: its checksum, each file's, and the journal in it as Verify
// does. What the manifest says of the journal must be what its records come to.
func VerifySnapshot(o SnapshotOptions) (*VerifiedSnapshot, error) {
	u, err := o.openForUnpacking()
	if err != nil {
		return nil, err
	}
	v := &VerifiedSnapshot{Manifest: u.Manifest}
	return v, u.inScratch(func(t *snapshot.Target) (err error) {
		v.Found, err = u.unpack(t)
		return err
	})
}

// inScratch calls do with a folder to unpack the snapshot in, and removes it.
func (u *unpackRun) inScratch(do func(*snapshot.Target) error) error {
	dir, remove, err := u.scratch()
	if err != nil {
		return err
	}
	t, err := snapshot.NewTarget(u.fs, dir)
	if err != nil {
		return errors.Join(err, remove())
	}
	return errors.Join(do(t), t.Abort(), remove())
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
// which is in place once all is well. With Until it is cut at that instant. The journal in it has a mark:
// an engine refuses it until an operator accepts that payments since the snapshot are missing.
func RestoreSnapshot(o SnapshotOptions) (*VerifiedSnapshot, error) {
	u, err := o.openForUnpacking()
	if err != nil {
		return nil, err
	}
	if o.DataDir == "" {
		return nil, errors.New("--data-dir is empty")
	}
	v := &VerifiedSnapshot{Manifest: u.Manifest}
	if o.DryRun {
		if err := snapshot.Fits(u.fs, filepath.Clean(o.DataDir)); err != nil {
			return nil, err
		}
		return v, u.inScratch(func(t *snapshot.Target) error { return u.restore(t, v) })
	}
	t, err := snapshot.NewTarget(u.fs, filepath.Clean(o.DataDir))
	if err != nil {
		return nil, err
	}
	if err := u.restore(t, v); err != nil {
		return nil, errors.Join(err, t.Abort())
	}
	return v, t.Finish(Folder)
}

// restore unpacks the snapshot, cuts the journal where that is wanted, and marks it.
func (u *unpackRun) restore(t *snapshot.Target, v *VerifiedSnapshot) (err error) {
	if v.Found, err = u.unpack(t); err != nil {
		return err
	}
	log := u.Manifest.Logs[0]
	m := &restored.Mark{
		Position: log.Position, Newest: pix.Millis(log.Time.UnixMilli()),
		Taken: pix.Millis(u.Manifest.CreatedAt.UnixMilli()), Restored: pix.Millis(u.o.Now.UnixMilli()),
	}
	if u.o.Until != 0 {
		if v.Cut, err = cutJournal(u.options(t), u.o.Until, u.verifying()); err != nil {
			return fmt.Errorf("%s: %w", u.Path, err)
		}
		if m.Position, m.Newest = v.Cut.Position, pix.Millis(v.Cut.Time); v.Cut.Batches > 0 {
			m.Until = u.o.Until
		}
	}
	v.Mark = m
	return writeMark(u.options(t), m)
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
	found, err := verify(at, u.verifying())
	if err == nil {
		err = u.agrees(&found)
	}
	if err != nil {
		err = fmt.Errorf("%s: the journal in it: %w", u.Path, err)
	}
	return found, err
}

func (u *unpackRun) verifying() VerifyOptions {
	return VerifyOptions{TempDir: u.o.TempDir, Progress: u.o.Progress, ended: u.o.Context.Err}
}

func (u *unpackRun) options(t *snapshot.Target) wal.Options {
	return copied(u.fs, filepath.Join(t.Folder(), Folder))
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

// copied are the options for a copy of a journal that is made fit for an engine.
func copied(fs wal.FS, dir string) wal.Options {
	return wal.Options{
		Dir: dir, FS: fs, Log: slog.New(slog.DiscardHandler), NoCompactions: true, LeaveCluster: true, SetOnce: layout.SetOnce,
		CacheBytes: 32 << 20, MemTableBytes: copyMemTable,
	}
}

// writeMark marks a journal as restored.
func writeMark(at wal.Options, m *restored.Mark) error {
	store, err := wal.Open(at)
	if err != nil {
		return err
	}
	old, err := restored.Find(store)
	uncaught, err1 := restored.Uncaught(store)
	for _, other := range []*restored.Mark{old, uncaught} {
		if other != nil {
			m.Join(other)
		}
	}
	op, err2 := m.Op()
	if err = errors.Join(err, err1, err2); err == nil {
		err = store.WriteRows(wal.Shared, op, catchup.Drop()) // it begins to catch up anew
	}
	return errors.Join(err, store.Close())
}
