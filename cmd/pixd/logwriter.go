package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	stallAfter = 100 * time.Millisecond // how long whoever logs waits for the reader, once
	linesKept  = 1024                   // while the reader stalls
)

// logWriter passes lines of the log on to a file whose reader may stall, such as a pipe. Whoever logs waits until a line is
// written, but not for a reader that stalls: the journal's goroutine logs too, and all accounts' answers are behind it. Then
// lines are kept, as many as linesKept, until the reader goes on.
type logWriter struct {
	to    io.Writer
	lost  func(lines int64) // called when a reader goes on, with how many lines were not kept
	lines chan logLine

	stalled atomic.Bool
	dropped atomic.Int64
}

type logLine struct {
	text    []byte
	written chan struct{}
}

// newLogWriter returns a writer that works as long as the process does. lost is to be set before anything is written.
func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{to: to, lines: make(chan logLine, linesKept)}
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
	if w.stalled.Load() {
		return len(b), nil
	}
	timer := time.NewTimer(stallAfter)
	defer timer.Stop()
	select {
	case <-l.written:
	case <-timer.C:
		w.stalled.Store(true)
	}
	return len(b), nil
}

func (w *logWriter) run() {
	for l := range w.lines {
		_, _ = w.to.Write(l.text)
		close(l.written)
		if len(w.lines) > 0 || !w.stalled.Load() {
			continue
		}
		w.stalled.Store(false)
		if n := w.dropped.Swap(0); n > 0 {
			go w.lost(n) // it is a line of the log, too
		}
	}
}
