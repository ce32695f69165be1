package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	stallAfter = 100 * time.Millisecond // how long whoever logs waits for a line to be written
	linesKept  = 1024                   // while the reader stalls
	tellLost   = time.Second            // between two lines that say how many were lost
	lastLines  = time.Second            // how long the end of the process waits for the reader, and once more for its last line
)

// logWriter passes lines of the log on to a file whose reader may stall, such as a pipe. Whoever logs waits until a line is
// written, but not for a reader that stalls: the journal's goroutine logs too, and all accounts' answers are behind it. Then
// lines are kept, as many as linesKept, until the reader goes on.
type logWriter struct {
	to       io.Writer
	lost     func(lines int64) // writes to to how many lines were not kept since the last call; nil: nothing is said
	patience time.Duration
	lines    chan logLine

	stalled atomic.Bool
	dropped atomic.Int64
}

type logLine struct {
	text    []byte
	written chan struct{}
}

// newLogWriter returns a writer that works as long as the process does. lost is to be set before anything is written.
func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{to: to, patience: stallAfter, lines: make(chan logLine, linesKept)}
	go w.run()
	return w
}

// Write implements io.Writer. It returns no error: nobody could be told of one.
func (w *logWriter) Write(b []byte) (int, error) {
	l := logLine{bytes.Clone(b), make(chan struct{})}
	select {
	case w.lines <- l:
	default:
		w.dropped.Add(1)
		return len(b), nil
	}
	if !w.stalled.Load() && !l.within(w.patience) {
		w.stalled.Store(true)
	}
	return len(b), nil
}

// within waits until a line is written, for so long at most, and reports whether it is.
func (l logLine) within(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-l.written:
		return true
	case <-timer.C:
	}
	select { // both may have come at once
	case <-l.written:
		return true
	default:
		return false
	}
}

// flush waits until what is kept is written, for so long at most.
func (w *logWriter) flush(patience time.Duration) {
	last := logLine{nil, make(chan struct{})}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		select {
		case w.lines <- last:
			last.within(time.Until(until))
			return
		default: // no more are kept
		}
	}
}

func (w *logWriter) run() {
	var told time.Time
	for l := range w.lines {
		if len(l.text) > 0 {
			_, _ = w.to.Write(l.text)
		}
		if len(w.lines) == 0 || time.Since(told) > tellLost { // a reader that is merely slow may never get to the end
			if n := w.dropped.Swap(0); n > 0 && w.lost != nil {
				w.lost(n)
				told = time.Now()
			}
		}
		if len(w.lines) == 0 {
			w.stalled.Store(false)
		}
		close(l.written)
	}
}
