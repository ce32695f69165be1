package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestPairKilled checks an engine and a simulator that are killed or ended under load, and
// started again. Every payment must happen once and settle, the balance must be exact, and an
// audit must find that the engine's sums equal the scheme's book.
func TestPairKilled(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	s := p.engine.shop()
	engine, sim := p.engine, p.sim // the load uses these two values' addresses, which stay the same after a restart
	var sent atomic.Int64
	stop := make(chan struct{})
	loaded := make(chan int64)
	go func() {
		counts := make(chan struct{})
		for range 6 {
			go func() {
				for {
					select {
					case <-stop:
						counts <- struct{}{}
						return
					default:
						_, _ = once(engine, sim, s, sent.Add(1))
					}
				}
			}()
		}
		for range 6 {
			<-counts
		}
		loaded <- sent.Load()
	}()
	ends := func(one *process, s syscall.Signal) {
		time.Sleep(400 * time.Millisecond)
		if code := one.end(s); s == syscall.SIGTERM && code != 0 {
			t.Errorf("SIGTERM: exit %d\n%s", code, one.words())
		}
		if said := one.words(); strings.Contains(said, "panic") || strings.Contains(said, schemeWord) || strings.Contains(said, token) {
			t.Error(said)
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		ends(p.sim, s)
		time.Sleep(100 * time.Millisecond)
		p.startSim()
		ends(p.engine, s)
		p.startEngine()
	}
	close(stop)
	n := <-loaded
	want := int64(1_000_000_000)
	for i := int64(1); i <= n; i++ { // every operation is sent again, because it may have failed without a scheme; none happens twice
		effect, err := once(engine, sim, s, i)
		for range 50 {
			if err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
			effect, err = once(engine, sim, s, i)
		}
		if err != nil {
			t.Fatal(err)
		}
		want += effect
	}
	if got := settledDown(p.engine, s); got != want || n < 100 {
		t.Errorf("%d operations, balance %d, want %d", n, got, want)
	}
	for range 100 { // repeated, because notices of customers' payments may still be on their way
		if got, _ := s.balance(p.engine); got == want {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if reported := p.engine.reported("audit"); !strings.Contains(reported, "scheme's book  compared\ndifferences    0\n") {
		t.Error(reported)
	}
	for _, one := range []*process{p.engine, p.sim} {
		if code := one.end(syscall.SIGTERM); code != 0 {
			t.Errorf("SIGTERM: exit %d\n%s", code, one.words())
		}
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", filepath.Join(p.dir, "data"))
	if code != 0 || !strings.Contains(out, fmt.Sprintf("balance   %d\npending   0\n", want)) {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}

// once sends the n-th operation, a payout or a customer's payment, and returns the
// operation's effect on the balance. It returns an error if the operation may not have
// happened.
func once(engine, sim *process, s shop, n int64) (int64, error) {
	if n%3 == 0 {
		e2e := fmt.Sprintf("E99999003%s%011d", time.Now().UTC().Format("20060102")+"0000", n)
		status, got, err := sim.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"end_to_end_id":%q}`, s.Key, e2e))
		if err == nil && status != 201 {
			err = fmt.Errorf("payment %d: %d %s", n, status, got)
		}
		return 500, err
	}
	status, got, err := s.ask(engine.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":"k%d@example.com"}`, n), fmt.Sprint("payout-", n))
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("payout %d: %d %s", n, status, got)
	}
	return -10_000, err
}

// settledDown waits until nothing is pending and the balance no longer changes. It waits
// longer than rest, because the delivery of notices may have failed a few times.
func settledDown(p *process, s shop) int64 {
	p.t.Helper()
	var last int64 = -1
	for range 60 {
		balance, pending := s.balance(p)
		if pending == 0 && balance == last {
			return balance
		}
		last = balance
		time.Sleep(500 * time.Millisecond)
	}
	p.t.Fatal("payouts stay pending")
	return 0
}

// TestSchemeForgets checks that a scheme which has lost its book is sent the engine's PIX
// keys again while the engine runs.
func TestSchemeForgets(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	s := p.engine.shop()
	p.sim.end(syscall.SIGKILL)
	if err := os.RemoveAll(filepath.Join(p.dir, "sim")); err != nil {
		t.Fatal(err)
	}
	p.startSim()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status, got, err := p.sim.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500}`, s.Key))
		if status == 201 {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatal(status, string(got), err)
		}
	}
}
