package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a store of its own in dir, which must not exist: everything
// that is durable now, and perhaps some of what comes meanwhile. It shares
// files with this store where the file system can link, so it is cheap, and
// must be on the same one. It gives the position, time and sum of the batch
// that its anchor stands at. Work goes on meanwhile. A failure here, a full
// disk among them, is returned and does not end this store.
func (s *Store) Checkpoint(dir string) (position uint64, time int64, sum uint64, err error) {
	if err := s.readers.enter(); err != nil {
		return 0, 0, 0, err
	}
	defer s.readers.leave()
	h := s.durableHead() // first: the anchor must not promise what the copy does not hold
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
