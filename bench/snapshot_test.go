package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
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

// snapshotOnce makes a snapshot through the operator API and returns how long that took.
func snapshotOnce(s *engine.Served) time.Duration {
	ask := func(method string, into any) {
		r, err := http.NewRequest(method, "http://"+s.AdminAddr.String()+"/admin/snapshots", nil)
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
		}
		if ask(http.MethodGet, &l); l.Running == nil {
			if l.Last == nil || l.Last.Error != nil {
				panic(fmt.Sprint("no snapshot: ", l.Last))
			}
			return time.Since(began)
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
			var took time.Duration
			s.beside(b, load(10*snapshotRate), 10*time.Second, &a, nil)
			s.beside(b, load(10*snapshotRate), 10*time.Second, &d, func() { s.ask(b, "/snapshot", &took) })
			fmt.Printf("%-22s took %v\n", "Snapshot", took.Round(time.Millisecond))
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
