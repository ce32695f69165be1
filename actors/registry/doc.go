// Package registry has the data that all accounts share: which accounts exist and whether
// they are active, API keys, PIX keys, and end-to-end ids that merchants chose themselves.
// Each PIX key and each such end-to-end id belongs to exactly one account.
//
// The registry has a stream of its own in the journal (stream 0). Machine decides and
// applies changes, without a clock, entropy or I/O. Registry is its shell: it stamps
// commands, journals their records and, once the records are durable, publishes the new
// entries to readers. Readers never wait, and never see an entry that a crash could take
// away.
//
// Everything but end-to-end ids is kept in memory and rebuilt at the start from the
// stream's records. End-to-end ids are in rows, because their number grows with the number
// of payments. Entries are immutable: a change replaces an entry by a new one.
package registry
