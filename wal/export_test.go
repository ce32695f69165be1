package wal

import "time"

// WithPatience sets how long Close waits for reads, and for a Log.
func (o Options) WithPatience(d time.Duration) Options {
	o.readPatience = d
	return o
}

// OwnBatchOf is OwnBatch of a binary that has o.Level.
func (s *Store) OwnBatchOf(o Owner) (after uint64, batch []byte, err error) { return s.ownBatch(o) }
