package overload

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbageRoom is the number of bytes by which the heap may grow between two collections while
// the live heap is small. Objects made for a request are short-lived, so collecting an almost
// empty heap at every doubling would be wasted work. With a large live heap (many accounts in
// memory) a collection at every doubling is enough, and keeps live objects from being
// scattered among garbage.
const garbageRoom = 64 << 20

// tuneEvery is how often the size of the live heap is read.
const tuneEvery = 2 * time.Second

// Tune adjusts the garbage collector to garbageRoom until ctx ends; it does nothing where
// the environment sets GOGC.
func Tune(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ; {
		metrics.Read(live)
		if next := growth(live[0].Value.Uint64()); next != set { // each change stops the process for a moment
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

// growth returns the percentage by which the heap may grow beyond the live heap.
func growth(live uint64) int {
	return int(max(100, min(1600, garbageRoom*100/max(live, 1))))
}
