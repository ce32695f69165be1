package overload

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tuneEvery is how often the size of the live heap is read.
const tuneEvery = 2 * time.Second

// Tune lets the heap grow by processorGarbage for each processor between two collections while the
// live heap is small, until ctx ends; it does nothing where the environment sets GOGC. Objects made
// for a request are short-lived, so collecting an almost empty heap at every doubling would be
// wasted work. With a large live heap (many accounts in memory) a collection at every doubling is
// enough, and keeps live objects from being scattered among garbage.
func Tune(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ; {
		metrics.Read(live)
		if next := growth(live[0].Value.Uint64(), processorGarbage*uint64(runtime.GOMAXPROCS(0))); next != set { // each change stops the process for a moment
			set = next
			debug.SetGCPercent(set)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tuneEvery):
		}
	}
}

// growth returns the percentage by which the heap may grow beyond the live heap, so that it grows by
// room: at least by 100, at most by 1600.
func growth(live, room uint64) int {
	return int(max(100, min(1600, room*100/max(live, 1))))
}
