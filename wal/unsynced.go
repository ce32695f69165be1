package wal

import "github.com/cockroachdb/pebble/v2/vfs"

// Unsynced returns a file system on which syncs do nothing. It is for a copy of a store that is
// read once and removed: syncs of the copy would delay those of the store, on the same disk.
func Unsynced(fs FS) FS { return unsyncedFS{fs} }

type unsyncedFS struct{ FS }

// Create implements vfs.FS.
func (f unsyncedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return unsynced(f.FS.Create(name, category))
}

// OpenReadWrite implements vfs.FS.
func (f unsyncedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return unsynced(f.FS.OpenReadWrite(name, category, opts...))
}

// ReuseForWrite implements vfs.FS.
func (f unsyncedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return unsynced(f.FS.ReuseForWrite(oldname, newname, category))
}

// OpenDir implements vfs.FS.
func (f unsyncedFS) OpenDir(name string) (vfs.File, error) { return unsynced(f.FS.OpenDir(name)) }

func unsynced(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return unsyncedFile{file}, nil
}

type unsyncedFile struct{ vfs.File }

// Sync implements vfs.File.
func (unsyncedFile) Sync() error { return nil }

// SyncData implements vfs.File.
func (unsyncedFile) SyncData() error { return nil }

// SyncTo implements vfs.File.
func (unsyncedFile) SyncTo(int64) (bool, error) { return true, nil }
