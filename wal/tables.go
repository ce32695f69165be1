package wal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// VerifyTables reads every block of every table and compares it with its checksum. This
// includes the blocks of rows, indexes and filters, which the checksums of records do not
// cover. The error names the first table that is damaged or cannot be read. ended is asked before
// each table; an error of it ends the check. nil: it goes on to the end.
func (s *Store) VerifyTables(ended func() error) error {
	dir := s.opts.FS.PathJoin(s.opts.Dir, storeName)
	names, err := s.opts.FS.List(dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", dir, err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		if ended != nil {
			if err := ended(); err != nil {
				return err
			}
		}
		switch err := plain(s.verifyTable(s.opts.FS.PathJoin(dir, name))); {
		case IsUnread(err):
			return fmt.Errorf("wal: table %s cannot be read: %w", name, err)
		case err != nil:
			return fmt.Errorf("wal: table %s is damaged: %w", name, err)
		}
	}
	return nil
}

func (s *Store) verifyTable(name string) (err error) {
	defer func() { // a damaged footer can make Pebble's reader panic
		if r := recover(); r != nil {
			err = fmt.Errorf("unreadable: %v", r)
		}
	}()
	f, err := s.opts.FS.Open(name)
	if err != nil {
		return err
	}
	file, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), file, sstable.ReaderOptions{})
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
