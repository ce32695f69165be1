package wal

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestReadsOfFlippedTable flips a bit in each block of a table and checks that every read returns what
// was written, or damage: no record is missing without an error.
func TestReadsOfFlippedTable(t *testing.T) {
	const streams = 1500 // so that place rows fill blocks of their own
	for _, earlier := range []bool{false, true} {
		fs, k := vfs.NewMem(), kept{}
		s := openOn(t, fs, Options{segmentRecords: 700})
		k.fill(s, streams)
		flushed(t, s)
		closeStore(t, s)
		if earlier {
			early(t, fs)
			s = openOn(t, fs, Options{})
			if err := s.db.Compact(t.Context(), []byte("!"), []byte("z"), false); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
		}
		some := kept{}
		for stream := Stream(1); stream <= streams; stream += 250 {
			some[stream] = k[stream]
		}
		if met := some.flipAll(t, fs, streams); met < 20 {
			t.Errorf("earlier %v: %d reads met damage", earlier, met)
		}
	}
}

// fill appends two records to each of so many streams, far from each other.
func (k kept) fill(s *Store, streams int) {
	for round := range 2 {
		for stream := Stream(1); stream <= Stream(streams); stream++ {
			at := tail{}
			if round > 0 {
				at = tail{1, k[stream][0].Sum}
			}
			e := &Entry{Stream: stream, Expect: at.seq}
			e.Records = sealedRun(stream, &at, 1, 20)
			k[stream] = append(k[stream], e.Records...)
			s.Append(e)
		}
	}
}

// flipAll flips a bit in each block of the store's newest table, and returns how many reads met that.
func (k kept) flipAll(t *testing.T, fs *vfs.MemFS, streams int) (met int) {
	t.Helper()
	name := newestFile(t, fs, ".sst")
	whole := readAll(t, fs, name)
	step := 600
	if testing.Short() {
		step = 3000
	}
	for at := 0; at < len(whole); at += step {
		data := bytes.Clone(whole)
		data[at] ^= 1
		if err := writeFile(fs, name, data); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Dir: harnessDir, FS: fs, ReadOnly: true, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err != nil {
			continue // refused
		}
		met += k.orDamage(t, s, at, streams)
		closeStore(t, s)
	}
	return met
}

// orDamage checks each way to read, of which any may find damage, and returns how many did. The store
// has so many streams.
func (k kept) orDamage(t *testing.T, s *Store, at, streams int) (met int) {
	t.Helper()
	check := func(what string, of Stream, right bool, err error) {
		switch {
		case IsDamage(err):
			met++
		case err != nil || !right:
			t.Errorf("byte %d: stream %d: %s: right %v, %v", at, of, what, right, err)
		}
	}
	v := s.View()
	defer func() { _ = v.Close() }()
	for stream, all := range k {
		n, newest := 0, all[len(all)-1]
		err := s.Read(stream, 1, 0, func(Record) error { n++; return nil })
		check("read", stream, n == len(all), err)
		seq, sum, err := s.Last(stream)
		check("last", stream, seq == newest.Seq && sum == newest.Sum, err)
		seq, err = v.Last(stream)
		check("a view's last", stream, seq == newest.Seq, err)
		r, ok, err := s.Record(stream, newest.Seq)
		check("record", stream, ok && r.Sum == newest.Sum, err)
		n = 0
		err = v.Records(stream, []uint64{1, newest.Seq}, func(Record) error { n++; return nil })
		check("records", stream, n == 2, err)
	}
	n := 0
	err := v.Newest(func(Record) error { n++; return nil })
	check("newest", 0, n == streams, err)
	return met
}

// TestDamagedOwn checks that a read ends with damage at a record of the stream itself, and is not taken
// to be at the stream's end.
func TestDamagedOwn(t *testing.T) {
	for hit := 1; hit < 3; hit++ { // the first is in a block with what an opening reads
		body := incompressible()
		fs := vfs.NewMem()
		s := openOn(t, fs, Options{})
		var bodies [3][]byte
		var prev uint64
		for i := range bodies {
			bodies[i] = body()
			r := Seal(prev, Record{Stream: 1, Seq: uint64(i) + 1, Kind: 1, Body: bodies[i]})
			s.Append(&Entry{Stream: 1, Expect: uint64(i), Records: []Sealed{r}})
			prev = r.Sum
		}
		flushed(t, s)
		closeStore(t, s)
		flipIn(t, fs, bodies[hit][100:200])
		s = openOn(t, fs, Options{ReadOnly: true})
		n := 0
		if err := s.Read(1, 1, 0, func(Record) error { n++; return nil }); !IsDamage(err) || n != hit {
			t.Errorf("record %d: %d are read, %v", hit+1, n, err)
		}
		if seq, _, err := s.Last(1); hit == 2 && !IsDamage(err) || hit != 2 && (seq != 3 || err != nil) {
			t.Errorf("record %d: the last is %d, %v", hit+1, seq, err)
		}
		closeStore(t, s)
	}
}

// flipIn flips a bit of the newest table where it has the bytes.
func flipIn(t *testing.T, fs *vfs.MemFS, part []byte) {
	t.Helper()
	name := newestFile(t, fs, ".sst")
	data := readAll(t, fs, name)
	at := bytes.Index(data, part)
	if at < 0 {
		t.Fatal("not found")
	}
	data[at] ^= 1
	if err := writeFile(fs, name, data); err != nil {
		t.Fatal(err)
	}
}
