// Package wal is the journal: records in numbered streams, the rows that were derived from
// the records, and one writer. What is in a record is up to the caller. An entry that was
// reported as durable survives a crash.
//
// # For the caller
//
// Open a Store over a folder. Seal each record against the checksum of the stream's
// previous record, put records and rows into an Entry, and Append the entry. Append queues
// the entry and returns; it never waits for the disk. When the entry and everything
// submitted before it are on disk, the writer calls Release on the entry's Outs, in order
// of submission. Before that call, nothing that depends on the entry may be seen outside
// the process.
//
//	sealed := wal.Seal(prevSum, wal.Record{Stream: 7, Seq: 1, Kind: 3, Time: ms, Body: body})
//	store.Append(&wal.Entry{Stream: 7, Expect: 0, Records: []wal.Sealed{sealed}, Out: []wal.Out{reply}})
//
// An Entry belongs to the store from Append until its Outs are released.
//
// An entry that nobody waits for may be lazy. It keeps its place in the order, but the writer
// does not begin a batch for it alone before 2 ms have passed: it needs no sync of its own
// where other entries come. A read that depends on it does not wait for these 2 ms.
//
// A read whose result must be durable is an entry without records and rows: its Out is
// released once everything submitted before it is durable. A read of several keys opens a
// View, which shows a consistent state. Its result may leave the process once the View's
// Ticket is durable.
//
// # Expectation
//
// An entry with records says in Expect which sequence its stream's newest record has. If
// that is wrong, or if the entry's records do not continue the stream's chain, the writer
// writes nothing of the entry and releases its Outs with ErrSequence, at the entry's place
// in the order.
//
// # Keys
//
// Keys that begin with an upper-case letter or '!' are the journal's own. Keys of rows
// begin with a lower-case letter. MetaKey gives a key for a named value that is not derived
// from records.
//
// # Failure
//
// After a failed write or sync nothing is released any more, not even an error: only a
// restart can tell whether the last batch is on disk. OnFailure is called once, and the
// process is expected to end. Open refuses a store that is shorter than its anchor says,
// whose chain is broken, whose settings differ, or that another process has open. The error
// says in one line what is wrong and where, and the store stays as it was.
//
// The bytes on disk are described in docs/formats-wal.md.
package wal
