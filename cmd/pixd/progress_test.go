package main

import (
	"testing"
	"time"

	"pixd/cmd/journal"
)

// TestProgressLine checks what the stages of a verification show, and that other tests leave such lines, and those of
// other commands, out of what a command has said.
func TestProgressLine(t *testing.T) {
	for want, at := range map[string]journal.Progress{
		"records: 1200 records in 30 of 60 batches (50 %), 20s": {Stage: "records", Records: 1200, Batches: 30, Of: 60},
		"rows: 9 records, 4 rows, 20s":                          {Stage: "rows", Records: 9, Rows: 4},
		"unpacking: 1.0 KiB of 2.0 KiB (50 %), 20s":             {Stage: "unpacking", Bytes: 1024, OfBytes: 2048},
	} {
		if got := progressLine(at, 20*time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		more := "\nreading, 1m10s\nchecksum, 10s\nfiles: 1 of 2, 10s\ntables, 10s\n" + downloadLine(1_500_000, 12*time.Second) + "\n"
		if left := progressLines.ReplaceAllString("pixd: warned, 20s\n"+want+more, ""); left != "pixd: warned, 20s\n" {
			t.Errorf("%q is left of a command's errors without its progress", left)
		}
	}
}
