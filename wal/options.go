package wal

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say where a store lives and how much it may use. Dir alone is enough.
type Options struct {
	Dir      string
	FS       FS   // nil: the disk
	ReadOnly bool // refuse Append, write nothing but the lock

	// Hard are the caller's settings that may never change once the store
	// exists. They are stored at creation; a later Open with other values is
	// refused. Nil asks for nothing, for tools that work on any store.
	Hard map[string]string

	// OnFailure is called once, on a goroutine of its own, when a write or
	// sync has failed. Nothing is released any more by then. It should end the
	// process.
	OnFailure func(error)
	Log       *slog.Logger // nil: discard

	CacheBytes    int64         // uncompressed blocks kept, beside the memtables; default 64 MiB
	MemTableBytes uint64        // default 64 MiB; two of them are in memory at times
	AnchorEvery   time.Duration // how often the anchor follows the journal; default 1 s

	readPatience time.Duration // how long Close waits for reads; set by tests; 0: the constant readPatience

	// sync is how a batch is committed: synced, save in the tests that show that the crash
	// tests find a store that does not sync.
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
	if o.readPatience == 0 {
		o.readPatience = readPatience
	}
	if o.sync == nil {
		o.sync = pebble.Sync
	}
	return o
}

// pebbleOptions are Pebble's, each set on purpose.
//
// Memory at rest: the blocks' cache, one memtable that takes writes, and one
// that is being flushed or kept for reuse: 64 + 2x64 = 192 MiB at most with the
// defaults. When flushing falls behind there may be four memtables, before
// writes stall; the cache shrinks for the third and fourth.
func (o Options) pebbleOptions(fail *failure, notes *flushNotes) *pebble.Options {
	p := &pebble.Options{
		FS:                 newStoreFS(o.FS, o.Dir, fail),
		FormatMajorVersion: pebble.FormatNewest, // older ones drop synced log records after a flipped byte, in silence
		Logger:             pebbleLog{o.Log, fail},
		ReadOnly:           o.ReadOnly,
		ErrorIfNotExists:   true, // creation is a step of its own

		// Pebble takes its memtables out of the cache's size. A cache no larger
		// than two memtables caches nothing at all, not even an index block.
		CacheSize:                   o.CacheBytes + 2*int64(o.MemTableBytes),
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       32,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                1000,
		// One compaction, a second when it falls behind: the other core is
		// the engine's.
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
