package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pixd/cmd/engine"
)

// The load beside which snapshots are made, and how much they may add to its latency.
const (
	snapshotRate   = 3000 // cash-outs per second, open loop
	snapshotRounds = 5
	snapshotAdds   = 50 * time.Millisecond // to the p99.9
)

// madeSnapshot is a snapshot that was made: how long that took, and the size of its file.
type madeSnapshot struct {
	Took time.Duration
	Size int64
}

// snapshotOnce makes a snapshot through the operator API; base is what it is made upon, or empty.
func snapshotOnce(s *engine.Served, base string) madeSnapshot {
	body := "{}"
	if base != "" {
		body = `{"base":"` + base + `"}`
	}
	ask := func(method string, into any) {
		r, err := http.NewRequest(method, "http://"+s.AdminAddr.String()+"/admin/snapshots", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			panic(err)
		}
	}
	began := time.Now()
	ask(http.MethodPost, &struct{}{})
	for {
		var l struct {
			Running *struct{}
			Last    *struct{ Error *string }
			Data    []struct{ Size int64 }
		}
		if ask(http.MethodGet, &l); l.Running == nil {
			if l.Last == nil || l.Last.Error != nil {
				panic(fmt.Sprint("no snapshot: ", l.Last))
			}
			return madeSnapshot{Took: time.Since(began), Size: l.Data[0].Size}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// BenchmarkSnapshot measures the latency of cash-outs at a fixed rate, in turn without and
// during a snapshot of a journal of 300,000 payouts (or of the number in PIXD_BENCH_SNAPSHOT).
func BenchmarkSnapshot(b *testing.B) {
	n := 300_000
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_SNAPSHOT")); err == nil {
		n = v
	}
	for b.Loop() {
		s := start(b, roleMeasured, b.TempDir())
		var keys []Credentials
		s.ask(b, "/accounts?n=1000", &keys)
		made := 0
		load := func(n int) Prepared {
			made += n
			return prepare(n, func(i int) []byte { return payOut(keys[i%len(keys)], made+i) })
		}
		for filled := 0; filled < n; {
			filled += Load{Addr: s.Addr, Connections: postConnections, Duration: time.Minute, Source: load(100_000)}.Run(b.Context()).Done
		}
		time.Sleep(3 * time.Second) // compactions of what was filled
		var a, d Result             // without a snapshot, and during one
		for range snapshotRounds {
			var made madeSnapshot
			s.beside(b, load(10*snapshotRate), 10*time.Second, &a, nil)
			s.beside(b, load(10*snapshotRate), 10*time.Second, &d, func() { s.ask(b, "/snapshot", &made) })
			fmt.Printf("%-22s took %v\n", "Snapshot", made.Took.Round(time.Millisecond))
		}
		fmt.Printf("%-22s p50 %v p99.9 %v max %v without; during p50 %v p99.9 %v max %v\n", "Snapshot",
			a.Quantile(.5), a.Quantile(.999), a.Quantile(1), d.Quantile(.5), d.Quantile(.999), d.Quantile(1))
		adds := d.Quantile(.999) - a.Quantile(.999)
		b.ReportMetric(float64(adds.Milliseconds()), "ms-added")
		if adds > snapshotAdds {
			b.Errorf("a snapshot adds %v to the p99.9, at most %v are allowed", adds, snapshotAdds)
		}
	}
}

// beside sends a load at the fixed rate and adds what it measures to all. With while, the load
// ends when that returns.
func (s *server) beside(b *testing.B, load Prepared, most time.Duration, all *Result, while func()) {
	ctx, over := context.WithCancel(b.Context())
	defer over()
	if while != nil {
		go func() {
			defer over()
			while()
		}()
	}
	r := Load{Addr: s.Addr, Connections: postConnections, Duration: most, Rate: snapshotRate, Source: load}.Run(ctx)
	if while != nil {
		<-ctx.Done()
	}
	if len(r.Errors) > 0 {
		b.Fatalf("of %d requests were not carried out: %v", r.Sent, r.Errors)
	}
	all.Add(r)
}

// What an increment is measured with, and what it may cost of a full snapshot, in time and in size.
const (
	incrementStore = 5_000_000 // payouts in the store
	incrementAfter = 50_000    // payouts between a snapshot and an increment upon it
	incrementCosts = 0.1
)

// BenchmarkIncrement measures full snapshots of a store of 5 million payouts (or of the number in
// PIXD_BENCH_INCREMENT), and an increment after 50,000 more upon each. PIXD_BENCH_BIG_DIR is as for BenchmarkBig.
func BenchmarkIncrement(b *testing.B) {
	n := incrementStore
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_INCREMENT")); err == nil {
		n = v
	}
	dir := os.Getenv("PIXD_BENCH_BIG_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	for b.Loop() {
		keys := fillBig(b, dir, n)
		s := start(b, roleMeasured, dir)
		var times, sizes []float64
		for round := range 3 {
			var full, increment madeSnapshot
			s.ask(b, "/snapshot", &full)
			load := &payouts{keys: keys, first: n + unused() + round*incrementAfter, most: incrementAfter}
			if r := (Load{Addr: s.Addr, Connections: postConnections, Duration: time.Hour, Source: load}).Run(b.Context()); len(r.Errors) > 0 {
				b.Fatalf("of %d payouts were not carried out: %v", r.Sent, r.Errors)
			}
			s.ask(b, "/snapshot?base=auto", &increment)
			times, sizes = append(times, float64(increment.Took)/float64(full.Took)), append(sizes, float64(increment.Size)/float64(full.Size))
			fmt.Printf("%-22s full: %v, %d MiB; after %d payouts an increment: %v, %d MiB\n", "Increment", full.Took.Round(time.Millisecond), full.Size>>20,
				incrementAfter, increment.Took.Round(time.Millisecond), increment.Size>>20)
		}
		s.end()
		slices.Sort(times)
		slices.Sort(sizes)
		b.ReportMetric(times[1], "of-time")
		b.ReportMetric(sizes[1], "of-size")
		if n >= incrementStore && (times[1] > incrementCosts || sizes[1] > incrementCosts) {
			b.Errorf("an increment takes %.2f of a full snapshot's time and %.2f of its size, at most %.2f are allowed", times[1], sizes[1], incrementCosts)
		}
	}
}
