package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Target is a folder that is being filled from a snapshot. Until Finish it has nothing but, if
// it existed before, a temporary folder.
type Target struct {
	fs      FS
	dir     string
	existed bool      // dir was there and empty: it stays, and the temporary folder is in it
	tmp     string    // the temporary folder
	lock    io.Closer // keeps other restores out
}

// restoring names the temporary folder: within the target if that exists, else beside it.
const restoring = ".restoring"

// NewTarget prepares a folder for a restore: one that does not exist, or one that is empty. It
// refuses any other, and one that another process restores to. What an interrupted restore has
// left is removed. The caller must call Finish or Abort.
func NewTarget(fsys FS, dir string) (*Target, error) {
	t := &Target{fs: fsys, dir: dir}
	if err := t.begin(); err != nil {
		return nil, fmt.Errorf("snapshot: restore to %s: %w", dir, err)
	}
	return t, nil
}

// Fits reports, with an error, whether NewTarget would refuse a folder for what is in it. It makes
// nothing.
func Fits(fsys FS, dir string) error {
	if _, err := (&Target{fs: fsys, dir: dir}).isEmpty(); err != nil {
		return fmt.Errorf("snapshot: restore to %s: %w", dir, err)
	}
	return nil
}

func (t *Target) begin() (err error) {
	t.existed, err = t.isEmpty()
	if err != nil {
		return err
	}
	if t.tmp = t.dir + restoring; t.existed {
		t.tmp = t.fs.PathJoin(t.dir, restoring)
	}
	if err := makeFolder(t.fs, t.fs.PathDir(t.tmp)); err != nil {
		return err
	}
	if t.lock, err = t.fs.Lock(t.lockName()); err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return err
		}
		return fmt.Errorf("another process restores to it: %w", err)
	}
	if err := errors.Join(t.fs.RemoveAll(t.tmp), t.fs.MkdirAll(t.tmp, 0o700)); err != nil {
		return errors.Join(err, t.release())
	}
	return nil
}

func (t *Target) lockName() string { return t.tmp + ".lock" }

// isEmpty tells whether the folder exists, and refuses one that is not empty. A new file
// system's lost+found does not count, nor what an interrupted restore has left.
func (t *Target) isEmpty() (existed bool, err error) {
	names, err := t.fs.List(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !slices.Contains([]string{"lost+found", restoring, restoring + ".lock"}, name) {
			return true, fmt.Errorf("it is not empty: it has %q", name)
		}
	}
	return true, nil
}

// Unfinished tells whether a restore to the folder was interrupted, or is under way.
func Unfinished(fsys FS, dir string) bool {
	for _, tmp := range []string{fsys.PathJoin(dir, restoring), dir + restoring} {
		if _, err := fsys.Stat(tmp); err == nil {
			return true
		}
	}
	return false
}

// Folder is the temporary folder, which the caller fills with a single folder named name.
func (t *Target) Folder() string { return t.tmp }

// Free is how many bytes this process can write to the disk of a folder; of a file system that
// does not tell, as many as there are numbers.
func Free(fsys FS, dir string) (uint64, error) {
	usage, err := fsys.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("snapshot: free space of %s: %w", dir, err)
	}
	return usage.AvailBytes, nil
}

// Finish moves what is in the temporary folder, the one folder name, into place. After an
// error nothing is in place, unless it is the folder above that could not be synced.
func (t *Target) Finish(name string) error {
	if err := t.finish(name); err != nil {
		return errors.Join(fmt.Errorf("snapshot: restore to %s: %w", t.dir, err), t.Abort())
	}
	return t.release()
}

func (t *Target) finish(name string) error {
	if err := syncFolder(t.fs, t.tmp); err != nil {
		return err
	}
	if !t.existed {
		if err := t.fs.Rename(t.tmp, t.dir); err != nil {
			return err
		}
		return syncFolder(t.fs, t.fs.PathDir(t.dir))
	}
	if err := t.fs.Rename(t.fs.PathJoin(t.tmp, name), t.fs.PathJoin(t.dir, name)); err != nil {
		return err
	}
	return errors.Join(t.fs.RemoveAll(t.tmp), syncFolder(t.fs, t.dir))
}

// Abort removes the temporary folder.
func (t *Target) Abort() error {
	return errors.Join(t.fs.RemoveAll(t.tmp), t.release())
}

// release removes the lock's file while the lock is held: another process that opened the file
// before does not wait for the lock, and one that comes later makes a new file.
func (t *Target) release() error {
	return errors.Join(t.fs.Remove(t.lockName()), t.lock.Close())
}
