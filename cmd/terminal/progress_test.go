package terminal

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestProgress checks that progress is one overwritten line on a terminal and whole lines in
// a file, that the lines are few, and that a short command shows none.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{true, "\r1200 records, 20s\r9 rows, 40s" + strings.Repeat(" ", 6) + "\r" + strings.Repeat(" ", 11) + "\r"},
		{false, "1200 records, 20s\n9 rows, 40s\n"},
	} {
		var b strings.Builder
		p := NewProgress(&b, c.terminal)
		now := func(line string) {
			p.Now(func(took time.Duration) string { return fmt.Sprintf("%s, %v", line, took.Round(time.Second)) })
		}
		now("1200 records")
		p.End()
		if b.Len() > 0 {
			t.Errorf("told at once: %q", b.String())
		}
		later := func() { p.began, p.reported = p.began.Add(-20*time.Second), p.reported.Add(-20*time.Second) }
		later()
		now("1200 records")
		now("1200 records")
		later()
		now("9 rows")
		p.End()
		if b.String() != c.want {
			t.Errorf("terminal %v: %q, want %q", c.terminal, b.String(), c.want)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if Is(null) {
		t.Error("nobody looks on there")
	}
	if err := null.Close(); err != nil {
		t.Error(err)
	}
}
