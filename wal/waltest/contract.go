// Package waltest has tests that every implementation of the journal must pass (Contract):
// wal.Store and InMemory. InMemory, a journal in memory for simulations, is in this package
// too.
package waltest

import (
	"testing"

	"pixd/wal"
)

// Reader reads rows in key order.
type Reader interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// View is a Reader of the journal as it was at one moment.
type View interface {
	Reader
	Ticket() wal.Ticket
	Close() error
}

// Journal is the interface that Contract tests. Its View method returns this package's
// View, so an implementation with its own view type needs an adapter of one line.
type Journal interface {
	Reader
	Append(e *wal.Entry) wal.Ticket
	Submitted() wal.Ticket
	Durable() wal.Ticket
	View() View
	Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error
	Last(stream wal.Stream) (seq, sum uint64, err error)
}

// Settler is a Journal that makes entries durable only on request. Where a test waits for a
// release, it calls Settle first.
type Settler interface{ Settle() }

// Contract runs the tests that every Journal must pass. Each call of open must return an
// empty journal and arrange that it is closed at the end of the test.
func Contract(t *testing.T, open func() Journal) {
	for _, c := range []struct {
		name string
		run  func(*bench)
	}{
		{"releases come in the order of submission, durable", releasesInOrder},
		{"an entry that expects another sequence is refused in its place", refusesOtherSequence},
		{"an entry with a gap is refused whole", refusesGap},
		{"an entry that does not continue the chain is refused whole", refusesOtherChain},
		{"after a refusal the stream goes on where it stood", goesOnAfterRefusal},
		{"a parked read is released after what was before it", parkedReadWaits},
		{"a parked read finds everything durable", parkedReadAtRest},
		{"a lazy entry keeps its place, and is written also where none follows", lazyKeepsItsPlace},
		{"rows need no record", rowsAlone},
		{"ranges are deleted up to their end", deletesRanges},
		{"operations of an entry apply in order", opsInOrder},
		{"scans go both ways, within bounds, until told to stop", scansBothWays},
		{"a value read is the reader's", valueIsReaders},
		{"a view does not move", viewStands},
		{"a view's ticket covers what it shows", viewTicket},
		{"a stream reads back whole and in order", readsBack},
		{"a stream reads from the middle", readsFromMiddle},
		{"reading with another checksum is damage", readsOtherPrev},
		{"a stream that was passivated goes on", forgetsAndGoesOn},
		{"streams do not meet", streamsApart},
		{"meta values are kept", metaKept},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newBench(t, open())) })
	}
}
