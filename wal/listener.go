package wal

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// flushNotes follows which batches Pebble has moved from its log into tables, by their
// positions. Pebble begins a new log only inside a commit of the single writer; every batch
// that was committed before that is in older memtables.
type flushNotes struct {
	committed atomic.Uint64 // position of the newest committed batch
	rotated   atomic.Uint64 // position of the newest batch that is in an older log than the present one
	flushing  atomic.Uint64 // position of the newest batch in the memtables that are being flushed
	flushed   atomic.Uint64 // position of the newest batch that is certainly in tables
}

// listener makes the store fail on Pebble's background errors, and updates the flush notes
// from Pebble's events.
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
			// Damage that a compaction finds does not make the store fail: a later read
			// finds the same damage, and only the account of that read is quarantined.
			if pebble.IsCorruptionError(err) {
				o.Log.Error("wal: damage met in the background", "dir", o.Dir, "err", err)
				return
			}
			fail.fail(fmt.Errorf("wal: write %s in the background: %w", o.Dir, err))
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			o.Log.Error("wal: damage", "file", info.Path, "err", plain(info.Details))
		},
		PossibleAPIMisuse: func(info pebble.PossibleAPIMisuseInfo) {
			if info.Kind == pebble.NondeterministicSingleDelete {
				o.Log.Error("wal: a row was set twice before it was deleted, an older value may come back", "dir", o.Dir, "key", fmt.Sprintf("%q", info.UserKey))
			}
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			o.Log.Warn("wal: writes stall", "dir", o.Dir, "why", info.Reason)
		},
		WriteStallEnd: func() { o.Log.Warn("wal: writes go on", "dir", o.Dir) },
	}
}
