package journal

import (
	"errors"
	"sync/atomic"

	"pixd/wal"
)

const (
	chunkBytes    = 64 << 10
	chunksWaiting = 8
)

// numberedRecord is a record with its position in the order of writing.
type numberedRecord struct {
	wal.Record
	order   uint64 // position in the order of writing, from 1 on
	batches uint64 // number of batches written before the record's batch
}

// chunk is a number of records that one goroutine hands to another; bytes holds the records'
// bodies.
type chunk struct {
	records []numberedRecord
	bytes   []byte
}

// add copies a record into the chunk.
func (c *chunk) add(r numberedRecord) {
	at := len(c.bytes)
	c.bytes = append(c.bytes, r.Body...)
	r.Body = c.bytes[at:len(c.bytes):len(c.bytes)]
	c.records = append(c.records, r)
}

// clear empties the chunk, to be filled again.
func (c *chunk) clear() { c.records, c.bytes = c.records[:0], c.bytes[:0] }

// belt takes records from the goroutine that walks over them to one that works on them, in chunks
// of many records.
type belt struct {
	next     *chunk      // chunk that the walk is filling
	in, free chan *chunk // in: chunks to work on; free: chunks that can be filled again

	failed atomic.Bool
	err    error         // why the work stopped; may be read only after ended was closed
	ended  chan struct{} // closed when the last chunk was worked on
}

// newBelt makes a belt and starts its goroutine, which calls work for each chunk until work returns
// an error, and ignores further chunks.
func newBelt(work func(*chunk) error) *belt {
	b := &belt{next: new(chunk), in: make(chan *chunk, chunksWaiting), free: make(chan *chunk, chunksWaiting+2), ended: make(chan struct{})}
	go b.run(work)
	return b
}

func (b *belt) run(work func(*chunk) error) {
	defer close(b.ended)
	for c := range b.in {
		if b.err == nil {
			b.err = work(c)
			b.failed.Store(b.err != nil)
		}
		c.clear()
		select {
		case b.free <- c:
		default:
		}
	}
}

// errStopped ends the walk over the records after the work on one of them has failed.
var errStopped = errors.New("the work on an earlier record has failed")

// goesOn returns errStopped once the work has failed.
func (b *belt) goesOn() error {
	if b.failed.Load() {
		return errStopped
	}
	return nil
}

// sendFull sends the chunk off, if it is full.
func (b *belt) sendFull() {
	if len(b.next.bytes) < chunkBytes {
		return
	}
	b.in <- b.next
	select {
	case b.next = <-b.free:
	default:
		b.next = new(chunk)
	}
}

// end sends the last chunk off, and returns the work's error once all work has ended.
func (b *belt) end() error {
	b.in <- b.next
	close(b.in)
	<-b.ended
	return b.err
}
