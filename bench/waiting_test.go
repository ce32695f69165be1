package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
	"pixd/cmd/engine"
)

// queueTTLVariable is the environment variable with the engine's --queue-ttl: the time that
// a payout may wait for directory capacity.
const queueTTLVariable = "PIXD_BENCH_QUEUE_TTL"

// fillQueue makes n payouts of a thousand accounts that wait for the institution's
// directory capacity.
func fillQueue(s *engine.Served, n int) {
	if err := s.Sim.SetCapacity(context.Background(), sim.BucketExhausted); err != nil {
		panic(err)
	}
	ids, _ := s.Registry.Accounts(0, 1000)
	var wait sync.WaitGroup
	for worker := range 1024 {
		wait.Go(func() {
			for i := worker; i < n; i += 1024 {
				a, err := s.Accounts.Do(ids[i%len(ids)], ledger.RequestPayout{
					Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("k%d@example.com", i)},
				})
				if err != nil || a.Refusal != nil || a.Tx.Status != pix.StatusQueued {
					panic(fmt.Sprint(a.Refusal, err))
				}
			}
		})
	}
	wait.Wait()
}

func countQueued(s *engine.Served) (n int) {
	for _, r := range layout.QueueRanges() {
		if err := s.Store.Scan(r[0], r[1], func(_, _ []byte) (bool, error) { n++; return true, nil }); err != nil {
			panic(err)
		}
	}
	return n
}

// The bounds that BenchmarkWaiting checks: most bytes of memory for the queue, most lookups
// in a round, and the time between two rounds.
const (
	waitingBytes = 200e6
	probesARound = 64
	round        = 3 * time.Second
)

// BenchmarkWaiting measures what a million payouts that wait for directory capacity cost:
// memory, the time of a start while all of them are queued, the number of lookups, and the
// time of a start after all of them have passed their time limit.
func BenchmarkWaiting(b *testing.B) {
	n := 1_000_000
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_WAITING")); err == nil {
		n = v
	}
	for b.Loop() {
		waiting(b, n)
	}
}

func waiting(b *testing.B, n int) {
	dir := b.TempDir()
	ttl := time.Duration(n/5000)*time.Second + 60*time.Second
	b.Setenv(queueTTLVariable, ttl.String())
	s := start(b, roleMeasured, dir)
	s.ask(b, "/accounts?n=1000&forget=1", new([]Credentials))
	s.end()
	began := time.Now()
	s = start(b, roleMeasured, dir)
	empty, open := s.counters(b), time.Since(began)
	filling := time.Now()
	s.ask(b, fmt.Sprintf("/queue?n=%d", n), new(int))
	filled := time.Since(filling)
	s.end()
	fmt.Printf("Waiting                %d payouts queued in %v, --queue-ttl %v\n", n, filled.Round(time.Second), ttl)

	began = time.Now()
	s = start(b, roleMeasured, dir)
	ready := time.Since(began)
	rounds(b, s, time.Until(filling.Add(ttl).Add(-20*time.Second)))
	waits := s.counters(b)
	s.end()
	above := float64(waits.Resident) - float64(empty.Resident)
	fmt.Printf("Waiting                %.0f MB above the empty engine's %.0f; open after %v, empty after %v\n",
		above/1e6, float64(empty.Resident)/1e6, ready.Round(time.Millisecond), open.Round(time.Millisecond))
	if above > waitingBytes {
		b.Errorf("%.0f MB for %d waiting payouts", above/1e6, n)
	}
	b.ReportMetric(above/1e6, "MB")

	time.Sleep(time.Until(filling.Add(filled).Add(ttl).Add(time.Second))) // by then every payout has passed its time limit
	began = time.Now()
	s = start(b, roleMeasured, dir)
	ready = time.Since(began)
	var left int
	for left = n; left > 0 && time.Since(began) < 10*time.Minute; time.Sleep(time.Second) {
		s.ask(b, "/queued", &left)
	}
	over := time.Since(began)
	fmt.Printf("Waiting                all due at the start: open after %v, worked off in %v (%.0f a second), %d left, %.0f MB\n",
		ready.Round(time.Millisecond), over.Round(time.Second), float64(n)/over.Seconds(), left, float64(s.counters(b).Resident)/1e6)
	s.end()
}

// rounds checks how many lookups the engine makes in each round while the directory refuses
// all of them for lack of capacity.
func rounds(b *testing.B, s *server, left time.Duration) {
	most := uint64(0)
	var before, now uint64
	s.ask(b, "/lookups", &before)
	for range max(3, min(8, int(left/round))) {
		time.Sleep(round)
		s.ask(b, "/lookups", &now)
		most = max(most, now-before)
		before = now
	}
	fmt.Printf("Waiting                at most %d lookups in %v while the limit lasts\n", most, round)
	if most > probesARound || most == 0 {
		b.Errorf("%d lookups in %v", most, round)
	}
}

func (s *server) counters(b *testing.B) (c counters) {
	s.ask(b, "/counters", &c)
	return c
}
