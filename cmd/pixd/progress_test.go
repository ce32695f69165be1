package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"pixd/cmd/engine"
)

// TestProgress checks that progress is one overwritten line on a terminal and whole lines in
// a file, that the lines are few, and that a short verification shows none.
func TestProgress(t *testing.T) {
	first := engine.Progress{Stage: "records", Records: 1200, Batches: 30, Of: 60}
	then := engine.Progress{Stage: "rows", Records: 9, Rows: 4}
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{true, "\rrecords: 1200 records in 30 of 60 batches (50 %), 20s" +
			"\rrows: 9 records, 4 rows, 40s" + strings.Repeat(" ", 25) + "\r" + strings.Repeat(" ", 28) + "\r"},
		{false, "records: 1200 records in 30 of 60 batches (50 %), 20s\nrows: 9 records, 4 rows, 40s\n"},
	} {
		var b strings.Builder
		p := newProgress(&b, c.terminal)
		p.tell(first)
		p.end()
		if b.Len() > 0 {
			t.Errorf("told at once: %q", b.String())
		}
		later := func() { p.began, p.reported = p.began.Add(-20*time.Second), p.reported.Add(-20*time.Second) }
		later()
		p.tell(first)
		p.tell(first)
		later()
		p.tell(then)
		p.end()
		if b.String() != c.want {
			t.Errorf("terminal %v: %q, want %q", c.terminal, b.String(), c.want)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if isTerminal(null) {
		t.Error("nobody looks on there")
	}
	if err := null.Close(); err != nil {
		t.Error(err)
	}
}
