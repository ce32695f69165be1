package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"pixd/cmd/engine"
)

// progress shows the progress of a long command: on a terminal in one line that is
// overwritten, elsewhere in a new line from time to time. A short command shows no progress.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	began    time.Time
	reported time.Time
	width    int // number of characters in the terminal's line now
}

func newProgress(out io.Writer, terminal bool) *progress {
	p := &progress{out: out, terminal: terminal, every: 10 * time.Second, began: time.Now()}
	if terminal {
		p.every = 250 * time.Millisecond
	}
	p.reported = p.began
	return p
}

func (p *progress) tell(at engine.Progress) {
	p.now(func(took time.Duration) string { return progressLine(at, took) })
}

// now shows a line if the one before it is old. took is the time since the beginning.
func (p *progress) now(line func(took time.Duration) string) {
	if now := time.Now(); now.Sub(p.reported) >= p.every {
		p.reported = now
		p.show(line(now.Sub(p.began)))
	}
}

func progressLine(at engine.Progress, took time.Duration) string {
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

func (p *progress) show(line string) {
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// end clears the terminal's line.
func (p *progress) end() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
	}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	i, err := f.Stat()
	if err != nil || i.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the null device is a character device too, but no terminal
	return err == nil && !os.SameFile(i, null)
}
