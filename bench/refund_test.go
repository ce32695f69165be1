package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
	"pixd/cmd/engine"
)

// received makes n customers' payments of 1.00 BRL, in turn to each of the engine's accounts,
// and returns their end-to-end ids; payment i goes to the account i modulo their number.
func received(s *engine.Served, accounts []pix.AccountID, n int) []string {
	ctx, cancel := context.WithCancel(context.Background())
	keys := make([]string, len(accounts))
	for i, id := range accounts {
		a, _ := s.Registry.Account(id)
		keys[i] = a.PixKeys[0]
		if err := s.Sim.RegisterKey(ctx, pix.Key{Type: pix.KeyEVP, Value: keys[i]}, id); err != nil {
			panic(err)
		}
	}
	ids := make([]string, n)
	now := pix.Millis(time.Now().UnixMilli())
	inParallel(n, func(i int) {
		ids[i] = pix.EndToEnd("99999003", now, fmt.Sprintf("%011d", i))
		p := sim.Payment{Key: keys[i%len(keys)], Amount: 10_000, EndToEnd: ids[i]}
		if _, _, err := s.Sim.Pay(ctx, p); err != nil {
			panic(err)
		}
	})
	cancel()
	return ids
}

// paid is a received payment, and the API key of the account that received it.
type paid struct{ ID, ClientID string }

// paidTo makes n customers' payments to all accounts.
func paidTo(s *engine.Served, n int) []paid {
	accounts, _ := s.Registry.Accounts(0, 1<<20)
	owners := make([]string, len(accounts))
	for i, id := range accounts {
		a, _ := s.Registry.Account(id)
		owners[i] = a.APIKeys[0]
	}
	all := make([]paid, n)
	for i, id := range received(s, accounts, n) {
		all[i] = paid{id, owners[i%len(owners)]}
	}
	return all
}

// inParallel calls do for each number below n, from 1,024 goroutines.
func inParallel(n int, do func(i int)) {
	var wait sync.WaitGroup
	for worker := range 1024 {
		wait.Go(func() {
			for i := worker; i < n; i += 1024 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// dearestRefund is the most that a refund may cost, as a multiple of a cash-out.
const dearestRefund = 1.3

// partTime is the longest time that a part of a load may take, also on a busy machine.
const partTime = time.Minute

// BenchmarkRefund compares refunds with cash-outs on one engine: parts of both loads in turn, so
// that the store and the machine are in the same state for both.
func BenchmarkRefund(b *testing.B) {
	const accounts, part, parts = 1000, 20_000, 8
	for b.Loop() {
		s := start(b, roleMeasured, b.TempDir())
		outs, refunds := loads(b, s, accounts, part*parts)
		var out, back cost
		var ratios []float64
		for i := range parts {
			spentOut, spentBack := out, back
			if i%2 == 0 {
				out.add(b, s, outs[i*part:][:part])
			}
			back.add(b, s, refunds[i*part:][:part])
			if i%2 == 1 {
				out.add(b, s, outs[i*part:][:part])
			}
			ratios = append(ratios, (back.Took-spentBack.Took).Seconds()/(out.Took-spentOut.Took).Seconds())
		}
		s.end()
		slices.Sort(ratios)
		ratio := back.Took.Seconds() / out.Took.Seconds()
		fmt.Printf("Refund                 %v\nRefund: cash-outs      %v\n", &back, &out)
		fmt.Printf("Refund                 costs %.2f times a cash-out (%d pairs of loads: %.2f), asked at most %.1f\n", ratio, parts, ratios, dearestRefund)
		if ratio > dearestRefund {
			b.Errorf("a refund costs %.2f times a cash-out", ratio)
		}
		b.ReportMetric(ratio, "cash-outs")
	}
}

// loads prepares n cash-outs, and n refunds of payments that the engine receives now.
func loads(b *testing.B, s *server, accounts, n int) (outs, refunds Prepared) {
	var keys []Credentials
	s.ask(b, fmt.Sprintf("/accounts?n=%d", accounts), &keys)
	var originals []paid
	s.ask(b, fmt.Sprintf("/received?n=%d", n), &originals)
	secrets := map[string]string{}
	for _, k := range keys {
		secrets[k.ClientID] = k.Secret
	}
	outs = prepare(n, func(i int) []byte { return payOut(keys[i%accounts], i) })
	refunds = prepare(n, func(i int) []byte {
		c := Credentials{originals[i].ClientID, secrets[originals[i].ClientID]}
		return c.Post("/pix/refund", fmt.Sprintf(`{"amount":100,"description":"bench","original_transaction_id":%q}`, originals[i].ID))
	})
	return outs, refunds
}

// cost is what requests of one kind took.
type cost struct {
	Requests    int
	Took, CPU   time.Duration // CPU: of the engine alone
	Keys, Bytes uint64        // that the engine wrote
}

// String shows the requests per second, and what each of them took.
func (c *cost) String() string {
	n := float64(c.Requests)
	return fmt.Sprintf("%8.0f req/s  CPU %.0f µs  keys %.1f  bytes %.0f", n/c.Took.Seconds(), float64(c.CPU.Microseconds())/n, float64(c.Keys)/n, float64(c.Bytes)/n)
}

// add sends a load, and adds what it took.
func (c *cost) add(b *testing.B, s *server, load Prepared) {
	var before, after counters
	s.ask(b, "/counters", &before)
	r := Load{Addr: s.Addr, Connections: postConnections, Duration: partTime, Source: load}.Run(b.Context())
	time.Sleep(500 * time.Millisecond) // settlements that come after the answers count towards the CPU
	s.ask(b, "/counters", &after)
	if r.Done != len(load) {
		b.Fatalf("%d of %d requests were carried out; the others: %v", r.Done, len(load), r.Errors)
	}
	c.Requests += len(load)
	c.Took += r.Elapsed
	c.CPU += after.CPU - before.CPU
	c.Keys += after.Keys - before.Keys
	c.Bytes += after.Bytes - before.Bytes
}

// casesBytes is the most memory that a hundred thousand open cases may take.
const casesBytes = 100e6

// BenchmarkCases measures what 100,000 open special-return cases cost: memory, the time of a
// start, and how late a case is closed whose deadline passes among them.
func BenchmarkCases(b *testing.B) {
	const accounts, n = 1000, 100_000
	for b.Loop() {
		dir := b.TempDir()
		s := start(b, roleMeasured, dir)
		s.ask(b, fmt.Sprintf("/accounts?n=%d&forget=1", accounts), new([]Credentials))
		// Twice as many payments as cases: by then the stores' caches are as full as the work
		// on the cases will leave them.
		s.ask(b, fmt.Sprintf("/received?n=%d", 2*n), new([]any))
		before := s.counters(b)
		s.ask(b, fmt.Sprintf("/cases?n=%d", n), new(int))
		grown := s.counters(b)
		s.end()
		fresh := start(b, roleMeasured, b.TempDir())
		empty := fresh.counters(b)
		fresh.end()

		began := time.Now()
		b.Setenv(medDeadlineVariable, "3s")
		s = start(b, roleMeasured, dir)
		ready := time.Since(began)
		s.end()
		s = start(b, roleMeasured, dir) // the start before has replayed the logs
		waits := s.counters(b)
		var late time.Duration
		s.ask(b, "/overdue", &late)
		s.end()
		above, after := float64(grown.Resident)-float64(before.Resident), float64(waits.Resident)-float64(empty.Resident)
		fmt.Printf("Cases                  %d open: %.0f MB above the same engine without them; after a restart %.0f MB above an empty engine's %.0f; open after %v; a deadline is met %v late\n",
			n, above/1e6, after/1e6, float64(empty.Resident)/1e6, ready.Round(time.Millisecond), late.Round(time.Millisecond))
		if max(above, after) > casesBytes {
			b.Errorf("%.0f and %.0f MB for %d open cases", above/1e6, after/1e6, n)
		}
		if late > 2*time.Second {
			b.Errorf("a deadline was met %v late", late)
		}
		b.ReportMetric(max(above, after)/1e6, "MB")
	}
}

// medDeadlineVariable is the environment variable with the engine's --med-deadline.
const medDeadlineVariable = "PIXD_BENCH_MED_DEADLINE"

// openCases has payers report n payments, and waits until the engine has opened all cases.
func openCases(s *engine.Served, n int) {
	ids := movements(s, n)
	inParallel(n, func(i int) {
		if _, err := s.Sim.Report(context.Background(), sim.Report{EndToEnd: ids[i], Situation: "SCAM"}); err != nil {
			panic(err)
		}
	})
	for countCases(s) < n {
		time.Sleep(100 * time.Millisecond)
	}
}

// movements returns the end-to-end ids of the first n payments in the scheme's book.
func movements(s *engine.Served, n int) (ids []string) {
	for cursor := ""; len(ids) < n; {
		page, next, err := s.Sim.Settled(context.Background(), 0, cursor, 10_000)
		if err != nil {
			panic(err)
		}
		for _, m := range page {
			ids = append(ids, m.EndToEnd)
		}
		if cursor = next; next == "" {
			break
		}
	}
	return ids[:n]
}

func countCases(s *engine.Served) (n int) {
	lo, hi := layout.AllCases()
	if err := s.Store.Scan(lo, hi, func(_, _ []byte) (bool, error) { n++; return true, nil }); err != nil {
		panic(err)
	}
	return n
}

// lateness opens one more case and returns how long after its deadline the engine closed it.
func lateness(s *engine.Served) time.Duration {
	ids, _ := s.Registry.Accounts(0, 1)
	paid := received(s, ids, 1)
	before := countCases(s)
	if _, err := s.Sim.Report(context.Background(), sim.Report{EndToEnd: paid[0], Situation: "SCAM"}); err != nil {
		panic(err)
	}
	for countCases(s) == before {
		time.Sleep(time.Millisecond)
	}
	lo, hi := layout.AllCases()
	for {
		var row layout.CaseIDRow
		err := s.Store.ScanBack(lo, hi, func(_, v []byte) (bool, error) {
			var err error
			row, err = layout.DecodeCaseIDRow(v)
			return false, err
		})
		if err != nil {
			panic(err)
		}
		if row.Status == pix.CaseClosed {
			k, err := s.History.Cases(row.Account, pix.CaseClosed, 1, 1)
			if err != nil {
				panic(err)
			}
			return k[0].ClosedAt.Time().Sub(k[0].DeadlineAt.Time())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
