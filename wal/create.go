package wal

import (
	"errors"
	"io/fs"
)

// create makes a new store. It writes the anchor first, in the state stateCreating. After a
// power failure during the creation, the anchor in that state says that the store is
// incomplete and may be removed, because no caller ever got an answer from it. A store with
// data and without an anchor, in contrast, has lost its anchor.
func create(o Options) (slot, error) {
	first := slot{state: stateCreating, generation: 1}
	if err := writeFirstAnchor(o, first); err != nil {
		return slot{}, err
	}
	if err := o.FS.RemoveAll(o.FS.PathJoin(o.Dir, storeName)); err != nil {
		return slot{}, err
	}
	if err := createPebble(o); err != nil {
		return slot{}, err
	}
	a, err := openAnchor(o.FS, o.Dir, first)
	if err != nil {
		return slot{}, err
	}
	err = a.write(stateReady, Head{})
	return a.last, errors.Join(err, a.close(), syncDir(o.FS, o.Dir))
}

// writeFirstAnchor creates the anchor file at its full length, so that later writes do not
// change the file's metadata.
func writeFirstAnchor(o Options, first slot) error {
	data := make([]byte, slotGap+slotLen)
	copy(data[slotGap*(first.generation%2):], first.encode())
	if err := writeFile(o.FS, o.FS.PathJoin(o.Dir, anchorName), data); err != nil {
		return err
	}
	return syncDir(o.FS, o.Dir)
}

// createPebble makes Pebble's store, writes the settings into its tables and closes it.
// Pebble creates a store in an old format and upgrades it afterwards, but the log that is
// open then stays in the old format. In that format a flipped byte makes Pebble drop synced
// records without an error. So no data may stay in that log: the open that follows the
// creation begins a log in the new format.
func createPebble(o Options) error {
	fail := newFailure()
	p := o.pebbleOptions(fail, &flushNotes{})
	p.ErrorIfNotExists = false
	db, err := openPebble(o, p, fail)
	if err != nil {
		return err
	}
	return fail.close(db, fail.guard(func() error { return writeHard(db, o.Hard) }))
}

// makeFolder makes the folder, and the folders above it, where they are missing, and syncs each
// parent folder in which a folder was made.
func makeFolder(fsys FS, dir string) error {
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent != dir { // a root has no folder above it
		if err := makeFolder(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}
