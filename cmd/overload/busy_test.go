package overload

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestBusy checks when the processor counts as needed for other work than deliveries: while nearly all
// of it is used, and more rows are written for other work than for deliveries, each in the last
// measurement alone.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu atomic.Int64
		var keys, delivered atomic.Uint64
		l := &Load{Keys: keys.Load, Delivered: delivered.Load, CPU: func() time.Duration { return time.Duration(cpu.Load()) }}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go l.Run(ctx)
		synctest.Wait()
		all := loadEvery * time.Duration(runtime.GOMAXPROCS(0))
		for n, s := range []struct {
			used        float64 // of all processors
			other, own  uint64  // rows for other work, and for deliveries
			want        bool
			description string
		}{
			{0.9, 100, 0, true, "other work alone"},
			{0.84, 100, 0, false, "processors to spare"},
			{0.9, 101, 100, true, "more for other work"},
			{0.9, 100, 100, false, "as much for deliveries"},
			{0.9, 0, 500, false, "deliveries alone"},
			{0.9, 10, 0, true, "other work, after many deliveries"},
			{0.1, 0, 0, false, "rest"},
		} {
			cpu.Add(int64(s.used * float64(all)))
			keys.Add(s.other + s.own)
			delivered.Add(s.own)
			time.Sleep(loadEvery)
			synctest.Wait()
			if got := l.Busy(); got != s.want {
				t.Errorf("%d: %s: busy %v", n, s.description, got)
			}
		}
	})
}
