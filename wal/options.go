package wal

import (
	"context"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say where a store is and how much memory it may use. Only Dir must be set.
type Options struct {
	Dir      string
	FS       FS   // the file system; nil: the disk
	ReadOnly bool // Append panics, and no file is made or changed: the medium may be read-only

	// Doubtful opens a store, with ReadOnly, although its batches cannot be verified, so that
	// what is left of it can be read. Store.Doubt says why they cannot.
	Doubtful bool

	// Hard are the caller's settings whose values may never change once the store exists.
	// They are stored at the creation; Open refuses the store if it is called with other
	// values. Nil: no setting is compared, for tools that work on any store.
	Hard map[string]string

	// SetOnce are the first bytes of the keys of rows that are never set while they exist, only
	// after they were deleted, so that their deletions leave nothing in the store. A caller that
	// breaks this gets old values back after a deletion, without an error. Nil: there are none.
	SetOnce []byte

	// OnFailure is called once, on a goroutine of its own, when a write or sync has failed.
	// By then nothing is released any more. It should end the process.
	OnFailure func(error)
	Log       *slog.Logger // nil: messages are discarded

	// Starting ends Open, with its error, while batches are verified or rows are written anew.
	// Nil: nothing does.
	Starting context.Context

	// AroundSync is called in place of each sync of a log, and must call sync once. It is for
	// measuring how long syncs take. Nil: they are not measured.
	AroundSync func(sync func())

	// AroundCommit is called in place of each commit of a batch, of so many records, and must call commit
	// once. It is for measuring batches and how long they take until they are durable. Nil: they are not measured.
	AroundCommit func(records int, commit func())

	// Verified is a batch up to which the caller knows the batches to be right, because its
	// process has written or verified them: Open verifies only those after it, if the journal's
	// own mark is not later. It is for a Checkpoint's copy. Zero: there is none.
	Verified Head

	// Shared opens a store whose journal is in a Log, or will be: it follows, by Apply, until Lead.
	// Batches are on this machine's disk a second later than in the log, and the anchor names what is.
	Shared bool

	// LeaveCluster opens a store that was shared as one of its own again. The other copies of the
	// journal must never be written any more.
	LeaveCluster bool

	// NoCompactions leaves the tables as they are. It is for a copy that is opened only to be
	// read and closed.
	NoCompactions bool

	CacheBytes    int64         // size of the cache of uncompressed blocks, beside the memtables; default 64 MiB
	MemTableBytes uint64        // size of one memtable, of which two are in memory at times; default 64 MiB
	AnchorEvery   time.Duration // time between two writes of the anchor; default 1 s

	// ReadFault is called before each read of a key, each scan, and each value that a scan reads;
	// the read fails with its error, if it returns one. It is for tests. Nil: no read fails so.
	ReadFault func() error

	segmentRecords int // records of a segment; set only by tests; 0: the constant segmentRecords

	lazyDelay    time.Duration // how long lazy entries wait; set only by tests; 0: the constant lazyDelay
	readPatience time.Duration // how long Close waits for reads; set only by tests; 0: the constant readPatience

	// sync says how a batch is committed: synced. Only the tests that check whether the
	// crash tests find a store without syncs set another value.
	sync *pebble.WriteOptions
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 64 << 20
	}
	if o.AnchorEvery == 0 {
		o.AnchorEvery = time.Second
	}
	if o.lazyDelay == 0 {
		o.lazyDelay = lazyDelay
	}
	if o.segmentRecords == 0 {
		o.segmentRecords = segmentRecords
	}
	if o.readPatience == 0 {
		o.readPatience = readPatience
	}
	if o.sync == nil {
		o.sync = pebble.Sync
	}
	return o
}

// pebbleOptions returns the options for Pebble.
//
// Memory while flushing keeps up with writing: the cache of blocks, one memtable for
// writes, and one that is being flushed or kept for reuse: 64 + 2x64 = 192 MiB at most with
// the defaults. When flushing falls behind there may be four memtables before writes stall;
// the cache shrinks for the third and fourth.
func (o Options) pebbleOptions(fail *failure, notes *flushNotes) *pebble.Options {
	p := &pebble.Options{
		FS:                 newStoreFS(o, fail),
		FormatMajorVersion: pebble.FormatNewest, // in older formats a flipped byte makes Pebble drop synced log records without an error
		Logger:             pebbleLog{o.Log, fail},
		ReadOnly:           o.ReadOnly,

		DisableAutomaticCompactions: o.NoCompactions,
		ErrorIfNotExists:            true, // only createPebble may create a store

		// Pebble subtracts its memtables from the cache's size. A cache no larger than two
		// memtables would cache nothing at all, not even an index block.
		CacheSize:                   o.CacheBytes + 2*int64(o.MemTableBytes),
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       32,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                1000,
		// One compaction runs at a time, and a second one when compactions fall behind, so
		// that most of the processor is left to the rest of the engine.
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
	}
	p.TargetFileSizes[0] = 8 << 20
	p.Experimental.FileCacheShards = 2
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 256 << 10
	}
	p.EventListener = listener(o, fail, notes)
	return p
}
