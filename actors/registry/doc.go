// Package registry is what no single account can decide: which accounts exist
// and whether they are active, API keys, and PIX keys and merchants' own end-to-end
// ids, each of which belongs to one account of the institution.
//
// It is a machine with a stream of its own (stream 0): Machine decides and
// applies, without a clock, entropy or I/O; Registry is its shell, which stamps
// commands, journals them and, once they are durable, publishes the new entries
// to readers. Readers wait for nobody and never see what a restart would deny.
//
// Everything but end-to-end ids is held in memory and rebuilt at start from the
// stream's records alone; those lie in rows, because they
// grow with the payments. Entries are immutable: a change puts another in its
// place.
package registry
