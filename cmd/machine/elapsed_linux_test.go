package machine

import (
	"sync"
	"testing"
	"time"

	"pixd/actors/pix"
)

// TestBootNeverGoesBack checks that goroutines which read the time together see it go on, and
// within two milliseconds of CLOCK_BOOTTIME.
func TestBootNeverGoesBack(t *testing.T) {
	start := time.Now()
	now := elapsed(func() time.Duration { return time.Since(start) })
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			var last pix.Millis
			for time.Since(start) < 50*time.Millisecond {
				before, _ := boottime()
				at := now()
				if at < last || at < before-2 {
					t.Errorf("%d after %d, where the kernel says at least %d", at, last, before)
					return
				}
				last = at
			}
		})
	}
	wait.Wait()
}

// TestBootIsReadAgain checks that the kernel is asked again once a millisecond of the
// process's clock has passed, and not before.
func TestBootIsReadAgain(t *testing.T) {
	process := time.Duration(1)
	b := &boot{process: func() time.Duration { return process }}
	first := b.now()
	time.Sleep(5 * time.Millisecond)
	if at := b.now(); at != first {
		t.Errorf("read again at once: %d after %d", at, first)
	}
	if process += time.Millisecond; b.now() < first+5 {
		t.Error("not read again after a millisecond")
	}
}
