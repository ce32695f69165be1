package engine

import (
	"errors"
	"sync"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// Records are verified in the order of writing by one goroutine, and decoded,
// replayed and projected by others: each has some of the streams, and gets their
// records in order, many at a time.
const (
	derivers      = 2
	chunkBytes    = 64 << 10
	chunksWaiting = 8
	rowRoom       = 12 << 20 // bytes of rows that each sorts in memory
)

// numbered is a record with its place in the order of writing.
type numbered struct {
	wal.Record
	order   uint64 // from 1
	batches uint64 // before the record's own
}

// chunk is some records of one deriver's streams; bytes holds their bodies.
type chunk struct {
	records []numbered
	bytes   []byte
}

// begin starts the derivers.
func (v *verification) begin(dir string) error {
	for range derivers {
		s, err := sorted.New(dir, rowRoom)
		if err != nil {
			return errors.Join(err, v.end())
		}
		d := &deriver{
			store: v.store, sorter: s, registry: registry.NewMachine(), accounts: map[ledger.AccountID]*derived{},
			in: make(chan *chunk, chunksWaiting), free: make(chan *chunk, chunksWaiting+2), next: new(chunk),
		}
		v.derivers = append(v.derivers, d)
	}
	return nil
}

// end gives their files back.
func (v *verification) end() (err error) {
	for _, d := range v.derivers {
		err = errors.Join(err, d.sorter.Close())
	}
	return err
}

// deriver is whose a stream is.
func (v *verification) deriver(s wal.Stream) *deriver {
	return v.derivers[uint64(s)%uint64(len(v.derivers))]
}

// records walks over all records.
func (v *verification) records() error {
	var work sync.WaitGroup
	for _, d := range v.derivers {
		work.Go(d.run)
	}
	var err error
	order := uint64(0)
	v.report, err = v.store.Verify(func(r wal.Record) error {
		order++
		return v.deriver(r.Stream).take(numbered{r, order, v.progress.Batches})
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

// firstOf is the first thing that does not hold, in the order of writing: what the
// walk met, it met after all that it has handed on.
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
