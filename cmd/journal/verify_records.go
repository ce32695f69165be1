package journal

import (
	"errors"
	"sync"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// One goroutine verifies the records in the order of writing. Others, the derivers, decode,
// replay and project the records. Each deriver has some of the streams, and gets the records
// of its streams in order, in chunks of many records.
const (
	derivers      = 2
	chunkBytes    = 64 << 10
	chunksWaiting = 8
	rowRoom       = 12 << 20 // bytes of rows that each deriver sorts in memory at once
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

// begin creates the derivers.
func (v *verification) begin(dir string) error {
	for range derivers {
		s, err := sorted.New(dir, rowRoom)
		if err != nil {
			return errors.Join(err, v.removeTemporary())
		}
		d := &deriver{
			store: v.store, sorter: s, registry: registry.NewMachine(), accounts: map[pix.AccountID]*accountCheck{},
			in: make(chan *chunk, chunksWaiting), free: make(chan *chunk, chunksWaiting+2), next: new(chunk),
		}
		v.derivers = append(v.derivers, d)
	}
	return nil
}

// removeTemporary removes the derivers' temporary files.
func (v *verification) removeTemporary() (err error) {
	for _, d := range v.derivers {
		err = errors.Join(err, d.sorter.Close())
	}
	return err
}

// deriver returns the deriver of a stream.
func (v *verification) deriver(s wal.Stream) *deriver {
	return v.derivers[uint64(s)%uint64(len(v.derivers))]
}

// records verifies all records.
func (v *verification) records() error {
	var work sync.WaitGroup
	for _, d := range v.derivers {
		work.Go(d.run)
	}
	var err error
	order := uint64(0)
	v.report, err = v.store.Verify(func(r wal.Record) error {
		order++
		if err := v.ended(); err != nil {
			return err
		}
		return v.deriver(r.Stream).copyRecord(numberedRecord{r, order, v.progress.Batches})
	}, func(r wal.Report) {
		v.progress.Records, v.progress.Batches = r.Records, r.Batches
		v.tell(v.progress)
	})
	for _, d := range v.derivers {
		d.send()
		close(d.in)
	}
	work.Wait()
	return v.firstOf(err)
}

// firstOf returns the error that comes first in the order of writing. An error of the walk
// itself comes after all records that the walk has handed to derivers.
func (v *verification) firstOf(walked error) error {
	var first *deriver
	for _, d := range v.derivers {
		if d.err != nil && (first == nil || d.at.order < first.at.order) {
			first = d
		}
	}
	if first == nil {
		return walked
	}
	v.report.Records, v.report.Batches = first.at.order-1, first.at.batches
	return first.err
}
