package bench

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
)

// mostCatchUp is the longest time that a restored engine may take to catch up with 100,000 movements.
const mostCatchUp = 30 * time.Second

// BenchmarkCatchUp measures how long an engine takes to start on a journal that lacks 100,000 payouts of
// 1,000 accounts (or the number in PIXD_BENCH_CATCHUP): it reads and books them, asks about what is in
// flight, and compares the books.
func BenchmarkCatchUp(b *testing.B) {
	n := 100_000
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_CATCHUP")); err == nil {
		n = v
	}
	for b.Loop() {
		dir := b.TempDir()
		until := payAfter(b, dir, n)
		lost := filepath.Join(b.TempDir(), "lost")
		if _, err := journal.CutFolder(journal.CutOptions{DataDir: dir, To: lost, Until: until, Now: time.Now(), TempDir: dir}); err != nil {
			b.Fatal(err)
		}
		c := quietEngine(lost)
		c.SimDir = filepath.Join(dir, journal.SimFolder)
		began := time.Now()
		e, err := engine.Open(c)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		fmt.Printf("%-22s %d payouts caught up in %v, %.0f a second\n", "CatchUp", n, took.Round(time.Millisecond), float64(n)/took.Seconds())
		b.ReportMetric(took.Seconds(), "s")
		sent := pix.Amount(0)
		book, err := e.Sim.Book(b.Context())
		for _, a := range book.Accounts {
			sent += a.Sent
		}
		here := pix.Amount(0)
		ids, _ := e.Registry.Accounts(0, 1<<20)
		for _, id := range ids {
			a, err := e.Accounts.Do(id, ledger.ReadAccount{})
			if err != nil {
				b.Fatal(err)
			}
			here += a.Head.Totals.Balance
		}
		if err != nil || sent != pix.Amount(n)*100 || here != 1000<<50-sent {
			b.Errorf("%d sent, balances come to %d: %v", sent, here, err)
		}
		if took > mostCatchUp*time.Duration(max(n, 100_000))/100_000 {
			b.Errorf("caught up in %v, at most %v are allowed for 100,000", took, mostCatchUp)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func quietEngine(dir string) engine.Config {
	c := engine.Defaults()
	c.DataDir, c.SettleDelay, c.Log = dir, 20*time.Millisecond, slog.New(slog.DiscardHandler)
	c.OnFailure = func(err error) { panic(err) }
	return c
}

// payAfter makes a journal with accounts and, after the instant that it returns, n payouts.
func payAfter(b *testing.B, dir string, n int) pix.Millis {
	e, err := engine.Open(quietEngine(dir))
	if err != nil {
		b.Fatal(err)
	}
	ids := openAccounts(e, 1000)
	time.Sleep(10 * time.Millisecond)
	until := e.Clock.Now()
	time.Sleep(10 * time.Millisecond)
	var made atomic.Int64
	var wait sync.WaitGroup
	for range 1024 {
		wait.Go(func() {
			for i := int(made.Add(1)); i <= n; i = int(made.Add(1)) {
				payOne(e, ids[i*7919%len(ids)], i)
			}
		})
	}
	wait.Wait()
	time.Sleep(2 * time.Second) // by then the last payout has settled
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	return until
}
