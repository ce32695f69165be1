package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stalling is a file whose reader reads nothing while stall is locked, and takes a while for each write.
type stalling struct {
	stall sync.Mutex
	takes time.Duration

	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (s *stalling) Write(b []byte) (int, error) {
	s.stall.Lock()
	defer s.stall.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *stalling) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestLogReaderStalls checks that a line is written when its writer goes on, that nobody waits for a reader that stalls, that
// what was kept meanwhile comes in its order once it goes on, and that it is told how many lines were lost.
func TestLogReaderStalls(t *testing.T) {
	var to stalling
	w := newLogWriter(&to)
	w.patience = time.Second
	var lost atomic.Int64
	w.lost = func(lines int64) { lost.Add(lines) }
	write := func(n int) {
		if written, err := fmt.Fprintln(w, n); written == 0 || err != nil {
			t.Error(written, err)
		}
	}
	var want strings.Builder
	for n := range 3 {
		write(n)
		if fmt.Fprintln(&want, n); to.read() != want.String() {
			t.Errorf("after line %d: %q", n, to.read())
		}
	}
	to.stall.Lock()
	began := time.Now()
	const beyond = 7
	for n := range 1 + linesKept + beyond { // one is being written
		write(n)
		if n <= linesKept {
			fmt.Fprintln(&want, n)
		}
	}
	w.flush(20 * time.Millisecond)
	if took := time.Since(began); took > 10*w.patience {
		t.Errorf("they have waited for %v", took)
	}
	to.stall.Unlock()
	if w.flush(20 * time.Second); to.read() != want.String() || lost.Load() != beyond {
		t.Errorf("%d bytes were written, of %d; %d lines are said to be lost, and %d were", len(to.read()), want.Len(), lost.Load(), beyond)
	}
	write(-1)
	if fmt.Fprintln(&want, -1); to.read() != want.String() {
		t.Error("later lines are not written when their writer goes on")
	}
}

// TestLogReaderIsSlow checks that a reader that never gets to the end of what is kept is told all the while how many lines
// were lost.
func TestLogReaderIsSlow(t *testing.T) {
	t.Parallel()
	to := stalling{takes: 2 * time.Millisecond}
	w := newLogWriter(&to)
	told := make(chan int64, 100)
	w.lost = func(lines int64) { told <- lines }
	w.stalled.Store(true)
	until := time.After(20 * time.Second)
	for said := 0; said < 2; {
		for range 20 { // far more than it reads
			_, _ = fmt.Fprintln(w, "line")
		}
		select {
		case n := <-told:
			if said++; n <= 0 || len(w.lines) < linesKept/2 {
				t.Errorf("%d lines lost, and %d are kept", n, len(w.lines))
			}
		case <-until:
			t.Fatalf("told %d times", said)
		case <-time.After(time.Millisecond):
		}
	}
}
