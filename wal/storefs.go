package wal

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// storeFS is the file system as Pebble sees it. It does two things.
//
// It stops the store at the first write or sync that fails, before Pebble sees the error.
// Pebble reacts to some failed writes with a panic that unlocks a mutex nobody holds
// (rotateWAL), which no recover can catch and no message explains, and it tries others
// again. Here the failed flag is set and the goroutine blocks for ever; the process is
// about to end.
//
// And it syncs the folder before it makes a marker file. Pebble creates a
// manifest, then the marker that points at it, and syncs the folder once,
// after both; a file system that keeps the second entry and loses the first at
// a power cut leaves a store that does not open.
//
// Files outside the store's folder (a checkpoint's) may fail like any other.
type storeFS struct {
	FS
	dir  string // with a separator at its end
	fail *failure
}

func newStoreFS(fs FS, dir string, fail *failure) storeFS {
	return storeFS{fs, fs.PathJoin(dir, storeName) + "/", fail}
}

func (f storeFS) ours(name string) bool { return strings.HasPrefix(name+"/", f.dir) }

// end blocks for ever if err is a failed write of a store that is open. While the store is
// being opened, it returns the error: a folder that cannot be written is no reason to
// leave goroutines behind.
func (f storeFS) end(what, name string, err error) error {
	if err != nil && f.ours(name) && f.fail.armed() {
		f.fail.stop(fmt.Errorf("wal: %s %s: %w", what, name, err))
	}
	return err
}

func (f storeFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := f.end("sync", f.PathDir(name), syncDir(f.FS, f.PathDir(name))); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.Create(name, category)
	return f.wrap(name, file, f.end("create", name, err))
}

func (f storeFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, category, opts...)
	return f.wrap(name, file, f.end("open", name, err))
}

func (f storeFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldname, newname, category)
	return f.wrap(newname, file, f.end("reuse as", newname, err))
}

func (f storeFS) Link(oldname, newname string) error {
	return f.end("link", newname, f.FS.Link(oldname, newname))
}

func (f storeFS) Rename(oldname, newname string) error {
	return f.end("rename to", newname, f.FS.Rename(oldname, newname))
}

func (f storeFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	return f.wrap(name, file, err)
}

func (f storeFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil || !f.ours(name) {
		return file, err
	}
	return storeFile{file, name, f.fail}, nil
}

// storeFile is a file that Pebble writes.
type storeFile struct {
	vfs.File
	name string
	fail *failure
}

// end blocks for ever if err is not nil: nobody knows what a failed write or sync has left
// on the disk, whatever is tried next.
func (f storeFile) end(what string, err error) {
	if err != nil {
		f.fail.stop(fmt.Errorf("wal: %s %s: %w", what, f.name, err))
	}
}

func (f storeFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.end("write", err)
	return n, nil
}

func (f storeFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.end("write", err)
	return n, nil
}

func (f storeFile) Sync() error {
	f.end("sync", f.File.Sync())
	return nil
}

func (f storeFile) SyncData() error {
	f.end("sync", f.File.SyncData())
	return nil
}

func (f storeFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	f.end("sync", err)
	return full, nil
}
