package sim

import (
	"log/slog"
	"testing"
	"time"

	"pixd/actors/scheme"
)

// BenchmarkSubmit: payouts of many callers at once, on the disk, settled and
// acknowledged.
func BenchmarkSubmit(b *testing.B) {
	s, err := Open(Options{Dir: b.TempDir(), SettleDelay: 20 * time.Millisecond, Now: now, Chance: draw, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Start(func(_ scheme.Notice, done func(error)) { done(nil) }); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.Submit(b.Context(), payoutAt(now())); err != nil {
				b.Error(err)
			}
		}
	})
}
