package journal

import (
	"errors"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// One goroutine verifies the records in the order of writing. Others, the derivers, decode,
// replay and project the records. Each deriver has some of the streams, and gets the records
// of its streams in order.
const (
	derivers = 2
	rowRoom  = 12 << 20 // bytes of rows that each deriver sorts in memory at once
)

// begin creates the derivers.
func (v *verification) begin(dir string) error {
	for range derivers {
		s, err := sorted.New(dir, rowRoom)
		if err != nil {
			return errors.Join(err, v.removeTemporary())
		}
		d := &deriver{
			store: v.store, sorter: s, registry: registry.NewMachine(), operators: registry.NewDesk(), accounts: map[pix.AccountID]*accountCheck{},
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
	for _, d := range v.derivers {
		d.belt = newBelt(d.derive)
	}
	var err error
	order := uint64(0)
	v.report, err = v.store.Verify(func(r wal.Record) error {
		order++
		if !registry.Owns(r.Stream) {
			v.accounts++
		}
		if err := v.ended(); err != nil {
			return err
		}
		return v.deriver(r.Stream).copyRecord(numberedRecord{r, order, v.progress.Batches})
	}, func(r wal.Report) {
		v.progress.Records, v.progress.Batches = r.Records, r.Batches
		v.tell(v.progress)
	})
	for _, d := range v.derivers {
		_ = d.end() // firstOf returns the first error of all
	}
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
