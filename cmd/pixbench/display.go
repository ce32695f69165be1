package main

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"pixd/bench"
	"pixd/cmd/terminal"
)

// display shows how far a run is.
type display struct {
	*terminal.Progress
	duration time.Duration
}

func newDisplay(out io.Writer, isTerminal bool, duration time.Duration) *display {
	return &display{terminal.NewProgress(out, isTerminal), duration}
}

func (d *display) show(p bench.Progress) {
	d.Now(func(time.Duration) string { return d.line(p) })
}

func (d *display) line(p bench.Progress) string {
	switch {
	case p.Second != nil:
		s := p.Second
		line := fmt.Sprintf("%s: %.0f of %v, %s requests/s, p50 %v, p99 %v, max %v", p.What, s.At, d.duration,
			humanize.CommafWithDigits(float64(s.Done)/s.Seconds, 0), micros(s.P50), micros(s.P99), micros(s.Max))
		if s.Errors > 0 {
			line += fmt.Sprintf(", %s errors", humanize.Comma(int64(s.Errors)))
		}
		if s.Memory == 0 { // nobody was asked
			return line
		}
		return line + fmt.Sprintf(", engine %.2f processors, %s", s.Engine, humanize.IBytes(s.Memory))
	case p.Of > 0:
		return fmt.Sprintf("%s: %s, %s of %s", p.Stage, p.What, humanize.Comma(int64(p.Done)), humanize.Comma(int64(p.Of)))
	}
	return p.Stage + ": " + p.What
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
