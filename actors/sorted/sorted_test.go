package sorted

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestMerge writes rows in random order into two sorters, so that each has several runs. It
// checks that Merge returns each key once, in the order of keys, with the row that was
// written last.
func TestMerge(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		two := []*Sorter{sorter(t, 1<<10), sorter(t, 3<<10)}
		want := map[string]Row{}
		for order := range uint64(3000) {
			r := Row{
				Key: fmt.Appendf(nil, "%.*s%d", rng.IntN(30), "a long beginning that keys share", rng.IntN(200)), Order: order,
				Deleted: rng.IntN(3) == 0, Stream: rng.Uint64(), Seq: rng.Uint64(),
			}
			if !r.Deleted {
				r.Value = make([]byte, rng.IntN(60)*rng.IntN(60))
				for i := range r.Value {
					r.Value[i] = byte(rng.Uint32())
				}
			}
			if err := two[rng.IntN(2)].Add(&r); err != nil {
				t.Fatal(err)
			}
			want[string(r.Key)] = r
		}
		same(t, want, two...)
	}
}

func same(t *testing.T, want map[string]Row, from ...*Sorter) {
	t.Helper()
	m, err := Merge(from...)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for m.Next() {
		got := m.Row()
		w := want[string(got.Key)]
		if string(got.Value) != string(w.Value) || got.Deleted != w.Deleted || got.Order != w.Order || got.Stream != w.Stream || got.Seq != w.Seq {
			t.Fatalf("%q is %+v, written was %+v", got.Key, got, w)
		}
		keys = append(keys, string(got.Key))
	}
	if m.Err() != nil || len(keys) != len(want) || !slices.IsSorted(keys) {
		t.Fatalf("%d keys of %d, sorted: %v, %v", len(keys), len(want), slices.IsSorted(keys), m.Err())
	}
}

// TestWithinOneRecord checks that, of two rows with the same key and the same Order, the
// row that was added later is returned.
func TestWithinOneRecord(t *testing.T) {
	s := sorter(t, 1<<20)
	for _, r := range []Row{{Key: []byte("k"), Deleted: true, Order: 5}, {Key: []byte("k"), Value: []byte("v"), Order: 5}} {
		if err := s.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	same(t, map[string]Row{"k": {Value: []byte("v"), Order: 5}}, s)
}

// TestEmpty checks that a sorter without rows gives no rows.
func TestEmpty(t *testing.T) { same(t, nil, sorter(t, 1<<10)) }

// TestNothingLeft checks that a sorter leaves no file in its folder, and that New returns
// an error where the folder does not exist.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	s, err := New(dir, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(dir+"/nowhere", 1<<10); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func sorter(t testing.TB, room int) *Sorter {
	t.Helper()
	s, err := New(t.TempDir(), room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
