package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalling is a file whose reader reads nothing while stall is locked.
type stalling struct {
	stall sync.Mutex

	mu   sync.Mutex
	text strings.Builder
}

func (s *stalling) Write(b []byte) (int, error) {
	s.stall.Lock()
	defer s.stall.Unlock()
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
	lost := make(chan int64, 1)
	w.lost = func(lines int64) { lost <- lines }
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
	if took := time.Since(began); took > 20*stallAfter {
		t.Errorf("they have waited for %v", took)
	}
	to.stall.Unlock()
	select {
	case n := <-lost:
		if n != beyond {
			t.Errorf("%d lines are said to be lost, and %d were", n, beyond)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not say that lines were lost")
	}
	if to.read() != want.String() {
		t.Errorf("%d bytes were written, of %d", len(to.read()), want.Len())
	}
	write(-1)
	if fmt.Fprintln(&want, -1); to.read() != want.String() {
		t.Error("later lines are not written when their writer goes on")
	}
}
