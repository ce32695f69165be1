package bench

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The duration of each load, and its number of connections.
const (
	loadTime        = 5 * time.Second
	echoConnections = 64
	postConnections = 256
)

func prepare(n int, request func(i int) []byte) Prepared {
	p := make(Prepared, n)
	for i := range p {
		p[i] = request(i)
	}
	return p
}

// measure makes a closed loop, and fails where a request is not carried out.
func measure(b *testing.B, addr string, connections int, s Source) *Result {
	r := Load{Addr: addr, Connections: connections, Duration: loadTime, Source: s}.Run(b.Context())
	if len(r.Errors) > 0 {
		b.Fatalf("of %d requests were not carried out: %v", r.Sent, r.Errors)
	}
	return r
}

// echo measures the bare server with the given request, and returns its answers per second.
func echo(b *testing.B, request []byte) float64 {
	s := start(b, roleEcho)
	r := measure(b, s.Addr, echoConnections, Repeated(request))
	return r.PerSecond()
}

func report(b *testing.B, name string, r *Result, bare float64, written, before counters) {
	fmt.Printf("%-22s %8.0f req/s  ratio %.3f  p50 %v  p99 %v  keys/op %.1f  bytes/op %.0f\n",
		name, r.PerSecond(), r.PerSecond()/bare, r.Quantile(.5).Round(10*time.Microsecond), r.Quantile(.99).Round(10*time.Microsecond),
		float64(written.Keys-before.Keys)/float64(r.Done), float64(written.Bytes-before.Bytes)/float64(r.Done))
	b.ReportMetric(r.PerSecond()/bare, "ratio")
	b.ReportMetric(r.PerSecond(), "req/s")
}

// scenario measures first the bare server and then a fresh engine, with the same requests.
func scenario(b *testing.B, accounts, n int, request func(c Credentials, i int) []byte) {
	for b.Loop() {
		s := start(b, roleMeasured, b.TempDir())
		var keys []Credentials
		s.ask(b, fmt.Sprintf("/accounts?n=%d", accounts), &keys)
		load := prepare(n, func(i int) []byte { return request(keys[i%accounts], i) })
		bare := echo(b, load[0])
		var before, after counters
		s.ask(b, "/counters", &before)
		if p := os.Getenv("PIXD_BENCH_PROFILE"); p != "" {
			go s.profile(p)
		}
		r := measure(b, s.Addr, postConnections, load)
		time.Sleep(500 * time.Millisecond) // settlements that come after the answers are part of the measurement
		s.ask(b, "/counters", &after)
		report(b, b.Name()[len("Benchmark"):], r, bare, after, before)
		s.end()
	}
}

func payOut(c Credentials, i int) []byte {
	return c.Post("/pix/cash-out", fmt.Sprintf(`{"amount":%d,"description":"bench","pix_key":"k%d@example.com"}`, 100+i%1000, i/1000))
}

func charge(c Credentials, i int) []byte {
	return c.Post("/pix/cash-in", fmt.Sprintf(`{"amount":%d,"description":"bench charge"}`, 100+i))
}

func BenchmarkCashOut1000(b *testing.B) { scenario(b, 1000, 200_000, payOut) }

func BenchmarkCashOutHot(b *testing.B) { scenario(b, 1, 200_000, payOut) }

func BenchmarkCashIn(b *testing.B) { scenario(b, 1000, 200_000, charge) }

// BenchmarkBalance measures reads of the balance. They are not signed, so the same request
// may be sent again and again.
func BenchmarkBalance(b *testing.B) {
	scenario(b, 1000, 2_000_000, func(c Credentials, _ int) []byte { return c.Get("/balance") })
}

// BenchmarkIdle measures how much memory 100,000 idle accounts take.
func BenchmarkIdle(b *testing.B) {
	const accounts = 100_000
	for b.Loop() {
		s := start(b, roleMeasured, b.TempDir())
		var warm []Credentials
		s.ask(b, "/accounts?n=1", &warm)
		var before, after counters
		s.ask(b, "/counters", &before)
		var keys []Credentials
		s.ask(b, fmt.Sprintf("/accounts?n=%d&forget=1", accounts), &keys)
		time.Sleep(5 * time.Second) // by then the accounts are idle, and Trim has freed what they do not need
		s.ask(b, "/counters", &after)
		awake := float64(after.Resident-before.Resident) / 1e6
		time.Sleep(80 * time.Second) // by then the accounts are passivated
		s.ask(b, "/counters", &after)
		mb := float64(after.Resident-before.Resident) / 1e6
		fmt.Printf("%-22s %8.0f MB above the empty engine's %.0f for %d idle accounts (%.0f while all were still in memory)\n",
			"Idle", mb, float64(before.Resident)/1e6, accounts, awake)
		b.ReportMetric(mb, "MB")
	}
}
