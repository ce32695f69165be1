package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Records that are written at about the same time lie next to each other, in a segment: tables of
// different times do not overlap then, and compactions need not write records again and again.
// Segments are numbered from 1. A store begins one when it is opened for writing, and after
// segmentRecords records. A place row says in which segment a stream's records are from a sequence
// on. Records of formats before 4 are in no segment; their keys are those of RecordKey.

// segmentRecords is the number of records after which a segment ends with the batch: some 350 MB.
const segmentRecords = 1 << 20

const (
	segmentPrefix = 'R'
	placePrefix   = 'P'

	segmentKeyLen = 1 + 4 + 8 + 8
	placeKeyLen   = 1 + 8 + 8
)

func putSegmentKey(k []byte, segment uint32, stream Stream, seq uint64) {
	k[0] = segmentPrefix
	binary.BigEndian.PutUint32(k[1:], segment)
	binary.BigEndian.PutUint64(k[5:], uint64(stream))
	binary.BigEndian.PutUint64(k[13:], seq)
}

// splitSegmentKey returns what is in a key of a record in a segment; a *Damage for another key.
func splitSegmentKey(k []byte) (segment uint32, stream Stream, seq uint64, err error) {
	if len(k) != segmentKeyLen || k[0] != segmentPrefix {
		return 0, 0, 0, damaged(0, 0, "key %x is not a record's", k)
	}
	return binary.BigEndian.Uint32(k[1:]), Stream(binary.BigEndian.Uint64(k[5:])), binary.BigEndian.Uint64(k[13:]), nil
}

// newestSegment returns the number of the newest segment; 0 where there is none.
func (s *Store) newestSegment() (segment uint32, err error) {
	err = s.ScanBack([]byte{segmentPrefix}, []byte{segmentPrefix + 1}, func(k, _ []byte) (_ bool, err error) {
		if segment, _, _, err = splitSegmentKey(k); segment == math.MaxUint32 {
			err = fmt.Errorf("segment %d is the last that there can be", segment)
		}
		return false, err
	})
	return segment, err
}

func placeKey(stream Stream, first uint64) []byte {
	k := make([]byte, placeKeyLen)
	k[0] = placePrefix
	binary.BigEndian.PutUint64(k[1:], uint64(stream))
	binary.BigEndian.PutUint64(k[9:], first)
	return k
}

func placeValue(segment uint32) []byte { return binary.BigEndian.AppendUint32(nil, segment) }

// place says where a stream's records with sequences in [first, end) are. The zero place has none.
type place struct {
	segment    uint32 // 0: none, they were written in an earlier format
	first, end uint64 // end is math.MaxUint64 where the newest record is in the place
}

func (p place) has(seq uint64) bool { return p.first <= seq && seq < p.end }

// key is the key that a record of the place has.
func (p place) key(stream Stream, seq uint64) []byte {
	if p.segment == 0 {
		return RecordKey(stream, seq)
	}
	k := make([]byte, segmentKeyLen)
	putSegmentKey(k, p.segment, stream, seq)
	return k
}

// readPlace decodes the place row at the iterator's position; false where that is at no row of the
// stream. The error is a *Damage.
func readPlace(it iterator, stream Stream) (p place, ok bool, err error) {
	if !it.Valid() {
		if err := it.Error(); err != nil {
			return place{}, false, unreadable(stream, 0, err)
		}
		return place{}, false, nil
	}
	k := it.Key()
	if !bytes.HasPrefix(k, placeKey(stream, 0)[:placeKeyLen-8]) {
		return place{}, false, nil
	}
	v, err := it.ValueAndErr()
	switch {
	case err != nil:
		return place{}, false, unreadable(stream, 0, err)
	case len(k) != placeKeyLen || len(v) != 4 || binary.BigEndian.Uint32(v) == 0:
		return place{}, false, damaged(stream, 0, "its place row %x cannot be decoded: %x", k, v)
	}
	return place{binary.BigEndian.Uint32(v), binary.BigEndian.Uint64(k[9:]), math.MaxUint64}, true, nil
}

// findPlace returns the place of a stream's record; it is an iterator over the place rows. The
// record need not exist. The error is a *Damage.
func findPlace(it iterator, stream Stream, seq uint64) (place, error) {
	it.SeekLT(placeKey(stream, min(seq, math.MaxUint64-1)+1))
	p, ok, err := readPlace(it, stream)
	if err != nil {
		return place{}, err
	}
	if !ok {
		p = place{first: 1, end: math.MaxUint64}
	}
	it.Next()
	after, ok, err := readPlace(it, stream)
	if ok {
		p.end = after.first
	}
	return p, err
}

// checkPlaces checks that each place row names records of its segment from its sequence on, and that
// no segment has a record that no place row or, at the end of a stream, no batch names.
func (s *Store) checkPlaces(tails map[Stream]walked) error {
	r := &records{from: s.source()}
	defer r.close()
	var segment uint32
	var stream Stream
	var seq uint64
	var groups, rows int
	err := s.Scan([]byte{segmentPrefix}, []byte{segmentPrefix + 1}, func(k, _ []byte) (bool, error) {
		in, of, got, err := splitSegmentKey(k)
		if err != nil {
			return false, err
		}
		if in != segment || of != stream {
			if err := r.find(of, got); err != nil {
				return false, err
			}
			segment, stream, seq = in, of, r.place.first-1
			groups++
		}
		seq++
		if r.place.segment != in || got != seq || !r.place.has(got) || got > tails[of].seq {
			return false, damaged(of, got, "no batch names it in segment %d", in)
		}
		return true, nil
	})
	if err == nil {
		err = s.Scan([]byte{placePrefix}, []byte{placePrefix + 1}, func(k, _ []byte) (bool, error) { rows++; return true, nil })
	}
	if err == nil && rows != groups {
		err = damaged(0, 0, "%d place rows name records in %d places", rows, groups)
	}
	return err
}
