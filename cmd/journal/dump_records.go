package journal

import (
	"errors"
	"fmt"
	"io"

	"pixd/actors/history"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/cmd/journal/recordjson"
	"pixd/wal"
)

// dumpRun is one dump. One goroutine verifies the records and hands those that are to be
// written to another on the belt.
type dumpRun struct {
	DumpOptions
	*belt
	to       io.Writer
	progress Progress
	lines    []byte
}

func newDumping(o DumpOptions, to io.Writer) *dumpRun {
	d := &dumpRun{DumpOptions: o, to: to}
	if d.Progress == nil {
		d.Progress = func(Progress) {}
	}
	d.progress.Stage = "records"
	d.belt = newBelt(d.write)
	return d
}

// all takes the records of all streams. Those of a batch are handed on when the whole batch is
// verified. If one of its records is damaged, those before that record are handed on.
func (d *dumpRun) all(store *wal.Store) error {
	d.progress.Of, _, _ = store.Head()
	whole := 0 // number of records of verified batches in the chunk
	_, err := store.Verify(d.copyRecord, func(r wal.Report) {
		d.progress.Records, d.progress.Batches = r.Records, r.Batches
		d.Progress(d.progress)
		d.sendFull()
		whole = len(d.next.records)
	})
	var damage *wal.Damage
	if errors.As(err, &damage) && damage.Position != 0 {
		d.next.records = d.next.records[:whole]
	}
	return err
}

// one takes the records of one stream, which are verified one by one.
func (d *dumpRun) one(store *wal.Store, stream wal.Stream) error {
	err := store.Read(stream, 1, 0, func(r wal.Record) error {
		d.progress.Records++
		d.Progress(d.progress)
		err := d.copyRecord(r)
		d.sendFull()
		return err
	})
	if err == nil && d.progress.Records == 0 && !registry.Owns(stream) {
		err = fmt.Errorf("the journal has no record of %s", d.Stream)
	}
	return err
}

// copyRecord copies a verified record, if it is in the span.
func (d *dumpRun) copyRecord(r wal.Record) error {
	if at := pix.Millis(r.Time); at >= d.From && (d.Until == 0 || at < d.Until) {
		d.next.add(numberedRecord{Record: r, batches: d.progress.Batches})
	}
	return d.goesOn()
}

// waitWritten waits until everything taken is written. walked is why no more records were taken.
// Where the writing has failed, it has failed at an earlier record.
func (d *dumpRun) waitWritten(walked error) error {
	if err := d.end(); err != nil {
		return err
	}
	return walked
}

// write writes the lines of a chunk. If a record cannot be read, those before it are written.
func (d *dumpRun) write(c *chunk) (err error) {
	d.lines = d.lines[:0]
	for i := 0; i < len(c.records) && err == nil; i++ {
		err = d.line(&c.records[i])
	}
	if len(d.lines) > 0 {
		if _, failed := d.to.Write(d.lines); failed != nil {
			return failed
		}
	}
	return err
}

// line adds a record's line.
func (d *dumpRun) line(n *numberedRecord) error {
	position := n.batches + 1
	if d.Stream != "" {
		position = 0 // records were read without their batches
	}
	if registry.Owns(n.Stream) {
		r, err := registry.Decode(&n.Record)
		if err != nil {
			return err
		}
		d.lines = recordjson.AppendRegistry(d.lines, position, recordjson.StreamName(n.Stream), r)
		return nil
	}
	r, err := history.Decode(&n.Record)
	if err != nil {
		return err
	}
	d.lines = recordjson.AppendLedger(d.lines, position, r)
	return nil
}
