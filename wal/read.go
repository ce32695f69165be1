package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Get reads one key. The caller may keep the value. The value may not be durable yet.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	if err := s.readers.enter(); err != nil {
		return nil, false, err
	}
	defer s.readers.leave()
	return get(s.source(), key)
}

// Scan calls fn for each key in [lo, hi) in ascending order, until fn returns false for
// more. A nil hi means no upper bound. k and v are valid only during the call of fn. If fn
// returns an error, Scan returns the same error.
func (s *Store) Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	return s.scan(lo, hi, false, fn)
}

// ScanBack is Scan in descending order of keys.
func (s *Store) ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	return s.scan(lo, hi, true, fn)
}

func (s *Store) scan(lo, hi []byte, back bool, fn func(k, v []byte) (bool, error)) error {
	if err := s.readers.enter(); err != nil {
		return err
	}
	defer s.readers.leave()
	return scan(s.source(), lo, hi, back, fn)
}

// Rows calls fn for every row, and for any other key in the store that is not the key of a
// record, a place row, a batch row or a named value.
func (s *Store) Rows(fn func(k, v []byte) error) error {
	all := func(k, v []byte) (bool, error) { return true, fn(k, v) }
	begin := []byte(nil)
	for _, own := range []byte{metaPrefix, batchPrefix, recordPrefix, placePrefix, segmentPrefix} {
		if err := s.Scan(begin, []byte{own}, all); err != nil {
			return err
		}
		begin = []byte{own + 1}
	}
	return s.Scan(begin, nil, all)
}

// View is the store as it was at one moment. It should be closed soon, because rows that
// are deleted meanwhile keep their space until then.
type View struct {
	store  *Store
	snap   *pebble.Snapshot // the snapshot that the view reads; nil: the store was closed
	ticket Ticket
}

// View opens a view. Pebble shows a commit before it is synced, so what the view shows may
// leave the process only once Ticket is durable; to wait for that, append an entry without
// records and rows (or use Look). Close waits for open views. If the store is closed
// already, every read of the view returns ErrClosed.
func (s *Store) View() *View {
	if s.readers.enter() != nil {
		return &View{ticket: s.Submitted()}
	}
	// The snapshot is taken before the ticket. In the other order, a commit between the
	// two would be visible in the view and not covered by its ticket.
	snap := s.db.NewSnapshot()
	return &View{store: s, snap: snap, ticket: s.Submitted()}
}

// Ticket returns the newest ticket at the moment when the view was opened. Once that ticket
// is durable, everything that the view shows is durable.
func (v *View) Ticket() Ticket { return v.ticket }

// Get is Store.Get at the view's moment.
func (v *View) Get(key []byte) (value []byte, ok bool, err error) {
	if v.snap == nil {
		return nil, false, ErrClosed
	}
	return get(v.source(), key)
}

// Scan is Store.Scan at the view's moment.
func (v *View) Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	return v.scan(lo, hi, false, fn)
}

// ScanBack is Store.ScanBack at the view's moment.
func (v *View) ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	return v.scan(lo, hi, true, fn)
}

func (v *View) scan(lo, hi []byte, back bool, fn func(k, v []byte) (bool, error)) error {
	if v.snap == nil {
		return ErrClosed
	}
	return scan(v.source(), lo, hi, back, fn)
}

// Close closes the view.
func (v *View) Close() error {
	if v.snap == nil {
		return nil
	}
	defer v.store.readers.leave()
	return v.snap.Close()
}

func get(r source, key []byte) ([]byte, bool, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("wal: get %q: %w", key, plain(err))
	}
	value := append(make([]byte, 0, len(v)), v...)
	if err := closer.Close(); err != nil {
		return nil, false, fmt.Errorf("wal: get %q: %w", key, plain(err))
	}
	return value, true, nil
}

func scan(r source, lo, hi []byte, back bool, fn func(k, v []byte) (bool, error)) error {
	it, err := r.NewIter(lo, hi)
	if err != nil {
		return fmt.Errorf("wal: scan [%q, %q): %w", lo, hi, plain(err))
	}
	first, next := it.First, it.Next
	if back {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("wal: scan [%q, %q): %w", lo, hi, plain(errors.Join(err, it.Close())))
		}
		more, err := fn(it.Key(), v)
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !more {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("wal: scan [%q, %q): %w", lo, hi, plain(err))
	}
	return nil
}

// Read calls fn for the stream's records from sequence from (at least 1) to the newest.
// Each record is verified against the record before it. prev is the checksum of record
// from-1; 0 if from is 1. Read stops with a *Damage at the first record that cannot be
// verified. If fn returns an error, Read returns the same error. Record.Body is valid only
// during the call of fn.
func (s *Store) Read(stream Stream, from, prev uint64, fn func(Record) error) error {
	if err := s.readers.enter(); err != nil {
		return err
	}
	defer s.readers.leave()
	return readStream(s.source(), stream, from, prev, fn)
}

// Read is Store.Read at the view's moment.
func (v *View) Read(stream Stream, from, prev uint64, fn func(Record) error) error {
	if v.snap == nil {
		return ErrClosed
	}
	return readStream(v.source(), stream, from, prev, fn)
}

func readStream(from source, stream Stream, seq, prev uint64, fn func(Record) error) error {
	r := &records{from: from}
	defer r.close()
	return r.run(stream, seq, prev, fn)
}

// run calls fn for the stream's records from seq on. prev is the checksum of the record before it.
func (r *records) run(stream Stream, seq, prev uint64, fn func(Record) error) error {
	ok, err := r.seek(stream, seq)
	for ; ok && err == nil; ok, err = r.next() {
		record, err := r.unseal(prev)
		if err == nil {
			err = fn(record)
		}
		if err != nil {
			return err
		}
		prev = record.Sum
	}
	if err != nil {
		return err
	}
	return r.missing()
}

// Record reads one record and verifies it with the checksum of the record before it; false
// where the record does not exist. The caller may keep Body. A record that exists but
// cannot be verified is a *Damage.
func (s *Store) Record(stream Stream, seq uint64) (Record, bool, error) {
	if err := s.readers.enter(); err != nil {
		return Record{}, false, err
	}
	defer s.readers.leave()
	r := &records{from: s.source()}
	defer r.close()
	return r.one(stream, seq)
}

// Records calls fn for the stream's records with the given sequences, which must be in
// ascending order. Each record is verified with the checksum of the record before it. A record
// that is missing or cannot be verified is a *Damage. It is faster than a call of Store.Record
// for each, most of all for records that are near each other. Record.Body is valid only during
// the call of fn. If fn returns an error, Records returns the same error.
func (v *View) Records(stream Stream, seqs []uint64, fn func(Record) error) error {
	if v.snap == nil {
		return ErrClosed
	}
	r := &records{from: v.source()}
	defer r.close()
	for _, seq := range seqs {
		record, err := r.must(stream, seq)
		if err == nil {
			err = fn(record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Last returns the sequence and checksum of the stream's newest record; 0 and 0 if the
// stream has no record.
func (s *Store) Last(stream Stream) (seq, sum uint64, err error) {
	if err := s.readers.enter(); err != nil {
		return 0, 0, err
	}
	defer s.readers.leave()
	seq, sum, _, err = s.last(stream)
	return seq, sum, err
}

// last is Last for the writer, with the segment of the newest record. It does not count as a read,
// because the writer ends before the store is closed.
func (s *Store) last(stream Stream) (seq, sum uint64, segment uint32, err error) {
	r := &records{from: s.source()}
	defer r.close()
	ok, err := r.last(stream)
	if err == nil && ok {
		seq = r.seq
		sum, err = r.sum()
	}
	return seq, sum, r.place.segment, err
}

// Last is Store.Last at the view's moment, without the checksum.
func (v *View) Last(stream Stream) (seq uint64, err error) {
	if v.snap == nil {
		return 0, ErrClosed
	}
	r := &records{from: v.source()}
	defer r.close()
	if ok, err := r.last(stream); err != nil || !ok {
		return 0, err
	}
	return r.seq, nil
}

// Meta reads a named value; see MetaKey.
func (s *Store) Meta(name string) (value []byte, ok bool, err error) {
	return s.Get(MetaKey(name))
}
