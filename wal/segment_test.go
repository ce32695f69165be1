package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// early makes a closed store one of format 3, in which records are in no segment.
func early(t *testing.T, fs FS) {
	t.Helper()
	spoil(t, fs, func(db *pebble.DB) error {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{placePrefix}, UpperBound: []byte{segmentPrefix + 1}})
		if err != nil {
			return err
		}
		b := db.NewBatch()
		for ok := it.First(); ok; ok = it.Next() {
			if it.Key()[0] == segmentPrefix {
				_, stream, seq, err := splitSegmentKey(it.Key())
				if err = errors.Join(err, b.Set(RecordKey(stream, seq), it.Value(), nil)); err != nil {
					return err
				}
			}
			if err := b.Delete(it.Key(), nil); err != nil {
				return err
			}
		}
		return errors.Join(b.Set(metaKey(hardPrefix+settingFormat), []byte("3"), nil), b.Delete(metaKey(onceName), nil), it.Close(), b.Commit(pebble.Sync))
	})
}

// kept are records of a few streams as they were appended, in order.
type kept map[Stream][]Sealed

// appendSome appends n entries of one to three records to streams in turn, and a stream of its own.
func (k kept) appendSome(t *testing.T, s *Store, n int, own Stream) {
	t.Helper()
	for i := range n {
		stream := []Stream{1, 2, 1 << 40, ^Stream(0), own}[i%5]
		old := k[stream]
		e := &Entry{Stream: stream, Expect: uint64(len(old)), Forget: i%7 == 0}
		for range 1 + i%3 {
			var prev uint64
			if len(old) > 0 {
				prev = old[len(old)-1].Sum
			}
			r := Seal(prev, Record{Stream: stream, Seq: uint64(len(old)) + 1, Kind: 1, Time: int64(i), Body: fmt.Append(nil, stream, len(old))})
			old, e.Records = append(old, r), append(e.Records, r)
		}
		done := make(resultOut, 1)
		e.Out = []Out{done}
		s.Append(e)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		k[stream] = old
	}
}

// check compares every way to read with what was appended.
func (k kept) check(t *testing.T, s *Store) {
	t.Helper()
	v := s.View()
	defer func() { _ = v.Close() }()
	var streams []Stream
	records := 0
	for stream, all := range k {
		streams, records = append(streams, stream), records+len(all)
		newest := all[len(all)-1]
		if seq, sum, err := s.Last(stream); seq != newest.Seq || sum != newest.Sum || err != nil {
			t.Errorf("stream %d ends at %d, want %d (%v)", stream, seq, newest.Seq, err)
		}
		if seq, err := v.Last(stream); seq != newest.Seq || err != nil {
			t.Errorf("a view: stream %d ends at %d, want %d (%v)", stream, seq, newest.Seq, err)
		}
		for i, want := range all {
			var prev uint64
			if i > 0 {
				prev = all[i-1].Sum
			}
			at := i
			if err := s.Read(stream, want.Seq, prev, func(r Record) error {
				if r.Sum != all[at].Sum {
					t.Errorf("stream %d: record %d is another", stream, r.Seq)
				}
				at++
				return nil
			}); err != nil || at != len(all) {
				t.Errorf("stream %d from %d: read to %d of %d: %v", stream, want.Seq, at, len(all), err)
			}
			if r, ok, err := s.Record(stream, want.Seq); !ok || err != nil || r.Sum != want.Sum {
				t.Errorf("stream %d: record %d: %v %v", stream, want.Seq, ok, err)
			}
		}
		var seqs, got []uint64
		for seq := uint64(1); seq <= newest.Seq; seq += 3 {
			seqs = append(seqs, seq)
		}
		if err := v.Records(stream, seqs, func(r Record) error { got = append(got, r.Seq); return nil }); err != nil || !slices.Equal(got, seqs) {
			t.Errorf("stream %d: %v of %v: %v", stream, got, seqs, err)
		}
		if _, ok, err := s.Record(stream, newest.Seq+1); ok || err != nil {
			t.Errorf("stream %d: a record after the last: %v %v", stream, ok, err)
		}
	}
	slices.Sort(streams)
	var order []Stream
	if err := v.Newest(func(r Record) error {
		order = append(order, r.Stream)
		if all := k[r.Stream]; r.Sum != all[len(all)-1].Sum {
			t.Errorf("stream %d: its newest record is %d", r.Stream, r.Seq)
		}
		return nil
	}); err != nil || !slices.Equal(order, streams) {
		t.Errorf("streams %v, want %v (%v)", order, streams, err)
	}
	if r, err := s.Verify(nil, nil); err != nil || r.Records != uint64(records) || r.Streams != uint64(len(streams)) {
		t.Errorf("verify: %+v, want %d records of %d streams: %v", r, records, len(streams), err)
	}
	if _, ok, err := s.Record(77, 1); ok || err != nil {
		t.Errorf("of an unknown stream: %v %v", ok, err)
	}
	if seq, sum, err := s.Last(77); seq != 0 || sum != 0 || err != nil {
		t.Errorf("of an unknown stream: %d, %v", seq, err)
	}
	if err := s.Rows(func(k, _ []byte) error { return fmt.Errorf("a row under %q", k) }); err != nil {
		t.Error(err)
	}
}

// TestSegments checks that records are read back, by every way to read, from a store whose records
// are partly of an earlier format and partly in segments, of which some began because the one before
// was full and others because the store was opened.
func TestSegments(t *testing.T) {
	for _, before := range []int{0, 1, 6, 40} {
		fs, k := vfs.NewMem(), kept{}
		if before > 0 {
			s := openOn(t, fs, Options{})
			k.appendSome(t, s, before, 5)
			closeStore(t, s)
			early(t, fs)
			s = openOn(t, fs, Options{ReadOnly: true})
			k.check(t, s)
			closeStore(t, s)
		}
		for opening := range 3 {
			s := openOn(t, fs, Options{segmentRecords: 9})
			k.appendSome(t, s, 40, Stream(100+opening))
			k.check(t, s)
			closeStore(t, s)
		}
		s := openOn(t, fs, Options{ReadOnly: true})
		k.check(t, s)
		if got, err := s.newestSegment(); err != nil || got < 3*80/12 {
			t.Errorf("the newest segment is %d (%v)", got, err)
		}
		if first := keyOf(s.db, 1, 1); bytes.Equal(first, RecordKey(1, 1)) != (before > 0) {
			t.Errorf("%d entries before: the key of the first record is %x", before, first)
		}
		closeStore(t, s)
	}
}

// TestSegmentOfManyStreams checks that a place row is written once for each stream and segment.
func TestSegmentOfManyStreams(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{segmentRecords: 30})
	defer closeStore(t, s)
	k := kept{}
	k.appendSome(t, s, 100, 9)
	places := map[string]int{}
	if err := s.Scan([]byte{segmentPrefix}, []byte{segmentPrefix + 1}, func(key, _ []byte) (bool, error) {
		places[string(key[:segmentKeyLen-8])]++
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	if err := s.Scan([]byte{placePrefix}, []byte{placePrefix + 1}, func(_, _ []byte) (bool, error) { rows++; return true, nil }); err != nil {
		t.Fatal(err)
	}
	if newest, err := s.newestSegment(); err != nil || rows != len(places) || newest < 6 || newest > 8 || rows > 5*int(newest) {
		t.Errorf("%d place rows for %d places in %d segments (%v)", rows, len(places), newest, err)
	}
}

// TestSegmentHole checks that a missing record is found where it is the last or the first of its segment,
// or between others.
func TestSegmentHole(t *testing.T) {
	for name, c := range map[string]struct {
		gone func(k kept, s *Store) []byte
		want string
	}{
		"the last of a segment":  {func(_ kept, s *Store) []byte { p := placeOf(t, s, 1, 1); return p.key(1, p.end-1) }, "is missing"},
		"the first of a segment": {func(_ kept, s *Store) []byte { p := placeOf(t, s, 1, 1); return placeOf(t, s, 1, p.end).key(1, p.end) }, "is missing"},
		"one between":            {func(_ kept, s *Store) []byte { return placeOf(t, s, 1, 2).key(1, 2) }, "is missing"},
	} {
		fs, k := vfs.NewMem(), kept{}
		s := openOn(t, fs, Options{segmentRecords: 30})
		k.appendSome(t, s, 60, 9)
		if err := s.db.Delete(c.gone(k, s), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		err := s.Read(1, 1, 0, func(Record) error { return nil })
		if d := new(Damage); !errors.As(err, &d) || d.Stream != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: read: %v", name, err)
		}
		if _, err := s.Verify(nil, nil); err == nil {
			t.Errorf("%s: verify finds nothing", name)
		}
		closeStore(t, s)
	}
}

func placeOf(t *testing.T, s *Store, stream Stream, seq uint64) place {
	t.Helper()
	r := &records{from: s.source()}
	defer r.close()
	if err := r.find(stream, seq); err != nil {
		t.Fatal(err)
	}
	return r.place
}

// TestReadsBesideWriter checks that reads of a store that is written see a beginning of each stream
// that has at least what was durable when they began.
func TestReadsBesideWriter(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{segmentRecords: 3})
	defer closeStore(t, s)
	var durable atomic.Uint64
	var end atomic.Bool
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for !end.Load() {
				least := durable.Load()
				n := uint64(0)
				if err := s.Read(1, 1, 0, func(r Record) error { n = r.Seq; return nil }); err != nil || n < least {
					t.Errorf("read to %d of %d: %v", n, least, err)
				}
				if seq, _, err := s.Last(1); err != nil || seq < least {
					t.Errorf("last %d of %d: %v", seq, least, err)
				}
				if least > 0 {
					if _, ok, err := s.Record(1, least); err != nil || !ok {
						t.Errorf("record %d: %v %v", least, ok, err)
					}
				}
				if _, _, err := s.Record(1, least+1); err != nil {
					t.Errorf("record %d: %v", least+1, err)
				}
			}
		}()
	}
	entries := 1200 // each read is of the whole stream
	if testing.Short() {
		entries = 500
	}
	var at tail
	for i := range entries {
		done := make(resultOut, 1)
		e := &Entry{Stream: 1, Expect: at.seq, Forget: i%5 == 0, Out: []Out{done}}
		e.Records = sealedRun(1, &at, 1+i%3, 10)
		s.Append(e)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		durable.Store(at.seq)
	}
	end.Store(true)
	wait.Wait()
}

// TestEdges checks reads of the first and last sequences and streams that there can be.
func TestEdges(t *testing.T) {
	for _, before := range []int{0, 7} {
		fs, k := vfs.NewMem(), kept{}
		s := openOn(t, fs, Options{segmentRecords: 9})
		if before > 0 {
			k.appendSome(t, s, before, 0)
			closeStore(t, s)
			early(t, fs)
			s = openOn(t, fs, Options{segmentRecords: 9})
		}
		k.appendSome(t, s, 60, 0)
		k.check(t, s)
		for _, stream := range []Stream{0, 3, ^Stream(0), ^Stream(0) - 1} {
			newest := uint64(len(k[stream]))
			for _, seq := range []uint64{0, newest + 1, newest + 2, 1<<63 - 1, 1<<64 - 2, 1<<64 - 1} {
				if _, ok, err := s.Record(stream, seq); ok || err != nil {
					t.Errorf("record %d of %d: %v %v", seq, stream, ok, err)
				}
				n := 0
				err := s.Read(stream, seq, 0, func(Record) error { n++; return nil })
				if (seq == 0 && newest > 0) != (err != nil) || n > 0 {
					t.Errorf("read %d of %d: %d %v", seq, stream, n, err)
				}
			}
		}
		closeStore(t, s)
		s = openOn(t, fs, Options{segmentRecords: 9, SetOnce: []byte("o")})
		k.check(t, s)
		k.appendSome(t, s, 60, 0)
		k.check(t, s)
		closeStore(t, s)
	}
}

// TestSegmentBounds checks that a segment ends with its last record, and that an opening begins one.
func TestSegmentBounds(t *testing.T) {
	if segmentRecords != 1_048_576 {
		t.Errorf("%d records in a segment; docs/formats-wal.md says another number", segmentRecords)
	}
	fs, at := vfs.NewMem(), tail{}
	for _, wants := range [][]uint32{{1, 1, 1, 2, 2}, {3, 3, 3, 4}} {
		s := openOn(t, fs, Options{segmentRecords: 3})
		for _, want := range wants {
			e := &Entry{Stream: 1, Expect: at.seq}
			e.Records = sealedRun(1, &at, 1, 1)
			s.Append(e)
			flushed(t, s)
			if got := placeOf(t, s, 1, at.seq).segment; got != want {
				t.Errorf("record %d is in segment %d, want %d", at.seq, got, want)
			}
		}
		closeStore(t, s)
	}
}

// TestLastSegment checks that a store with the last segment that there can be is not written.
func TestLastSegment(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	spoil(t, fs, func(db *pebble.DB) error {
		return db.Set(place{segment: math.MaxUint32}.key(1, 1), nil, pebble.Sync)
	})
	refuses(t, fs, Options{}, "segment 4294967295")
}

// TestStreamZeroAlone checks that a store with no other stream than 0 is read.
func TestStreamZeroAlone(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	s.Append(&Entry{Records: sealedRun(0, &tail{}, 3, 1)})
	flushed(t, s)
	n := 0
	if err := s.Read(0, 1, 0, func(Record) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d records: %v", n, err)
	}
}
