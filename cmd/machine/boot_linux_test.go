package machine

import (
	"testing"
	"time"

	"pixd/actors/pix"
)

// TestBootStaysAhead checks that a reading of the clock below an earlier one is not handed out.
func TestBootStaysAhead(t *testing.T) {
	b := boot{process: func() time.Duration { return time.Hour }}
	b.read.Store(1 << 60)
	if now := b.now(); now != pix.Millis(1<<60) {
		t.Errorf("%d", now)
	}
}
