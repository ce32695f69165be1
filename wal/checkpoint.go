package wal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint copies the store into dir, which must not exist and must be on the same file
// system: files are linked and not copied, so Checkpoint is fast. The copy has everything
// that is durable when Checkpoint is called, and perhaps later batches. Entries may be
// appended meanwhile. Checkpoint returns the position, time and sum of the batch that the
// copy's anchor names; an Open of the copy knows its end, and with Options.Verified need not
// verify again what this process has written. After an error, such as a full disk, this store
// is unchanged.
func (s *Store) Checkpoint(dir string) (position uint64, time int64, sum uint64, err error) {
	if err := s.readers.enter(); err != nil {
		return 0, 0, 0, err
	}
	defer s.readers.leave()
	h := s.durableHead() // taken before the copy is made: the copy's anchor must not name a batch that the copy lacks
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
	// The anchor is written last: a copy without an anchor cannot be opened.
	o := s.opts
	o.Dir = dir
	return writeFirstAnchor(o, slot{state: stateReady, generation: 1, at: h})
}

// Tables returns the paths, below the folder of a copy that Checkpoint has made, of its tables: sorted
// files that are never written again. As long as the store that was copied is open, each path
// stands for the same bytes in every later copy. Opening a copy adds tables whose names the store may
// give to others, so the copy must not have been opened.
func Tables(fs FS, dir string) ([]string, error) {
	names, err := fs.List(fs.PathJoin(dir, storeName))
	if err != nil {
		return nil, fmt.Errorf("wal: tables of %s: %w", dir, err)
	}
	var tables []string
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			tables = append(tables, fs.PathJoin(storeName, name))
		}
	}
	return tables, nil
}
