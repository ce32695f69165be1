// Package wal is the journal: opaque records in numbered streams, the rows
// that were derived from them, one writer, and a promise about disks.
//
// # For the caller
//
// Open a Store over a folder. Seal each record against the checksum of the
// stream's previous one, put records and rows into an Entry, and Append it.
// Append queues and returns; it never waits for the disk. When everything
// submitted so far, the entry included, is on disk, the writer calls Release
// on the entry's Outs, in order of submission. Nothing an entry decides may be
// seen outside the process before that call.
//
//	sealed := wal.Seal(prevSum, wal.Record{Stream: 7, Seq: 1, Kind: 3, Time: ms, Body: body})
//	store.Append(&wal.Entry{Stream: 7, Expect: 0, Records: []wal.Sealed{sealed}, Out: []wal.Out{reply}})
//
// An Entry belongs to the store from Append until its Outs are released.
//
// A read that must not overtake the journal is an entry without records and
// rows: its Out is released once everything submitted before it is durable.
// A longer read opens a View, which shows a consistent state and knows the
// ticket that has to be durable before anything it showed may leave.
//
// # Expectation
//
// An entry with records says which sequence its stream stands at. If that is
// not so, or its records do not continue the stream's chain, the writer writes
// nothing of it and releases its Outs with ErrSequence, in their place in the
// order.
//
// # Keys
//
// Keys that begin with an upper-case letter or '!' are the journal's. Rows
// begin with a lower-case letter. MetaKey gives a key for a named setting that
// is not derived from records.
//
// # Failure
//
// After a failed write or sync nothing is released any more, not even an
// error: whether the last batch survives is unknown, and only a restart can
// tell. OnFailure is called once; the process is expected to end. A store that
// is shorter than its anchor, whose chain is broken, whose settings differ or
// that another process has open refuses to open, with one line that says which
// and where, and is left as it was.
//
// The bytes on disk are described in docs/formats-wal.md.
package wal
