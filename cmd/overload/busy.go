package overload

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Load tells whether the processor is busy with merchants' and the scheme's work. While it is,
// webhooks are delivered at a slower pace.
type Load struct {
	Keys      func() uint64        // number of rows that the process has written
	Delivered func() uint64        // number of those that are about deliveries of webhooks
	CPU       func() time.Duration // processor time that the process has used
	busy      atomic.Bool
}

// Measured over loadEvery, the process is busy where it has used more than mostCPU of its
// processors, and has written more rows for other work than for deliveries.
const (
	loadEvery = 50 * time.Millisecond
	mostCPU   = 0.85
)

// Run measures until the context ends.
func (l *Load) Run(ctx context.Context) {
	ticker := time.NewTicker(loadEvery)
	defer ticker.Stop()
	at, used, keys, delivered := time.Now(), l.CPU(), l.Keys(), l.Delivered()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, usedNow, keysNow, deliveredNow := time.Now(), l.CPU(), l.Keys(), l.Delivered()
		available := float64(now.Sub(at)) * float64(runtime.GOMAXPROCS(0))
		own := deliveredNow - delivered
		l.busy.Store(float64(usedNow-used) > mostCPU*available && keysNow-keys > 2*own)
		at, used, keys, delivered = now, usedNow, keysNow, deliveredNow
	}
}

// Busy reports whether the processor was busy at the last measurement.
func (l *Load) Busy() bool { return l.busy.Load() }
