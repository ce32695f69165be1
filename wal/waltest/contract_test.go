package waltest

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/wal"
)

// reader reads rows in key order.
type reader interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// view is a reader of the journal as it was at one moment.
type view interface {
	reader
	Ticket() wal.Ticket
	Close() error
}

// journal is what the contract is about. Its View method returns this package's view, so
// each implementation has an adapter of one line.
type journal interface {
	reader
	Append(e *wal.Entry) wal.Ticket
	Submitted() wal.Ticket
	Durable() wal.Ticket
	View() view
	Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error
	Last(stream wal.Stream) (seq, sum uint64, err error)
}

// stored adapts wal.Store to journal.
type stored struct{ *wal.Store }

func (s stored) View() view { return s.Store.View() }

func TestContract(t *testing.T) {
	testContract(t, func(t *testing.T) journal {
		s, err := wal.Open(wal.Options{Dir: "/journal", FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return stored{s}
	})
}

// inMemory adapts InMemory to journal.
type inMemory struct{ *InMemory }

func (p inMemory) View() view { return p.InMemory.View() }

func TestContractInMemory(t *testing.T) {
	testContract(t, func(*testing.T) journal { return inMemory{NewInMemory()} })
}

// testContract runs the tests that every implementation of the journal must pass, each on a
// new journal.
func testContract(t *testing.T, create func(*testing.T) journal) {
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
		t.Run(c.name, func(t *testing.T) { c.run(newBench(t, create(t))) })
	}
}
