package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"pixd/cmd/journal"
	"pixd/cmd/terminal"
)

// shown returns what shows the progress of a long command on p.
func shown(p *terminal.Progress) func(journal.Progress) {
	return func(at journal.Progress) {
		p.Now(func(took time.Duration) string { return progressLine(at, took) })
	}
}

func progressLine(at journal.Progress, took time.Duration) string {
	line := fmt.Sprintf("%s: %d records", at.Stage, at.Records)
	switch {
	case at.OfBytes > 0:
		line = at.Stage + ": " + bytesOf(at.Bytes, at.OfBytes)
	case at.Stage != "records":
		line += fmt.Sprintf(", %d rows", at.Rows)
	case at.Of > 0:
		line += fmt.Sprintf(" in %d of %d batches (%d %%)", at.Batches, at.Of, at.Batches*100/at.Of)
	}
	return line + fmt.Sprintf(", %v", took.Round(time.Second))
}

// bytesOf says how many of some bytes are done.
func bytesOf(done, total int64) string {
	return fmt.Sprintf("%s of %s (%d %%)", humanize.IBytes(uint64(done)), humanize.IBytes(uint64(total)), done*100/max(total, 1))
}
