package sorted

import (
	"fmt"
	"testing"
)

// TestFailures checks that rows which cannot be written or read are an error, and no end of the rows.
func TestFailures(t *testing.T) {
	filled := func() *Sorter {
		s, err := New(t.TempDir(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if err := s.Add(&Row{Key: fmt.Appendf(nil, "key %d", i), Value: []byte("value"), Order: uint64(i + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	s := filled()
	_ = s.Close()
	if _, err := Merge(s); err == nil {
		t.Error("a file that takes nothing is no error")
	}
	for cut := int64(1); cut < 13; cut++ { // within the last row
		s := filled()
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		s.runs[0].to -= cut
		m, err := Merge(s)
		n := 0
		for err == nil && m.Next() {
			n++
		}
		if err == nil {
			err = m.Err()
		}
		if err == nil {
			t.Errorf("%d bytes less: %d rows, and no error", cut, n)
		}
		_ = s.Close()
	}
}
