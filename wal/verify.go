package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Report says what Verify has verified so far.
type Report struct {
	Records  uint64
	Streams  uint64
	Batches  uint64
	Position uint64 // position of the newest batch
	Time     int64  // time of the newest batch, Unix milliseconds
	Sum      uint64 // sum of the newest batch
}

// Verify reads the whole journal, batch by batch in the order of writing. It checks the
// chain of batches, every record's checksum, that streams have no gap, and that every
// record is named by exactly one batch. fn (may be nil) gets each record once it is
// verified; Body is valid only during the call. passed (may be nil) is called after each
// batch with the report so far, in which Streams is not set. Verify stops at the first
// *Damage and returns the report so far with it. For each stream it needs 40 bytes of
// memory and the overhead of a map entry.
func (s *Store) Verify(fn func(Record) error, passed func(Report)) (Report, error) {
	if err := s.readers.enter(); err != nil {
		return Report{}, err
	}
	defer s.readers.leave()
	w, err := newWalk(s.source(), make(map[Stream]walked))
	if err != nil {
		return Report{}, err
	}
	w.fn, w.passed = fn, passed
	err = w.batches(1, Head{})
	rep := w.report()
	rep.Streams = uint64(len(w.tails))
	if err = errors.Join(err, w.close()); err != nil {
		return rep, err
	}
	return rep, errors.Join(s.findUnnamed(w.tails), s.checkPlaces(w.tails))
}

// findUnnamed checks that no stream has a record in no segment that is in a segment too, or is after
// the last one that the batches name.
func (s *Store) findUnnamed(tails map[Stream]walked) error {
	r := &records{from: s.source()}
	defer r.close()
	var stream Stream
	var seq uint64
	first := true
	return s.Scan([]byte{recordPrefix}, []byte{recordPrefix + 1}, func(k, _ []byte) (bool, error) {
		at, got, err := splitRecordKey(k)
		if err == nil && (first || at != stream) {
			stream, seq, first = at, 0, false
			err = r.find(at, 1)
		}
		if err != nil {
			return false, err
		}
		if seq++; got != seq || got > tails[stream].seq || r.place.segment != 0 || got >= r.place.end {
			return false, damaged(stream, got, "no batch names it")
		}
		return true, nil
	})
}

// verifyTail verifies the batches after the verified mark, up to position newest, and the
// records that they name. The caller has checked that the journal is as long as its anchor
// says.
func (s *Store) verifyTail(newest, anchored uint64) (Head, error) {
	mark, err := s.readMark(anchored)
	if err == nil && s.opts.Verified.Position > mark.Position {
		mark = s.opts.Verified
		err = s.isBatch(mark)
	}
	if err != nil {
		return Head{}, err
	}
	w, err := newWalk(s.source(), nil)
	if err != nil {
		return Head{}, err
	}
	w.ending = s.opts.Starting
	if err := errors.Join(w.batches(mark.Position+1, mark), w.close()); err != nil {
		return Head{}, err
	}
	if w.at.Position != newest {
		return Head{}, damagedBatch(w.at.Position+1, "is missing, the journal goes on to %d", newest)
	}
	return w.at, nil
}

// newestBatch returns the position of the newest batch row; 0 if there is no batch row.
func (s *Store) newestBatch() (position uint64, err error) {
	err = s.ScanBack([]byte{batchPrefix}, []byte{batchPrefix + 1}, func(k, _ []byte) (bool, error) {
		if len(k) != batchKeyLen {
			return false, fmt.Errorf("key %x is not a batch row's", k)
		}
		position = binary.BigEndian.Uint64(k[1:])
		return false, nil
	})
	return position, err
}

// batchHead reads one batch row without verifying its sum.
func (s *Store) batchHead(position uint64) (Head, error) {
	v, ok, err := get(s.source(), BatchKey(position))
	if err != nil {
		return Head{}, &Damage{Position: position, What: "cannot be read: " + err.Error(), Err: err}
	}
	if !ok {
		return Head{}, damagedBatch(position, "is missing")
	}
	row, err := decodeBatchRow(position, v)
	return Head{Position: position, Time: row.time, Sum: row.sum}, err
}

// walked is where a walk is in a stream: its newest record so far, and the place of that.
type walked struct {
	tail
	place place
}

// walk verifies batches in order, and the records that they name.
type walk struct {
	rows    iterator
	recs    *records
	tails   map[Stream]walked // the newest record of each stream in the batches so far
	ending  context.Context   // ends the walk; nil: nothing does
	partial bool              // the walk begins after the first batch, so tails lacks streams whose records came before
	at      Head
	records uint64
	sums    []byte
	fn      func(Record) error
	passed  func(Report)
}

func (w *walk) report() Report {
	return Report{Records: w.records, Batches: w.at.Position, Position: w.at.Position, Time: w.at.Time, Sum: w.at.Sum}
}

// newWalk makes a walk. tails is nil for a walk that will not begin at the first batch.
func newWalk(from source, tails map[Stream]walked) (*walk, error) {
	w := &walk{recs: &records{from: from}, tails: tails, partial: tails == nil}
	if w.partial {
		w.tails = make(map[Stream]walked)
	}
	var err error
	w.rows, err = from.NewIter([]byte{batchPrefix}, []byte{batchPrefix + 1})
	if err != nil {
		return nil, fmt.Errorf("wal: batches: %w", plain(err))
	}
	return w, nil
}

func (w *walk) close() error {
	w.recs.close()
	return w.rows.Close()
}

// batches verifies the batches from position to the newest; after is the batch before
// position.
func (w *walk) batches(position uint64, after Head) error {
	w.at = after
	for ok := w.rows.SeekGE(BatchKey(position)); ok; ok = w.rows.Next() {
		if got := w.rows.Key(); string(got) != string(BatchKey(position)) {
			return damagedBatch(position, "is missing; the next key is %x", got)
		}
		v, err := w.rows.ValueAndErr()
		if err != nil {
			return &Damage{Position: position, What: "cannot be read: " + err.Error(), Err: plain(err)}
		}
		if err := w.batch(position, v); err != nil {
			return err
		}
		position++
	}
	if err := w.rows.Error(); err != nil {
		return &Damage{Position: position, What: "cannot be read: " + err.Error(), Err: plain(err)}
	}
	return nil
}

// batch verifies one batch row and the records that it names.
func (w *walk) batch(position uint64, v []byte) error {
	if w.ending != nil && w.ending.Err() != nil {
		return w.ending.Err()
	}
	row, err := decodeBatchRow(position, v)
	if err != nil {
		return err
	}
	if row.prev != w.at.Sum || row.time < w.at.Time {
		return damagedBatch(position, "does not continue the one before it")
	}
	w.sums = w.sums[:0]
	for _, r := range row.runs {
		if err := w.run(r); err != nil {
			return err
		}
	}
	if got := batchSum(row.prev, position, row.time, row.runBytes, w.sums); got != row.sum {
		return damagedBatch(position, "sum is %016x, its bytes and records make %016x", row.sum, got)
	}
	w.at = Head{Position: position, Time: row.time, Sum: row.sum}
	if w.passed != nil {
		w.passed(w.report())
	}
	return nil
}

// run verifies the consecutive records of one stream that a batch row names.
func (w *walk) run(r run) error {
	at, err := w.before(r)
	if err != nil {
		return err
	}
	if at.seq+1 != r.first {
		return damaged(r.stream, r.first, "is named after %d", at.seq)
	}
	w.recs.stream, w.recs.place = r.stream, at.place
	ok, err := w.recs.seek(r.stream, r.first)
	for ; ; ok, err = w.recs.next() {
		rec, err := w.record(ok, err, at.sum)
		if err != nil {
			return err
		}
		at.tail = tail{rec.Seq, rec.Sum}
		w.sums = binary.BigEndian.AppendUint64(w.sums, rec.Sum)
		w.records++
		if w.fn != nil {
			if err := w.fn(rec); err != nil {
				return err
			}
		}
		if rec.Seq+1 == r.first+r.count {
			break
		}
	}
	at.place = w.recs.place
	w.tails[r.stream] = at
	return nil
}

// before returns the sequence and checksum of the stream's newest record before the run.
func (w *walk) before(r run) (walked, error) {
	at, met := w.tails[r.stream]
	if met || !w.partial || r.first == 1 {
		return at, nil
	}
	before, err := w.recs.storedAt(r.stream, r.first-1)
	return walked{tail{r.first - 1, before.Sum}, w.recs.place}, err
}

// record verifies the record that w.recs went to; ok and err are what that returned.
func (w *walk) record(ok bool, err error, prev uint64) (Record, error) {
	if err == nil && !ok {
		err = damaged(w.recs.stream, w.recs.seq, "is missing")
	}
	if err != nil {
		return Record{}, err
	}
	return w.recs.unseal(prev)
}
