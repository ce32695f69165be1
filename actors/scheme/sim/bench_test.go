package sim

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// BenchmarkSubmit measures payouts that many callers submit at once to a simulator on a disk,
// until the payouts are settled and their notices acknowledged.
func BenchmarkSubmit(b *testing.B) {
	s, err := Open(Options{Dir: b.TempDir(), SettleDelay: 20 * time.Millisecond, Now: now, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
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

// BenchmarkBook measures reading the book of a hundred accounts and 20,000 payouts.
func BenchmarkBook(b *testing.B) {
	s, err := Open(Options{Dir: b.TempDir(), SettleDelay: 20 * time.Millisecond, Now: now, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Start(func(_ scheme.Notice, done func(error)) { done(nil) }); err != nil {
		b.Fatal(err)
	}
	var work sync.WaitGroup
	for n := range 100 {
		work.Go(func() {
			for range 200 {
				p := payoutAt(now())
				p.Account = pix.AccountID(n + 1)
				if _, err := s.Submit(b.Context(), p); err != nil {
					b.Error(err)
				}
			}
		})
	}
	work.Wait()
	for b.Loop() {
		if k, err := s.Book(b.Context()); err != nil || len(k.Accounts) != 100 {
			b.Fatal(k, err)
		}
	}
}
