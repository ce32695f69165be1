package wal

import (
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// storeFS is the file system as Pebble sees it. It does five things beside passing calls on.
//
// It stops the store at the first write or sync that fails, before Pebble sees the error.
// Pebble reacts to some failed writes with a panic that unlocks an unlocked mutex
// (rotateWAL), which cannot be recovered from and says nothing about the cause; other
// writes it tries again. storeFS marks the store as failed and blocks the goroutine for
// ever; the process is about to end.
//
// It also syncs the folder before it makes a marker file. Pebble creates a manifest and
// then the marker file that names the manifest, and syncs the folder only once, after both.
// If a power failure kept the marker and lost the manifest, the store could not be opened.
//
// It fills log files with zeros ahead of what is written; see logFile. And who reads a log file
// that is being written sees no more than is written; see openLogs.
//
// Where Pebble only reads, it does not make or lock Pebble's own lock file: the folder is locked
// already.
//
// A failed write outside the store's folder, such as a checkpoint's, does not stop the
// store.
type storeFS struct {
	FS
	dir  string // the store's folder, with a separator at its end
	fail *failure

	readOnly   bool
	aroundSync func(sync func()) // see Options
	logs       *openLogs
}

func newStoreFS(o Options, fail *failure) storeFS {
	return storeFS{o.FS, o.FS.PathJoin(o.Dir, storeName) + "/", fail, o.ReadOnly, o.AroundSync, &openLogs{all: map[string]*logFile{}}}
}

func (f storeFS) ours(name string) bool { return strings.HasPrefix(name+"/", f.dir) }

// blockAfter blocks for ever if err is a failed write in the folder of an open store. While the
// store is being opened, blockAfter returns the error instead, and Open returns it: no goroutine
// need stay blocked because a folder cannot be written.
func (f storeFS) blockAfter(what, name string, err error) error {
	if err != nil && f.ours(name) && f.fail.armed() {
		f.fail.stop(fmt.Errorf("wal: %s %s: %w", what, name, err))
	}
	return err
}

func (f storeFS) Lock(name string) (io.Closer, error) {
	if f.readOnly {
		return io.NopCloser(nil), nil
	}
	return f.FS.Lock(name)
}

func (f storeFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := f.blockAfter("sync", f.PathDir(name), syncDir(f.FS, f.PathDir(name))); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.Create(name, category)
	return f.wrap(name, file, f.blockAfter("create", name, err))
}

func (f storeFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, category, opts...)
	return f.wrap(name, file, f.blockAfter("open", name, err))
}

func (f storeFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldname, newname, category)
	return f.wrap(newname, file, f.blockAfter("reuse as", newname, err))
}

func (f storeFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil || !isLog(name) {
		return file, err
	}
	return f.logs.reader(name, file), nil
}

func (f storeFS) Link(oldname, newname string) error {
	return f.blockAfter("link", newname, f.FS.Link(oldname, newname))
}

func (f storeFS) Rename(oldname, newname string) error {
	return f.blockAfter("rename to", newname, f.FS.Rename(oldname, newname))
}

func (f storeFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	return f.wrap(name, file, err)
}

func (f storeFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil || !f.ours(name) {
		return file, err
	}
	ours := storeFile{file, name, f.fail}
	if isLog(name) {
		return newLogFile(ours, f.aroundSync, f.logs)
	}
	return ours, nil
}

// storeFile is a file in the store's folder that Pebble writes.
type storeFile struct {
	vfs.File
	name string
	fail *failure
}

// blockAfter blocks for ever if err is not nil: after a failed write or sync nobody knows what is
// on the disk, whatever is tried next.
func (f storeFile) blockAfter(what string, err error) {
	if err != nil {
		f.fail.stop(fmt.Errorf("wal: %s %s: %w", what, f.name, err))
	}
}

func (f storeFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.blockAfter("write", err)
	return n, nil
}

func (f storeFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.blockAfter("write", err)
	return n, nil
}

// Stat ends as a failed write does: Pebble asks for the size of a new log, and panics in
// rotateWAL, see storeFS, where it does not hear it.
func (f storeFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	f.blockAfter("stat", err)
	return info, nil
}

func (f storeFile) Sync() error {
	f.blockAfter("sync", f.File.Sync())
	return nil
}

func (f storeFile) SyncData() error {
	f.blockAfter("sync", f.File.SyncData())
	return nil
}

func (f storeFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	f.blockAfter("sync", err)
	return full, nil
}
