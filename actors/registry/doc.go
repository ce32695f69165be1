// Package registry holds the data that is shared by all accounts: which accounts exist and
// whether they are active, API keys, and the PIX keys and merchants' own end-to-end ids,
// each of which belongs to one account of the institution.
//
// It has a stream of its own in the journal (stream 0). Machine decides and applies,
// without a clock, entropy or I/O. Registry is its shell: it stamps commands, journals them
// and, once they are durable, publishes the new entries to readers. Readers wait for
// nothing and never see an entry that a crash could take away.
//
// Everything but end-to-end ids is kept in memory and rebuilt at the start from the
// stream's records. End-to-end ids are in rows, because their number grows with the
// payments. Entries are immutable: a change replaces an entry by a new one.
package registry
