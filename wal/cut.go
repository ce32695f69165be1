package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Cut is what CutOff has left and removed.
type Cut struct {
	Head             // the newest batch that is left
	Batches, Records uint64
}

// TooEarly refuses to cut a store at an instant before all of its records.
type TooEarly struct{ Until, First int64 } // Unix milliseconds; First is that of the first batch with records

func (e *TooEarly) Error() string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	return fmt.Sprintf("the journal begins at %s: nothing in it is from %s or before", at(e.First), at(e.Until))
}

// CutOff removes every batch that is newer than an instant in Unix milliseconds, with its records, from
// a store that nobody has open. The last batch of that very instant stays. Rows stay as they are, so
// that the caller must make those of the removed records what the other records make of them. It is
// for a copy of a store: after an error the copy may be of no use. An instant before the first record is
// refused with *TooEarly, and no batch is removed.
func CutOff(o Options, until int64) (Cut, error) {
	c, err := cutFolder(o.withDefaults(), until)
	if err != nil {
		return Cut{}, fmt.Errorf("wal: cut %s: %w", o.Dir, err)
	}
	return c, nil
}

func cutFolder(o Options, until int64) (c Cut, err error) {
	anchor, ok, err := readAnchor(o.FS, o.Dir)
	if err != nil {
		return Cut{}, err
	}
	if !ok || anchor.state != stateReady {
		return Cut{}, errors.New("there is no store")
	}
	lock, err := lockFolder(o.FS, o.Dir)
	if err != nil {
		return Cut{}, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	s := &Store{opts: o, fail: newFailure(), notes: &flushNotes{}, readers: newReaders()}
	if err := s.inspect(anchor); err != nil {
		return Cut{}, err
	}
	if s.db, err = s.openPebble(false); err != nil {
		return Cut{}, err
	}
	err = s.fail.guard(func() (err error) {
		c, err = s.cut(until)
		return err
	})
	if err = s.fail.close(s.db, err); err != nil {
		return Cut{}, err
	}
	return c, writeFirstAnchor(o, slot{state: stateReady, generation: anchor.generation + 1, at: c.Head})
}

// cutAtOnce is how many keys one commit of a cut deletes at least.
const cutAtOnce = 10_000

// cut removes what is newer from the open store, whose batches are verified. Records are deleted one by
// one: a range of keys for each of many streams would make every later read slow. The batches go last, so
// that a cut which was broken off is found.
func (s *Store) cut(until int64) (Cut, error) {
	at, err := s.newestUntil(until)
	if err != nil {
		return Cut{}, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	r := &records{from: s.source()} // it goes on to see what is deleted
	defer r.close()
	c := Cut{Head: at, Batches: s.head.Position - at.Position}
	if err := s.cutBatches(at.Position, func(of run) error {
		c.Records += of.count
		return s.cutRun(b, r, of)
	}); err != nil {
		return Cut{}, err
	}
	err = errors.Join(
		b.DeleteRange(BatchKey(at.Position+1), []byte{batchPrefix + 1}, nil),
		b.Set(metaKey(markName), markValue(at), nil),
	)
	if err == nil {
		err = s.db.Apply(b, pebble.Sync)
	}
	if err == nil {
		err = s.db.Flush()
	}
	return c, err
}

// newestUntil returns the newest batch that is not newer than the instant. Batches before the first
// record have no time.
func (s *Store) newestUntil(until int64) (Head, error) {
	low, err := s.newestOf(until)
	if err != nil || low.Time != 0 {
		return low, err
	}
	if low, err = s.newestOf(0); err == nil && low.Position == s.head.Position {
		return Head{}, errors.New("the journal has no record")
	}
	first, err := s.batchHead(low.Position + 1)
	return Head{}, errors.Join(err, &TooEarly{until, first.Time})
}

// newestOf returns the newest batch of the instant or before; the zero head where there is none. The
// times of batches never fall.
func (s *Store) newestOf(instant int64) (low Head, err error) {
	for high := s.head.Position + 1; err == nil && high-low.Position > 1; {
		var middle Head
		if middle, err = s.batchHead(low.Position + (high-low.Position)/2); middle.Time > instant {
			high = middle.Position
		} else {
			low = middle
		}
	}
	return low, err
}

// cutBatches calls fn for each run of the batches after a position.
func (s *Store) cutBatches(position uint64, fn func(run) error) error {
	return s.Scan(BatchKey(position+1), []byte{batchPrefix + 1}, func(k, v []byte) (bool, error) {
		row, err := decodeBatchRow(binary.BigEndian.Uint64(k[1:]), v)
		for i := 0; i < len(row.runs) && err == nil; i++ {
			err = fn(row.runs[i])
		}
		return true, err
	})
}

// cutRun deletes the records of a run, and the place row that was written with them.
func (s *Store) cutRun(b *pebble.Batch, r *records, of run) error {
	if err := r.find(of.stream, of.first); err != nil {
		return err
	}
	if r.place.segment != 0 && r.place.first == of.first {
		if err := b.Delete(placeKey(of.stream, of.first), nil); err != nil {
			return err
		}
	}
	for seq := of.first; seq < of.first+of.count; seq++ {
		if err := b.Delete(r.place.key(of.stream, seq), nil); err != nil {
			return err
		}
	}
	if b.Count() < cutAtOnce {
		return nil
	}
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	b.Reset()
	return nil
}
