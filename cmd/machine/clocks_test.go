package machine

import (
	"testing"
	"time"
)

// TestNoBoottime checks that elapsed counts up, with CLOCK_BOOTTIME and, on a machine without
// that clock, with the time since the process started.
func TestNoBoottime(t *testing.T) {
	if got := elapsed(func() time.Duration { return 5 * time.Second })(); got == 0 {
		t.Error("no time has elapsed since the machine started")
	}
}
