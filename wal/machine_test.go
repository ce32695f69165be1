package wal

import (
	"errors"
	"strings"
	"testing"
)

// sealedRun makes n records of size bytes each that continue the stream after at.
func sealedRun(stream Stream, at *tail, n, size int) []Sealed {
	var all []Sealed
	for range n {
		s := Seal(at.sum, Record{Stream: stream, Seq: at.seq + 1, Time: int64(at.seq), Body: make([]byte, size)})
		*at = tail{s.Seq, s.Sum}
		all = append(all, s)
	}
	return all
}

func TestMachineLimits(t *testing.T) {
	for _, c := range []struct {
		name    string
		records int
		size    int
		want    int // expected number of entries in the first batch
	}{
		{"one record each", 1, 10, batchRecords},
		{"three records each", 3, 10, batchRecords / 3},
		{"large entries", 1, 300 << 10, 3},
		{"an entry larger than a batch goes alone", 1, batchBytes + 1, 1},
		{"more records than a batch go alone", batchRecords + 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMachine(Head{})
			m.Learn(1, 0, 0)
			var at tail
			n := 0
			for ; n < 1000; n++ {
				e := &Entry{Stream: 1, Expect: at.seq}
				e.Records = sealedRun(1, &at, c.records, c.size)
				if m.Full(e) {
					break
				}
				m.Take(e)
			}
			if n != c.want {
				t.Errorf("%d entries in a batch, want %d", n, c.want)
			}
			if m.Full(&Entry{}) {
				t.Error("a parked read must join any batch")
			}
		})
	}
}

func TestMachineBatch(t *testing.T) {
	m := NewMachine(Head{Position: 6, Time: 500, Sum: 42})
	var a, b tail
	m.Learn(1, a.seq, a.sum)
	m.Learn(2, b.seq, b.sum)
	if m.Knows(&Entry{Stream: 3, Records: make([]Sealed, 1)}) || !m.Knows(&Entry{Stream: 3}) {
		t.Error("knows")
	}
	m.Take(&Entry{Stream: 1, Records: sealedRun(1, &a, 2, 5)})
	m.Take(&Entry{Stream: 2, Records: sealedRun(2, &b, 1, 5)})
	m.Take(&Entry{Stream: 2, Expect: 7, Records: sealedRun(2, &tail{7, 7}, 1, 5)})
	m.Take(&Entry{Stream: 1, Expect: 2, Records: sealedRun(1, &a, 1, 5), Forget: true})
	if !errors.Is(m.refused[2], ErrSequence) || !strings.Contains(m.refused[2].Error(), "stands at 1") {
		t.Errorf("refused with %v", m.refused[2])
	}
	row, err := decodeBatchRow(7, m.Seal())
	if err != nil {
		t.Fatal(err)
	}
	if row.time != 500 || row.prev != 42 || len(row.runs) != 3 || row.runs[0] != (run{1, 1, 2}) || row.runs[2] != (run{1, 3, 1}) {
		t.Errorf("%+v", row)
	}
	if _, ok := m.streams[1]; !ok {
		t.Error("forgotten before it could be read back")
	}
	m.Durable()
	if _, ok := m.streams[1]; ok || len(m.streams) != 1 {
		t.Errorf("not forgotten: %v", m.streams)
	}
	if m.newest.Position != 7 || m.newest.Sum != row.sum {
		t.Errorf("%+v", m.newest)
	}
}

// TestMachineRowsAlone checks that a batch without records and without shared rows takes no
// position.
func TestMachineRowsAlone(t *testing.T) {
	m := NewMachine(Head{Position: 6})
	m.Take(&Entry{Ops: []Op{{OpSet, []byte("a"), nil}}})
	m.Take(&Entry{})
	if row := m.Seal(); row != nil || m.newest.Position != 6 {
		t.Errorf("row %x, position %d", row, m.newest.Position)
	}
}

func TestMisuse(t *testing.T) {
	s := memStore(t, Options{})
	for name, e := range map[string]*Entry{
		"upper case":       {Ops: []Op{{OpSet, []byte("J1"), nil}}},
		"empty key":        {Ops: []Op{{OpSet, nil, nil}}},
		"hard setting":     {Ops: []Op{{OpDelete, []byte("!hard/format"), nil}}},
		"own note":         {Ops: []Op{{OpSet, []byte("!wal/verified"), nil}}},
		"range from below": {Ops: []Op{{OpDeleteRange, []byte("J"), []byte("b")}}},
		"range to above":   {Ops: []Op{{OpDeleteRange, []byte("a"), []byte("|")}}},
		"unknown kind":     {Ops: []Op{{9, []byte("a"), nil}}},
		"unsealed":         {Records: []Sealed{{Seq: 1, Value: []byte("x")}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			s.Append(e)
		})
	}
	s.Append(&Entry{Ops: []Op{{OpDeleteRange, []byte("z"), PrefixEnd([]byte("z"))}}})
}

func TestPrefixEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "ab": "ac", "\xff": "", "": ""} {
		if got := PrefixEnd([]byte(in)); string(got) != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestSharedRows checks that a batch with shared rows (rows that every copy of the journal
// needs) takes one position even without records, and that a batch of local rows takes
// none.
func TestSharedRows(t *testing.T) {
	rows := []Op{{Kind: OpSet, Key: []byte("k"), Value: []byte("v")}}
	m := NewMachine(Head{Position: 7, Time: 500, Sum: 42})
	for _, c := range []struct {
		entries  []*Entry
		position uint64
	}{
		{[]*Entry{{Ops: rows}, {}}, 7},
		{[]*Entry{{Ops: rows, Shared: true}, {Ops: rows}, {Ops: rows, Shared: true}}, 8},
		{[]*Entry{{Shared: true}}, 8}, // an entry without rows, so Shared has no effect
		{[]*Entry{{Ops: rows}}, 8},
	} {
		for _, e := range c.entries {
			m.Take(e)
		}
		before := m.newest.Position
		row := m.Seal()
		if m.newest.Position != c.position || (row != nil) != (c.position > before) {
			t.Errorf("position %d, a row: %v", m.newest.Position, row != nil)
		}
		if row != nil {
			got, err := decodeBatchRow(m.newest.Position, row)
			if err != nil || len(got.runs) != 0 || got.time != 500 || got.prev != 42 || got.sum != m.newest.Sum {
				t.Errorf("read as %+v, %v", got, err)
			}
		}
		m.Durable()
	}
}
