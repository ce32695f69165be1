package wal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Copy copies a store that no process writes into the folder to, which must not exist. Tables, which
// never change, are linked where the file system can do that. The store itself is only read, so it may be
// on a read-only medium. copied is called after each file, with the bytes copied and of all files; an
// error of it ends the copy. After an error a part of the copy may be there.
func Copy(fsys FS, from, to string, copied func(done, total int64) error) error {
	if err := copyStore(fsys, from, to, copied); err != nil {
		return fmt.Errorf("wal: copy %s to %s: %w", from, to, err)
	}
	return nil
}

func copyStore(fsys FS, from, to string, copied func(done, total int64) error) (err error) {
	lock, err := lockReading(fsys, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	if _, err := fsys.Stat(to); err == nil {
		return errors.New("it exists")
	}
	if err := makeFolder(fsys, fsys.PathJoin(to, storeName)); err != nil {
		return err
	}
	names, sizes, total, err := storeFiles(fsys, from)
	if err != nil {
		return err
	}
	var done int64
	for i, name := range names {
		if err := copyFile(fsys, fsys.PathJoin(from, name), fsys.PathJoin(to, name)); err != nil {
			return err
		}
		done += sizes[i]
		if err := copied(done, total); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(fsys, fsys.PathJoin(to, storeName)), syncDir(fsys, to))
}

// copyFile links a table, and copies any other file: Pebble writes over logs that it uses again.
func copyFile(fsys FS, from, to string) error {
	if strings.HasSuffix(from, ".sst") && fsys.Link(from, to) == nil {
		return nil
	}
	return vfs.Copy(fsys, from, to)
}

// storeFiles returns a store's files, but for the lock of its folder, and their sizes.
func storeFiles(fsys FS, dir string) (names []string, sizes []int64, total int64, err error) {
	inStore, err := fsys.List(fsys.PathJoin(dir, storeName))
	if err != nil {
		return nil, nil, 0, err
	}
	for _, name := range inStore {
		names = append(names, fsys.PathJoin(storeName, name))
	}
	names = append(names, anchorName) // the last: a copy without an anchor cannot be opened
	for _, name := range names {
		info, err := fsys.Stat(fsys.PathJoin(dir, name))
		if err != nil {
			return nil, nil, 0, err
		}
		sizes, total = append(sizes, info.Size()), total+info.Size()
	}
	return names, sizes, total, nil
}
