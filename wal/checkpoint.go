package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint copies the store into dir, which must not exist and must be on the same
// file system: files are linked, so the copy is cheap. The copy holds everything that is
// durable when Checkpoint is called, and perhaps later batches. Appends go on meanwhile.
// It returns the position, time and sum of the batch that the copy's anchor names. An
// error, a full disk for example, leaves this store as it was.
func (s *Store) Checkpoint(dir string) (position uint64, time int64, sum uint64, err error) {
	if err := s.readers.enter(); err != nil {
		return 0, 0, 0, err
	}
	defer s.readers.leave()
	h := s.durableHead() // before the copy is made: its anchor must not name a batch that it lacks
	if err := s.checkpoint(dir, h); err != nil {
		return 0, 0, 0, fmt.Errorf("wal: checkpoint %s to %s: %w", s.opts.Dir, dir, err)
	}
	return h.Position, h.Time, h.Sum, nil
}

func (s *Store) checkpoint(dir string, h Head) error {
	fs := s.opts.FS
	if _, err := fs.Stat(dir); err == nil {
		return errors.New("it exists")
	}
	if err := makeFolder(fs, dir); err != nil {
		return err
	}
	if err := s.db.Checkpoint(fs.PathJoin(dir, storeName), pebble.WithFlushedWAL()); err != nil {
		return err
	}
	// The anchor comes last: without it the copy does not open.
	o := s.opts
	o.Dir = dir
	return writeFirstAnchor(o, slot{state: stateReady, generation: 1, at: h})
}
