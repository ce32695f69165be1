package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"pixd/cmd/engine"
)

// mostStart is how long an engine may take from its start until /readyz answers 200.
const mostStart = 5 * time.Second

// isReady asks /readyz.
func isReady(s *engine.Served) bool {
	r, err := http.Get("http://" + s.AdminAddr.String() + "/readyz")
	if err != nil {
		return false
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode == http.StatusOK
}

// BenchmarkColdStart measures how long an engine takes to start on a journal of ten million
// records (or of the number in PIXD_BENCH_START), after a clean stop and after a kill in the
// middle of a load. If PIXD_BENCH_START_DIR names a folder, its journal is used; if the folder
// does not exist yet, it is made and left there.
func BenchmarkColdStart(b *testing.B) {
	n := 10_000_000
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_START")); err == nil {
		n = v
	}
	dir := os.Getenv("PIXD_BENCH_START_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(dir + "/journal"); err != nil {
		fillJournal(b, dir, n)
	}
	for b.Loop() {
		s := startTimed(b, dir, "clean stop")
		var keys []Credentials
		s.ask(b, "/accounts?n=1000", &keys)
		load := prepare(200_000, func(i int) []byte { return payOut(keys[i%len(keys)], i) })
		ctx, stop := context.WithCancel(b.Context())
		go func() {
			time.Sleep(5 * time.Second)
			s.Kill()
			stop()
		}()
		r := Load{Addr: s.Addr, Connections: postConnections, Duration: 10 * time.Second, Source: load}.Run(ctx)
		fmt.Printf("%-22s killed after %d more payouts were answered\n", "ColdStart", r.Done)
		if r.Done == 0 {
			b.Fatal("no payout before the kill")
		}
		startTimed(b, dir, "kill").end()
	}
}

// startTimed starts an engine and checks how long that took.
func startTimed(b *testing.B, dir, after string) *server {
	began := time.Now()
	s := start(b, roleMeasured, dir)
	var ready bool
	s.ask(b, "/ready", &ready)
	took := time.Since(began)
	fmt.Printf("%-22s %v to /readyz after a %s\n", "ColdStart", took.Round(time.Millisecond), after)
	b.ReportMetric(float64(took.Milliseconds()), "ms-after-"+after[:4])
	if !ready || took > mostStart {
		b.Errorf("ready %v after %v, at most %v are allowed", ready, took, mostStart)
	}
	return s
}
