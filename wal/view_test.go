package wal

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestViewReads checks that View.Read returns a stream's records as they were when the view
// was opened, from any sequence on, and verifies them in the same way as Store.Read.
func TestViewReads(t *testing.T) {
	s := memStore(t, Options{FS: vfs.NewMem()})
	sum := uint64(0)
	add := func(seq uint64) {
		t.Helper()
		sealed := Seal(sum, Record{Stream: 7, Seq: seq, Kind: 1, Time: int64(seq), Body: []byte{byte(seq)}})
		sum = sealed.Sum
		done := make(chanOut, 1)
		s.Append(&Entry{Stream: 7, Expect: seq - 1, Records: []Sealed{sealed}, Out: []Out{done}})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if _, there, err := s.Record(7, 0); there || err != nil {
		t.Errorf("record 0: %t, %v", there, err)
	}
	var sums [4]uint64
	for seq := uint64(1); seq <= 3; seq++ {
		add(seq)
		sums[seq] = sum
	}
	v := s.View()
	defer func() { _ = v.Close() }()
	add(4)
	for from := uint64(1); from <= 4; from++ {
		var got []uint64
		err := v.Read(7, from, sums[from-1], func(r Record) error { got = append(got, r.Seq); return nil })
		if err != nil || len(got) != int(4-from) || len(got) > 0 && got[0] != from {
			t.Errorf("from %d: %v %v", from, got, err)
		}
	}
	if err := v.Read(7, 2, sums[3], func(Record) error { return nil }); err == nil {
		t.Error("a chain that does not continue was read")
	}
}

// TestViewRecords checks that View.Records returns the records that are asked for, each verified
// with the one before it.
func TestViewRecords(t *testing.T) {
	s := memStore(t, Options{FS: vfs.NewMem()})
	const n = 9
	e, sum := &Entry{Stream: 7, Out: []Out{make(chanOut, 1)}}, uint64(0)
	for seq := uint64(1); seq <= n; seq++ {
		r := Seal(sum, Record{Stream: 7, Seq: seq, Kind: 1, Time: int64(seq), Body: []byte{byte(seq)}})
		e.Records, sum = append(e.Records, r), r.Sum
	}
	s.Append(e)
	if err := <-e.Out[0].(chanOut); err != nil {
		t.Fatal(err)
	}
	read := func(seqs ...uint64) (got []uint64, err error) {
		v := s.View()
		defer func() { _ = v.Close() }()
		err = v.Records(7, seqs, func(r Record) error {
			if r.Stream != 7 || string(r.Body) != string([]byte{byte(r.Seq)}) {
				t.Errorf("%+v", r)
			}
			got = append(got, r.Seq)
			return nil
		})
		return got, err
	}
	for _, seqs := range [][]uint64{{}, {1}, {2}, {9}, {1, 2, 3}, {2, 5, 9}, {1, 9}} {
		if got, err := read(seqs...); err != nil || !slices.Equal(got, seqs) && len(seqs) > 0 {
			t.Errorf("%v: %v (%v)", seqs, got, err)
		}
	}
	for _, seqs := range [][]uint64{{0}, {10}, {9, 10}, {1 << 63}} {
		var damage *Damage
		if _, err := read(seqs...); !errors.As(err, &damage) {
			t.Errorf("%v: %v", seqs, err)
		}
	}
	bad := Seal(99, Record{Stream: 7, Seq: 4, Kind: 1, Time: 4, Body: []byte{4}}) // it does not continue the chain
	if err := s.db.Set(keyOf(s.db, 7, 4), bad.Value, nil); err != nil {
		t.Fatal(err)
	}
	var damage *Damage
	if got, err := read(3, 4); !errors.As(err, &damage) || len(got) != 1 {
		t.Errorf("a record that does not continue the chain: %v (%v)", got, err)
	}
}

// TestHardSettingIsRead checks that HardSetting returns the stored value, and false for a
// setting that was not stored.
func TestHardSettingIsRead(t *testing.T) {
	s := memStore(t, Options{FS: vfs.NewMem(), Hard: map[string]string{"ispb": "12345678"}})
	if v, ok, err := s.HardSetting("ispb"); v != "12345678" || !ok || err != nil {
		t.Errorf("%q %v %v", v, ok, err)
	}
	if v, ok, err := s.HardSetting("other"); v != "" || ok || err != nil {
		t.Errorf("%q %v %v", v, ok, err)
	}
}
