package wal

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// flushNotes follow which positions Pebble has moved from its log into tables. Pebble
// starts a new log only inside a commit of the single writer; everything that was
// committed before that is in older memtables.
type flushNotes struct {
	committed atomic.Uint64 // newest position committed
	rotated   atomic.Uint64 // newest position before the newest log began
	flushing  atomic.Uint64 // newest position in the memtables that are being flushed
	flushed   atomic.Uint64 // newest position that is in tables for certain
}

// listener turns Pebble's events into the store's failures and notes.
func listener(o Options, fail *failure, notes *flushNotes) *pebble.EventListener {
	return &pebble.EventListener{
		WALCreated: func(info pebble.WALCreateInfo) {
			if info.Err == nil {
				notes.rotated.Store(notes.committed.Load())
			}
		},
		FlushBegin: func(pebble.FlushInfo) { notes.flushing.Store(notes.rotated.Load()) },
		FlushEnd: func(info pebble.FlushInfo) {
			if info.Err == nil && info.Done {
				notes.flushed.Store(notes.flushing.Load())
			}
		},
		BackgroundError: func(err error) {
			// Damage that a compaction finds does not end the store: a later read finds
			// it again, and only that reader's account is quarantined.
			if pebble.IsCorruptionError(err) {
				o.Log.Error("wal: damage met in the background", "dir", o.Dir, "err", err)
				return
			}
			fail.fail(fmt.Errorf("wal: write %s in the background: %w", o.Dir, err))
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			o.Log.Error("wal: damage", "file", info.Path, "err", plain(info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			o.Log.Warn("wal: writes stall", "dir", o.Dir, "why", info.Reason)
		},
		WriteStallEnd: func() { o.Log.Warn("wal: writes go on", "dir", o.Dir) },
	}
}
