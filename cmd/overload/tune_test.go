package overload

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestTune checks that the garbage collector gets its bound, and that an environment which sets
// the bound keeps it.
func TestTune(t *testing.T) {
	before := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() uint64 {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return now[0].Value.Uint64()
	}
	tune := func() (end func()) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); Tune(ctx) }()
		return func() { stop(); <-done }
	}
	t.Setenv("GOGC", "50")
	tune()()
	if got := percent(); got != 50 {
		t.Errorf("with GOGC set: %d %%", got)
	}
	t.Setenv("GOGC", "")
	defer tune()()
	for end := time.Now().Add(10 * time.Second); percent() < 100; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d %%", percent())
		}
	}
}

// TestGrowth checks by how much the heap may grow: by its room, but at least by its own size and at
// most by sixteen times that.
func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 1 << 20: 1600, 4 << 20: 1600, 16 << 20: 400, 64 << 20: 100, 1 << 30: 100} {
		if got := growth(live, 64<<20); got != want {
			t.Errorf("%d bytes: %d %%", live, got)
		}
	}
}
