package wal

import (
	"errors"
	"fmt"
	"io/fs"
)

// ClusterOf returns the ID of the cluster whose journal is in a folder; empty: none's, or there is no journal. It changes nothing,
// verifies nothing, and refuses a folder that another process writes.
func ClusterOf(dir string) (string, error) {
	o := Options{Dir: dir, ReadOnly: true}.withDefaults()
	anchor, ok, err := readAnchor(o.FS, o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err == nil && (!ok || anchor.state != stateReady): // whoever opens the store says what is wrong
		return "", nil
	}
	id := ""
	if err == nil {
		id, err = clusterOf(o)
	}
	if err != nil {
		return "", fmt.Errorf("wal: read the cluster of %s: %w", dir, err)
	}
	return id, nil
}

// EndOf returns the position of the newest batch that a folder's journal is known to have on the disk; 0: none, or there is no
// journal. It changes and verifies nothing.
func EndOf(dir string) (uint64, error) {
	o := Options{Dir: dir}.withDefaults()
	anchor, _, err := readAnchor(o.FS, o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("wal: read the end of %s: %w", dir, err)
	}
	return anchor.at.Position, nil
}

func clusterOf(o Options) (id string, err error) {
	lock, err := lockReading(o.FS, o.Dir)
	if err != nil {
		return "", err
	}
	s := &Store{opts: o, fail: newFailure(), notes: &flushNotes{}}
	if s.db, err = s.openPebble(true); err != nil {
		return "", errors.Join(err, lock.release())
	}
	id, err = s.Cluster()
	return id, errors.Join(err, s.db.Close(), lock.release())
}
