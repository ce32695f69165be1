package wal

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// onceName is the own value that has the first bytes of the keys of rows that are set once; see
// Options.SetOnce. Where it is missing, there are none.
const onceName = ownPrefix + "once"

// rowsInRewrite is how many rows one commit of rewriteOnce sets at most.
const rowsInRewrite = 1000

// isOnce reports whether the row with the key is set once.
func (o *Options) isOnce(key []byte) bool { return bytes.IndexByte(o.SetOnce, key[0]) >= 0 }

// delete deletes a row. Pebble keeps a deletion until it has reached the lowest level that may
// have the key, because there may be any number of older values. A single deletion and the one
// value that it deletes vanish as soon as they meet, mostly when the memtable is flushed. Pebble's
// condition is that no key is set twice without a deletion between; a value that was set before the
// last one would come back.
func (o *Options) delete(b *pebble.Batch, key []byte) error {
	if o.isOnce(key) {
		return b.SingleDelete(key, nil)
	}
	return b.Delete(key, nil)
}

// beginOnce makes the rows of Options.SetOnce fit for single deletions: whoever had the store
// before may have set them more than once. The store then says so durably.
func (s *Store) beginOnce() error {
	known, _, err := get(s.source(), metaKey(onceName))
	wanted := slices.Sorted(slices.Values(s.opts.SetOnce))
	if err != nil || bytes.Equal(known, wanted) {
		return err
	}
	for _, first := range wanted {
		if bytes.IndexByte(known, first) < 0 {
			if err := s.rewriteOnce([]byte{first}); err != nil {
				return err
			}
		}
	}
	return s.db.Set(metaKey(onceName), wanted, pebble.Sync)
}

// rewriteOnce deletes each row with the prefix, with all its older values, and sets it again.
func (s *Store) rewriteOnce(prefix []byte) error {
	b, rows := s.db.NewBatch(), 0
	defer func() { _ = b.Close() }()
	err := scan(s.source(), prefix, PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		if c := s.opts.Starting; c != nil && c.Err() != nil {
			return false, c.Err()
		}
		if b.Count() >= 2*rowsInRewrite {
			if err := s.db.Apply(b, pebble.NoSync); err != nil {
				return false, err
			}
			b.Reset()
		}
		if rows++; rows == 1 {
			s.opts.Log.Info("wal: rows of an earlier version are written anew, so that they are set once", "dir", s.opts.Dir, "first", string(prefix))
		}
		return true, errors.Join(b.Delete(k, nil), b.Set(k, v, nil))
	})
	if err != nil || b.Empty() {
		return err
	}
	return s.db.Apply(b, pebble.NoSync)
}
