package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// folderLock keeps other processes out of the folder. The lock is on a file that nobody
// reads, because closing any descriptor of the locked file would release the lock. Another
// file beside it has the id of the process that writes the store.
type folderLock struct {
	fs    FS
	held  io.Closer // nil: nothing is locked
	owner string    // empty: the store is only read
}

const (
	lockName  = "lock"
	ownerName = "owner"
)

func lockFolder(fs FS, dir string) (*folderLock, error) {
	owner, name := fs.PathJoin(dir, ownerName), fs.PathJoin(dir, lockName)
	held, err := own.lock(name, func() (io.Closer, error) { return fs.Lock(name) })
	if err != nil {
		return nil, lockError(fs, dir, err)
	}
	l := &folderLock{fs: fs, held: held, owner: owner}
	if err := writeFile(fs, owner, []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return l, nil
}

// lockReading locks a folder whose store is only read. Others may read it too, and nobody may
// write it. It makes and changes no file, so that the folder may be on a read-only medium.
// Nothing is locked where there is no lock file, because whoever writes the store makes one.
func lockReading(fsys FS, dir string) (*folderLock, error) {
	if _, err := fsys.Stat(dir); err != nil {
		return nil, err
	}
	name := fsys.PathJoin(dir, lockName)
	if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return &folderLock{}, nil
	}
	held, err := own.lock(name, func() (io.Closer, error) { return lockShared(name) })
	if errors.Is(err, fs.ErrNotExist) { // the file system is in memory, or the system has no such locks
		if held, err = fsys.Lock(name); unwritable(err) {
			return &folderLock{}, nil
		}
	}
	if err != nil {
		return nil, lockError(fsys, dir, err)
	}
	return &folderLock{held: held}, nil
}

// unwritable reports whether an error says that a file cannot be opened for writing.
func unwritable(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission))
}

// InUse returns an error where another process has the store in dir open for writing, or this one
// has it open; nil where none has, or where there is no store yet. It makes and changes no file.
func InUse(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // whoever opens the store says what is wrong with the folder
	}
	l, err := lockReading(vfs.Default, dir)
	if err != nil {
		return fmt.Errorf("wal: open %s: %w", dir, err)
	}
	return l.release()
}

// lockError tells a lock that another process has from a folder that cannot be written. The
// system knows who has the lock; where it does not say, the file with the owner does.
func lockError(fsys FS, dir string, err error) error {
	if errors.Is(err, errOwn) {
		return inUse(os.Getpid())
	}
	var path *fs.PathError
	other := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)
	if errors.As(err, &path) || !other && errors.As(err, new(syscall.Errno)) {
		return err
	}
	if other {
		if pid, err := lockedBy(fsys.PathJoin(dir, lockName)); err == nil && pid > 0 {
			return inUse(pid)
		}
	}
	text, rerr := readFile(fsys, fsys.PathJoin(dir, ownerName))
	pid, perr := strconv.Atoi(string(bytes.TrimSpace(text)))
	if rerr != nil || perr != nil {
		pid = 0
	}
	return inUse(pid)
}

func inUse(pid int) error {
	if pid <= 0 {
		return errors.New("in use by another process")
	}
	return fmt.Errorf("in use by process %d", pid)
}

// release releases the lock on the folder. If the file with the owner stays behind, it does
// no harm: it is read only while the lock is taken, and the next owner overwrites it.
func (l *folderLock) release() error {
	if l.owner != "" {
		_ = l.fs.Remove(l.owner)
	}
	if l.held == nil {
		return nil
	}
	return l.held.Close()
}

func writeFile(fs FS, name string, data []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

func readFile(fs FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

func syncDir(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
