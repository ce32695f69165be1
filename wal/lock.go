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
// file beside it has the id of the process that has the lock.
type folderLock struct {
	fs    FS
	held  io.Closer
	owner string
}

func lockFolder(fs FS, dir string) (*folderLock, error) {
	owner := fs.PathJoin(dir, "owner")
	held, err := fs.Lock(fs.PathJoin(dir, "lock"))
	if err != nil {
		return nil, lockError(fs, owner, err)
	}
	l := &folderLock{fs: fs, held: held, owner: owner}
	if err := writeFile(fs, owner, []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return l, nil
}

// InUse returns an error where another process has the store in dir open; nil where no
// process has, or where there is no store yet. It writes nothing.
func InUse(dir string) error {
	fs := vfs.Default
	lock := fs.PathJoin(dir, "lock")
	if _, err := fs.Stat(lock); err != nil {
		return nil
	}
	held, err := fs.Lock(lock)
	if err != nil {
		return fmt.Errorf("wal: open %s: %w", dir, lockError(fs, fs.PathJoin(dir, "owner"), err))
	}
	return held.Close()
}

// lockError tells a lock that another process has from a folder that cannot be written.
func lockError(fsys FS, owner string, err error) error {
	var path *fs.PathError
	held := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || !errors.As(err, new(syscall.Errno))
	if errors.As(err, &path) || !held {
		return err
	}
	pid, rerr := readFile(fsys, owner)
	if pid = bytes.TrimSpace(pid); rerr != nil || len(pid) == 0 {
		return errors.New("in use by another process")
	}
	return errors.New("in use by process " + string(pid))
}

// release releases the lock on the folder. If the file with the owner stays behind, it does
// no harm: it is read only while the lock is taken, and the next owner overwrites it.
func (l *folderLock) release() error {
	_ = l.fs.Remove(l.owner)
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
