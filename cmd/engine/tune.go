package engine

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbageRoom is how far the heap may grow, in bytes, before it is collected,
// where what is alive is smaller. What is made per request is short-lived, so
// collecting an almost empty heap at every doubling would be work for nothing;
// where much is alive (many accounts in memory), doubling is enough, and keeps
// garbage from scattering what lives.
const garbageRoom = 64 << 20

// tuneEvery is how often what is alive is looked at.
const tuneEvery = 2 * time.Second

// Tune keeps the collector's target where garbageRoom says, until the context
// ends; GOGC in the environment has the last word.
func Tune(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(live)
		debug.SetGCPercent(growth(live[0].Value.Uint64()))
		select {
		case <-ctx.Done():
			return
		case <-time.After(tuneEvery):
		}
	}
}

// growth is the percentage by which the heap may outgrow what is alive.
func growth(live uint64) int {
	return int(max(100, min(1600, garbageRoom*100/max(live, 1))))
}
