package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// incompressible returns a function that makes values which are larger than a block and cannot be
// compressed.
func incompressible() func() []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	return func() []byte {
		b := make([]byte, 20<<10)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
}

// TestDamagedRow checks that a damaged block of rows leaves every record readable.
func TestDamagedRow(t *testing.T) {
	body := incompressible()
	fs := vfs.NewMem()
	open := func(ro bool) *Store {
		s, err := Open(Options{Dir: harnessDir, FS: fs, ReadOnly: ro, CacheBytes: 1 << 20, MemTableBytes: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(false)
	sums := map[Stream]uint64{}
	for stream := Stream(1); stream <= 20; stream++ {
		r := Seal(0, Record{Stream: stream, Seq: 1, Kind: 1, Body: body()})
		sums[stream] = r.Sum
		s.Append(&Entry{Stream: stream, Records: []Sealed{r}})
	}
	row := body()
	for i := range 4 {
		v := body()
		if i == 0 {
			v = row
		}
		if err := s.WriteRows(Local, Op{Kind: OpSet, Key: fmt.Appendf(nil, "a%d", i), Value: v}); err != nil {
			t.Fatal(err)
		}
	}
	flushed(t, s)
	if err := s.db.Compact(t.Context(), []byte("!"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(false)
	for stream := Stream(1); stream <= 20; stream++ {
		r := Seal(sums[stream], Record{Stream: stream, Seq: 2, Kind: 1, Body: []byte("second")})
		s.Append(&Entry{Stream: stream, Expect: 1, Records: []Sealed{r}})
	}
	flushed(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found := false
	names, _ := fs.List(harnessDir + "/" + storeName)
	for _, n := range names {
		name := harnessDir + "/" + storeName + "/" + n
		data, err := readFile(fs, name)
		if err != nil {
			continue
		}
		if at := bytes.Index(data, row[100:200]); at >= 0 && n[len(n)-4:] == ".sst" {
			data[at] ^= 1
			found = true
			if err := writeFile(fs, name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatal("not found")
	}
	s = open(true)
	reads, records, lasts := 0, 0, 0
	for stream := Stream(1); stream <= 20; stream++ {
		if err := s.Read(stream, 2, sums[stream], func(Record) error { return nil }); err != nil {
			reads++
		}
		if _, ok, err := s.Record(stream, 2); err != nil || !ok {
			records++
		}
		if _, _, err := s.Last(stream); err != nil {
			lasts++
		}
	}
	_, _, rerr := s.Get([]byte("a0"))
	if reads+records+lasts > 0 || rerr == nil {
		t.Errorf("of 20 streams unreadable: read %d, record %d, last %d; the row itself: %v", reads, records, lasts, rerr)
	}
	closeStore(t, s)
}

// TestNeighboursDamage checks that a damaged block makes only those streams unreadable whose records
// are in it.
func TestNeighboursDamage(t *testing.T) {
	body := incompressible()
	fs := vfs.NewMem()
	s := openOn(t, fs, Options{})
	bodies := map[Stream][]byte{}
	for stream := Stream(1); stream <= 4; stream++ {
		bodies[stream] = body()
		s.Append(&Entry{Stream: stream, Records: []Sealed{Seal(0, Record{Stream: stream, Seq: 1, Kind: 1, Body: bodies[stream]})}})
	}
	flushed(t, s)
	closeStore(t, s)
	flipIn(t, fs, bodies[3][100:200])
	s = openOn(t, fs, Options{ReadOnly: true})
	defer closeStore(t, s)
	for stream := Stream(1); stream <= 4; stream++ {
		err := s.Read(stream, 1, 0, func(Record) error { return nil })
		_, _, rerr := s.Record(stream, 1)
		_, _, lerr := s.Last(stream)
		for what, err := range map[string]error{"read": err, "record": rerr, "last": lerr} {
			if err != nil && !IsDamage(err) {
				t.Errorf("stream %d: %s: %v", stream, what, err)
			}
		}
		if broken := stream == 3; (err != nil) != broken || (rerr != nil) != broken || (lerr != nil) != broken {
			t.Errorf("stream %d: read %v, record %v, last %v", stream, err, rerr, lerr)
		}
	}
}

// TestPlaceLeadsToNothing checks that reads notice a place row without records behind it.
func TestPlaceLeadsToNothing(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{segmentRecords: 1})
	defer closeStore(t, s)
	k := kept{}
	k.appendSome(t, s, 20, 9)
	newest := k[1][len(k[1])-1].Seq
	p := placeOf(t, s, 1, newest)
	for seq := p.first; seq <= newest; seq++ {
		if err := s.db.Delete(p.key(1, seq), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := s.Read(1, 1, 0, func(Record) error { n++; return nil }); !IsDamage(err) {
		t.Errorf("read: %d records of %d, %v", n, newest, err)
	}
	if _, ok, err := s.Record(1, p.first); ok || !IsDamage(err) {
		t.Errorf("record: %v %v", ok, err)
	}
	if seq, _, err := s.Last(1); !IsDamage(err) {
		t.Errorf("last: %d %v", seq, err)
	}
	v := s.View()
	if seq, err := v.Last(1); !IsDamage(err) {
		t.Errorf("view's last: %d %v", seq, err)
	}
	if err := v.Newest(func(Record) error { return nil }); !IsDamage(err) {
		t.Errorf("newest: %v", err)
	}
	_ = v.Close()
}

// TestSuperfluousEarly checks that Verify finds a record in no segment that is in a segment too.
func TestSuperfluousEarly(t *testing.T) {
	for _, before := range []int{0, 6} {
		fs, k := vfs.NewMem(), kept{}
		s := openOn(t, fs, Options{})
		if before > 0 {
			k.appendSome(t, s, before, 5)
			closeStore(t, s)
			early(t, fs)
			s = openOn(t, fs, Options{})
		}
		at := uint64(len(k[1])) + 1
		k.appendSome(t, s, 20, 9)
		closeStore(t, s)
		spoil(t, fs, func(db *pebble.DB) error {
			other := Seal(7, Record{Stream: 1, Seq: at, Kind: 1, Body: []byte("other")})
			return db.Set(RecordKey(1, at), other.Value, pebble.Sync)
		})
		s = openOn(t, fs, Options{ReadOnly: true})
		if _, err := s.Verify(nil, nil); !IsDamage(err) {
			t.Errorf("%d before: verify: %v", before, err)
		}
		closeStore(t, s)
	}
}

// TestSuperfluousAfterLast checks that Verify finds a record after the stream's last in its segment.
func TestSuperfluousAfterLast(t *testing.T) {
	fs, k := vfs.NewMem(), kept{}
	s := openOn(t, fs, Options{})
	k.appendSome(t, s, 20, 9)
	newest := k[1][len(k[1])-1]
	closeStore(t, s)
	spoil(t, fs, func(db *pebble.DB) error {
		return db.Set(keyOf(db, 1, newest.Seq+1), Seal(newest.Sum, Record{Stream: 1, Seq: newest.Seq + 1, Kind: 1}).Value, pebble.Sync)
	})
	s = openOn(t, fs, Options{ReadOnly: true})
	defer closeStore(t, s)
	if _, err := s.Verify(nil, nil); !IsDamage(err) {
		t.Errorf("verify: %v", err)
	}
}

// TestNeighboursPlace checks that a damaged place row concerns its own stream alone.
func TestNeighboursPlace(t *testing.T) {
	for name, spoiled := range map[string]struct{ k, v []byte }{
		"a value cut": {placeKey(5, 1), []byte{1}},
		"a key cut":   {placeKey(5, 1)[:13], []byte{0, 0, 0, 1}},
	} {
		s := openOn(t, vfs.NewMem(), Options{})
		for stream := Stream(4); stream <= 6; stream++ {
			s.Append(&Entry{Stream: stream, Records: []Sealed{Seal(0, Record{Stream: stream, Seq: 1, Kind: 1})}})
		}
		flushed(t, s)
		if err := s.db.Set(spoiled.k, spoiled.v, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		for _, stream := range []Stream{4, 6} {
			if err := s.Read(stream, 1, 0, func(Record) error { return nil }); err != nil {
				t.Errorf("%s: stream %d: %v", name, stream, err)
			}
			if _, _, err := s.Last(stream); err != nil {
				t.Errorf("%s: last of stream %d: %v", name, stream, err)
			}
		}
		v := s.View()
		err := v.Newest(func(Record) error { return nil })
		if !IsDamage(err) {
			t.Errorf("%s: newest: %v", name, err)
		}
		_ = v.Close()
		if _, err := s.Verify(nil, nil); !IsDamage(err) {
			t.Errorf("%s: verify: %v", name, err)
		}
		closeStore(t, s)
	}
}

// TestHoleInNewestSegment checks that reads notice a record that is missing in the newest segment, and
// one that a place row names.
func TestHoleInNewestSegment(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	k := kept{}
	k.appendSome(t, s, 40, 9)
	if err := s.db.Delete(keyOf(s.db, 1, 2), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	d := new(Damage)
	if err := s.Read(1, 1, 0, func(Record) error { return nil }); !errors.As(err, &d) || d.Seq != 2 {
		t.Errorf("read: %v", err)
	}
	if _, _, err := s.Record(1, 3); !errors.As(err, &d) || d.Seq != 2 || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("record: %v", err)
	}
	if err := s.db.Set(placeKey(1, 1<<40), placeValue(1), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Last(1); !IsDamage(err) { // the segment's records are before the place
		t.Errorf("last: %v", err)
	}
}

// TestGallop checks that the newest record of a place is found without an iterator over records.
func TestGallop(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{segmentRecords: 20})
	defer closeStore(t, s)
	at := tail{}
	for range 50 {
		e := &Entry{Stream: 1, Expect: at.seq}
		e.Records = sealedRun(1, &at, 1, 1)
		s.Append(e)
		flushed(t, s)
		r := &records{from: s.source()}
		err := r.find(1, math.MaxUint64)
		if err == nil {
			_, err = r.gallop()
		}
		if sum, serr := r.sum(); err != nil || serr != nil || r.seq != at.seq || sum != at.sum {
			t.Errorf("of %d records the last is %d: %v, %v", at.seq, r.seq, err, serr)
		}
		r.close()
	}
	r := &records{from: s.source(), stream: 1, place: place{segment: 9, first: 5, end: math.MaxUint64}}
	if ok, err := r.gallop(); ok || !IsDamage(err) {
		t.Errorf("a place without records: %v %v", ok, err)
	}
	r.place = place{first: 1, end: math.MaxUint64}
	if ok, err := r.gallop(); ok || err != nil {
		t.Errorf("no record: %v %v", ok, err)
	}
}
