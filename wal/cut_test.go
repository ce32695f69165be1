package wal

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// owned returns every key of a store that is the journal's own, but for the verified mark.
func owned(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Scan(nil, []byte{'a'}, func(k, v []byte) (bool, error) {
		all[string(k)] = string(v)
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	delete(all, "!"+markName)
	return all
}

// growing is a store that was opened three times, the first time in format 3. Two batches after each
// other have one time. after has what was in the store after each batch.
type growing struct {
	fs    *vfs.MemFS
	kept  kept
	after []map[string]string
	open  func(*testing.T, FS) *Store
}

const (
	growingFrom = 1_700_000_000_000
	growingStep = 7 // of the times of two pairs of batches
)

// timeOf is the time of the n-th batch, from 0 on.
func timeOf(n int) int64 { return growingFrom + int64(n/2)*growingStep }

func grow(t *testing.T) *growing {
	t.Helper()
	g := &growing{fs: vfs.NewCrashableMem(), kept: kept{}}
	g.open = func(t *testing.T, fs FS) *Store {
		return mustOpen(t, Options{Dir: harnessDir, FS: fs, segmentRecords: 17})
	}
	for opened := range 3 {
		s := g.open(t, g.fs)
		for range 24 {
			g.append(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if opened == 0 {
			early(t, g.fs)
			for _, all := range g.after {
				inFormat3(t, all)
			}
		}
	}
	return g
}

// inFormat3 moves records out of their segments, as early does.
func inFormat3(t *testing.T, all map[string]string) {
	t.Helper()
	for k, v := range maps.Clone(all) {
		if k[0] == segmentPrefix {
			_, stream, seq, err := splitSegmentKey([]byte(k))
			if err != nil {
				t.Fatal(err)
			}
			all[string(RecordKey(stream, seq))] = v
		}
		if k[0] == segmentPrefix || k[0] == placePrefix {
			delete(all, k)
		}
	}
}

// append appends the next entry: every tenth has rows alone.
func (g *growing) append(t *testing.T, s *Store) {
	t.Helper()
	n := len(g.after)
	e := &Entry{Shared: true, Ops: []Op{{OpSet, fmt.Append(nil, "row", n), []byte("v")}}}
	if n%10 != 9 {
		stream := []Stream{0, 1, 1 << 40, ^Stream(0), 2}[n%5]
		old := g.kept[stream]
		e = &Entry{Stream: stream, Expect: uint64(len(old)), Ops: e.Ops}
		for range 1 + n%4 {
			var prev uint64
			if len(old) > 0 {
				prev = old[len(old)-1].Sum
			}
			r := Seal(prev, Record{Stream: stream, Seq: uint64(len(old)) + 1, Kind: 1, Time: timeOf(n), Body: fmt.Append(nil, n)})
			old, e.Records = append(old, r), append(e.Records, r)
		}
		g.kept[stream] = old
	}
	done := make(resultOut, 1)
	e.Out = []Out{done}
	s.Append(e)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	g.after = append(g.after, owned(t, s))
}

// TestCutOff cuts a store at the time of each batch, and between. What is left is what was there then,
// is verified, and goes on.
func TestCutOff(t *testing.T) {
	t.Parallel()
	g := grow(t)
	for n := 0; n < len(g.after); n += 2 {
		for _, until := range []int64{timeOf(n) + int64(n/2%2)*(growingStep-1)} {
			fs := g.fs.CrashClone(vfs.CrashCloneCfg{})
			c, err := CutOff(Options{Dir: harnessDir, FS: fs}, until)
			if err != nil {
				t.Fatal(err)
			}
			s := g.open(t, fs)
			if mark, _, err := s.Get(metaKey(markName)); string(mark) != string(markValue(c.Head)) || err != nil {
				t.Errorf("cut at %d: the verified mark is %x, want %+v; %v", until, mark, c.Head, err)
			}
			got := owned(t, s)
			records := 0
			for k := range g.after[len(g.after)-1] {
				if _, left := got[k]; !left && (k[0] == recordPrefix || k[0] == segmentPrefix) {
					records++
				}
			}
			if want := g.after[n+1]; !maps.Equal(got, want) {
				t.Errorf("cut after batch %d: %d keys, want %d", n+2, len(got), len(want))
			}
			if position, time, _ := s.Head(); position != uint64(n+2) || c.Position != position || c.Time != time || c.Batches != uint64(len(g.after)-n-2) || c.Records != uint64(records) {
				t.Errorf("cut at %d: the journal ends at %d, %+v, %d records", until, position, c, records)
			}
			goesOn(t, s)
			if _, err := s.Verify(nil, nil); err != nil {
				t.Errorf("cut after batch %d: %v", n+2, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := verifyAll(fs); err != nil {
				t.Errorf("cut after batch %d, opened again: %v", n+2, err)
			}
		}
	}
}

// goesOn appends a record to each of a few streams, one of them new.
func goesOn(t *testing.T, s *Store) {
	t.Helper()
	for _, stream := range []Stream{0, 1, 1 << 40, ^Stream(0), 2, 77} {
		seq, sum, err := s.Last(stream)
		if err != nil {
			t.Fatal(err)
		}
		done := make(resultOut, 1)
		s.Append(&Entry{Stream: stream, Expect: seq, Records: []Sealed{Seal(sum, Record{Stream: stream, Seq: seq + 1, Kind: 1, Time: growingFrom})}, Out: []Out{done}})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// verifyAll opens the store for reading and verifies everything.
func verifyAll(fs FS) error {
	s, err := Open(Options{Dir: harnessDir, FS: fs, ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = s.Verify(nil, nil)
	return errors.Join(err, s.VerifyTables(nil), s.Close())
}

// TestCutOffRefused checks that a store is left as it was where it cannot be cut: at an instant before
// its first batch, where it has none, where there is no store, and while it is open. An instant after
// the newest batch removes nothing.
func TestCutOffRefused(t *testing.T) {
	t.Parallel()
	g := grow(t)
	at := Options{Dir: harnessDir, FS: g.fs}
	_, err := CutOff(at, growingFrom-1)
	early := new(TooEarly)
	if !errors.As(err, &early) || early.First != growingFrom || early.Until != growingFrom-1 || !strings.Contains(err.Error(), "begins at 2023-11-14T22:13:20.000Z") {
		t.Error(err)
	}
	if c, err := CutOff(at, 1<<60); err != nil || c.Position != uint64(len(g.after)) || c.Batches != 0 || c.Records != 0 {
		t.Errorf("%+v %v", c, err)
	}
	s := g.open(t, g.fs)
	if got := owned(t, s); !maps.Equal(got, g.after[len(g.after)-1]) {
		t.Error("the store was changed")
	}
	if _, err := CutOff(at, growingFrom); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, fs := range map[string]FS{"empty": vfs.NewMem(), "no store": vfs.NewMem()} {
		if what == "empty" {
			if err := g.open(t, fs).Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := CutOff(Options{Dir: harnessDir, FS: fs}, growingFrom); err == nil || errors.As(err, new(*TooEarly)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCutOffMuch cuts more records than one commit of a cut deletes: all of them are gone.
func TestCutOffMuch(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	const each = 250
	sum := uint64(0)
	for n := range 2*cutAtOnce/each + 3 {
		e := &Entry{Stream: 1, Expect: uint64(n * each)}
		for i := range each {
			r := Seal(sum, Record{Stream: 1, Seq: uint64(n*each + i + 1), Kind: 1, Time: int64(n + 1)})
			e.Records, sum = append(e.Records, r), r.Sum
		}
		done := make(resultOut, 1)
		e.Out = []Out{done}
		s.Append(e)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	c, err := CutOff(Options{Dir: harnessDir, FS: fs}, 1)
	if err != nil || c.Position != 1 || c.Records != 2*cutAtOnce+2*each {
		t.Errorf("%+v %v", c, err)
	}
	s = mustOpen(t, Options{Dir: harnessDir, FS: fs})
	records := 0
	for k := range owned(t, s) {
		if k[0] == recordPrefix || k[0] == segmentPrefix {
			records++
		}
	}
	if records != each {
		t.Errorf("%d records are left, want %d", records, each)
	}
	closeStore(t, s)
}
