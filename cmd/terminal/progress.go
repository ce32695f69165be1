// Package terminal shows texts and progress of commands.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress shows the progress of a long command: on a terminal in one line that is
// overwritten, elsewhere in a new line from time to time. A short command shows no progress.
type Progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	began    time.Time
	reported time.Time
	width    int // number of characters in the terminal's line now
}

// NewProgress returns a display on out; terminal says that out is one.
func NewProgress(out io.Writer, terminal bool) *Progress {
	p := &Progress{out: out, terminal: terminal, every: 10 * time.Second, began: time.Now()}
	if terminal {
		p.every = 250 * time.Millisecond
	}
	p.reported = p.began
	return p
}

// Now shows a line if the one before it is old. took is the time since the beginning.
func (p *Progress) Now(line func(took time.Duration) string) {
	if now := time.Now(); now.Sub(p.reported) >= p.every {
		p.reported = now
		p.show(line(now.Sub(p.began)))
	}
}

func (p *Progress) show(line string) {
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// End clears the terminal's line.
func (p *Progress) End() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
	}
}

// Is reports whether a file is a terminal.
func Is(f *os.File) bool {
	i, err := f.Stat()
	if err != nil || i.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the null device is a character device too, but no terminal
	return err == nil && !os.SameFile(i, null)
}
