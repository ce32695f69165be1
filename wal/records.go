package wal

import (
	"bytes"
	"encoding/binary"
	"math"
)

// records reads records, wherever they are. It is at one of them, or at none. It must be closed.
type records struct {
	from    source
	places  iterator
	segment iterator // over the records in segments
	early   iterator // over the records of earlier formats

	stream Stream
	seq    uint64
	place  place     // of the record, or where it would be
	it     *iterator // the one that is at the record
	alone  []byte    // the record's bytes, where the iterator has met damage on its way; else nil
}

// over makes an iterator over the keys with the prefix, if it is not made yet.
func (r *records) over(it *iterator, prefix byte) (err error) {
	if it.Iterator == nil {
		*it, err = r.from.NewIter([]byte{prefix}, []byte{prefix + 1})
	}
	return err
}

// close closes the iterators. What they have met was returned by the reads.
func (r *records) close() {
	for _, it := range []iterator{r.places, r.segment, r.early} {
		if it.Iterator != nil {
			_ = it.Close()
		}
	}
}

// find finds the place of a record of the stream. The error is a *Damage.
func (r *records) find(stream Stream, seq uint64) error {
	r.stream, r.seq, r.place = stream, seq, place{}
	if err := r.over(&r.places, placePrefix); err != nil {
		return unreadable(stream, seq, err)
	}
	at, err := findPlace(r.places, stream, seq)
	r.place = at
	return err
}

// at makes r.place the place of the record. The error is a *Damage.
func (r *records) at(stream Stream, seq uint64) error {
	if r.stream == stream && r.place.has(seq) {
		r.seq = seq
		return nil
	}
	return r.find(stream, seq)
}

// enter makes the iterator over the keys where the place is. The error is a *Damage.
func (r *records) enter() (err error) {
	prefix := byte(segmentPrefix)
	if r.it = &r.segment; r.place.segment == 0 {
		r.it, prefix = &r.early, recordPrefix
	}
	if err = r.over(r.it, prefix); err != nil {
		return unreadable(r.stream, r.seq, err)
	}
	return nil
}

// seek goes to a record and returns whether it exists. The error is a *Damage.
func (r *records) seek(stream Stream, seq uint64) (bool, error) {
	err := r.at(stream, seq)
	if err == nil {
		err = r.enter()
	}
	if err != nil {
		return false, err
	}
	key := r.place.key(stream, seq)
	return r.found(r.it.SeekGE(key), key)
}

// next goes to the stream's next record and returns whether it exists.
func (r *records) next() (bool, error) {
	if r.alone != nil || !r.place.has(r.seq+1) {
		return r.seek(r.stream, r.seq+1)
	}
	r.seq++
	return r.found(r.it.Next(), r.place.key(r.stream, r.seq))
}

// found reports whether the iterator has reached the record with the key. On its way an iterator reads
// a block of each level, with whatever keys follow there. Where such a block is damaged, the record is
// read alone: else damage would reach accounts whose own records are whole.
func (r *records) found(valid bool, key []byte) (ok bool, err error) {
	r.alone = nil
	if valid {
		return bytes.Equal(r.it.Key(), key), nil
	}
	if r.it.Error() == nil {
		return false, nil
	}
	return r.probe(r.seq)
}

// missing is why a record that must exist was not found; nil where the stream has none from it on.
func (r *records) missing() error {
	if r.place.end != math.MaxUint64 {
		return damaged(r.stream, r.seq, "is missing; a later one is in another segment")
	}
	if r.unfounded() {
		return damaged(r.stream, r.seq, "is missing; a place row names it")
	}
	key := r.place.key(r.stream, r.seq)
	if of := len(key) - 8; r.it.Valid() && len(r.it.Key()) == len(key) && bytes.Equal(r.it.Key()[:of], key[:of]) {
		return damaged(r.stream, r.seq, "is missing; the next key is %x", r.it.Key())
	}
	return nil
}

// unfounded reports whether the record is the first of a place, so that it must exist.
func (r *records) unfounded() bool { return r.place.segment != 0 && r.seq == r.place.first }

// value returns the bytes of the record.
func (r *records) value() ([]byte, error) {
	if r.alone != nil {
		return r.alone, nil
	}
	v, err := r.it.ValueAndErr()
	if err != nil {
		return nil, unreadable(r.stream, r.seq, err)
	}
	return v, nil
}

// sum returns the checksum that is stored in the record.
func (r *records) sum() (uint64, error) {
	v, err := r.value()
	if err != nil {
		return 0, err
	}
	d, err := Decode(r.stream, r.seq, v)
	return d.Sum, err
}

// unseal verifies the record with the checksum of the one before it.
func (r *records) unseal(prev uint64) (Record, error) {
	v, err := r.value()
	if err != nil {
		return Record{}, err
	}
	return Unseal(prev, r.stream, r.seq, v)
}

// one reads one record and verifies it with the checksum of the one before it; false where the
// record does not exist. It reads keys alone, for which Pebble has filters: for one record it is
// faster than must.
func (r *records) one(stream Stream, seq uint64) (Record, bool, error) {
	if seq == 0 {
		return Record{}, false, nil
	}
	v, ok, err := r.get(stream, seq)
	if err == nil && !ok && r.unfounded() {
		err = damaged(stream, seq, "is missing")
	}
	if err != nil || !ok {
		return Record{}, false, err
	}
	var before Record
	if seq > 1 {
		if before, err = r.storedAt(stream, seq-1); err != nil {
			return Record{}, false, err
		}
	}
	of, err := Unseal(before.Sum, stream, seq, v)
	return of, err == nil, err
}

// storedAt decodes a record that must exist, without verifying it.
func (r *records) storedAt(stream Stream, seq uint64) (Record, error) {
	v, ok, err := r.get(stream, seq)
	switch {
	case err != nil:
		return Record{}, err
	case !ok:
		return Record{}, damaged(stream, seq, "is missing")
	}
	return Decode(stream, seq, v)
}

// get reads the bytes of one record, without an iterator over records.
func (r *records) get(stream Stream, seq uint64) ([]byte, bool, error) {
	if err := r.at(stream, seq); err != nil {
		return nil, false, err
	}
	v, ok, err := get(r.from, r.place.key(stream, seq))
	if err != nil {
		return nil, false, unreadable(stream, seq, err)
	}
	return v, ok, nil
}

// must reads one record with iterators, for reads of many, and verifies it with the checksum of the
// one before it. A record that is missing is a *Damage.
func (r *records) must(stream Stream, seq uint64) (Record, error) {
	if seq == 0 {
		return Record{}, damaged(stream, seq, "cannot exist")
	}
	var prev uint64
	ok, err := r.seek(stream, max(seq, 2)-1)
	if err == nil && ok && seq > 1 {
		if prev, err = r.sum(); err == nil {
			ok, err = r.next()
		}
	}
	if err == nil && !ok {
		err = damaged(stream, r.seq, "is missing")
	}
	if err != nil {
		return Record{}, err
	}
	return r.unseal(prev)
}

// last goes to the stream's newest record and returns whether it has any.
func (r *records) last(stream Stream) (bool, error) {
	err := r.find(stream, math.MaxUint64-1)
	if err == nil {
		err = r.enter()
	}
	if err != nil {
		return false, err
	}
	r.alone = nil
	end := r.place.key(stream, math.MaxUint64)
	if !r.it.SeekLT(end) && r.it.Error() != nil {
		return r.gallop()
	}
	of := len(end) - 8
	if !r.it.Valid() || len(r.it.Key()) != len(end) || !bytes.Equal(r.it.Key()[:of], end[:of]) {
		return false, r.none()
	}
	if r.seq = binary.BigEndian.Uint64(r.it.Key()[of:]); r.seq < r.place.first {
		return false, damaged(stream, r.place.first, "is missing")
	}
	return true, nil
}

// none is why a place has no record; nil where it is no segment's.
func (r *records) none() error {
	if r.place.segment == 0 {
		return nil
	}
	return damaged(r.stream, r.place.first, "is missing")
}

// probe reads a record of the place alone; see found.
func (r *records) probe(seq uint64) (ok bool, err error) {
	if r.alone, ok, err = r.from.probe(r.place.key(r.stream, seq)); err != nil {
		r.alone = nil
		return false, unreadable(r.stream, seq, err)
	}
	return ok, nil
}

// gallop goes to the newest record of the place without an iterator over records, where that has met
// damage; see found. It doubles its steps until there is no record, and then halves them.
func (r *records) gallop() (bool, error) {
	none := r.place.first - 1 // the newest record that is known to exist
	newest, step, growing := none, uint64(1), true
	for step > 0 {
		ok, err := r.probe(newest + step)
		if err != nil {
			return false, err
		}
		if ok {
			newest += step
		}
		if growing = growing && ok; growing {
			step *= 2
		} else {
			step /= 2
		}
	}
	if newest == none {
		return false, r.none()
	}
	r.seq = newest
	return r.probe(newest)
}

// nextStream returns the first stream from the given one on that has records; false: there is none.
func (r *records) nextStream(from Stream) (first Stream, found bool, err error) {
	for _, of := range []struct {
		it     *iterator
		prefix byte
	}{{&r.places, placePrefix}, {&r.early, recordPrefix}} {
		if err := r.over(of.it, of.prefix); err != nil {
			return 0, false, unreadable(from, 0, err)
		}
		if !of.it.SeekGE(binary.BigEndian.AppendUint64([]byte{of.prefix}, uint64(from))) {
			if err := of.it.Error(); err != nil {
				return 0, false, unreadable(from, 0, err)
			}
			continue
		}
		k := of.it.Key()
		if len(k) != recordKeyLen { // as long as a place row's key
			return 0, false, damaged(0, 0, "key %x is not a record's", k)
		}
		if s := Stream(binary.BigEndian.Uint64(k[1:])); !found || s < first {
			first, found = s, true
		}
	}
	return first, found, nil
}
