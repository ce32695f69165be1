package httpapi

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

func address(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

func TestWindows(t *testing.T) {
	const minute = pix.Millis(window)
	start := testNow - testNow%minute
	l := NewLimiter(3)
	for i, v := range []struct {
		at   pix.Millis
		left int
		ok   bool
	}{
		{start, 2, true},
		{start + 1, 1, true},
		{start + minute - 1, 0, true},
		{start + minute - 1, 0, false},
		{start + minute, 2, true}, // a new minute: windows are aligned to the minute, not to the first request
		{start + minute - 1, 1, true},
		{start + minute, 0, true},
		{start + minute + 1, 0, false},
		{start + 9*minute, 2, true},
		{start - 60*minute, 2, true}, // a clock that is set back by an hour does not lock an address out
		{start - 60*minute, 1, true},
	} {
		if left, ok := l.Take(address(1), v.at); left != v.left || ok != v.ok {
			t.Errorf("%d: %d left, %v; want %d, %v", i, left, ok, v.left, v.ok)
		}
	}
	if left, ok := l.Take(address(2), start-60*minute); left != 2 || !ok {
		t.Errorf("another address: %d left, %v", left, ok)
	}
	if left, ok := NewLimiter(0).Take(address(1), start); left != -1 || !ok {
		t.Errorf("no limit: %d left, %v", left, ok)
	}
}

// TestLimiterKeepsCount sends requests from a million addresses with few requests each and
// from five addresses with many. It checks that the memory does not grow, that none of the
// five gets more than the limit or less than half of it, and that few of the other addresses
// are refused.
func TestLimiterKeepsCount(t *testing.T) {
	const limit = 20
	l := NewLimiter(limit)
	passed := map[uint32]int{}
	for n := range uint32(1_000_000) {
		for range 1 + n%3 {
			if _, ok := l.Take(address(n), testNow); ok {
				passed[n]++
			}
		}
		if _, ok := l.Take(address(0xffff_ff00+n%5), testNow); ok {
			passed[0xffff_ff00+n%5]++
		}
	}
	refused := 0
	for n := range uint32(1_000_000) {
		if passed[n] < int(1+n%3) {
			refused++
		}
	}
	for n := range uint32(5) {
		if got := passed[0xffff_ff00+n]; got > limit || got < limit/2 {
			t.Errorf("a heavy address passed %d times of %d", got, limit)
		}
	}
	if len(l.sets) != addressSets {
		t.Errorf("%d sets", len(l.sets))
	}
	if refused > 1000 {
		t.Errorf("%d of a million light addresses were refused something", refused)
	}
	t.Logf("%d of a million light addresses were refused something", refused)
}

// TestLimiterUnderPressure checks that addresses which take each other's slots again and
// again do not get more requests through than the limit allows.
func TestLimiterUnderPressure(t *testing.T) {
	const limit = 10
	l := NewLimiter(limit)
	l.sets = l.sets[:1]
	passed := map[uint32]int{}
	for range 100 {
		for n := range uint32(3 * addressWays) {
			if _, ok := l.Take(address(n), testNow); ok {
				passed[n]++
			}
		}
	}
	for n, got := range passed {
		if got > limit {
			t.Errorf("address %d passed %d times of %d", n, got, limit)
		}
	}
}

// TestLimiterReusesOldSlots checks that a new address takes the slot of one which has not asked in this
// minute, however often it did before, and not the slot and the count of one that has.
func TestLimiterReusesOldSlots(t *testing.T) {
	const limit = 20
	l := NewLimiter(limit)
	l.sets = l.sets[:1]
	for n := range uint32(addressWays - 1) {
		for range 15 {
			l.Take(address(n), testNow-10*window)
		}
	}
	take := func(n uint32, want int) {
		t.Helper()
		if left, ok := l.Take(address(n), testNow); !ok || left != want {
			t.Errorf("address %d: %d left, %v; want %d", n, left, ok, want)
		}
	}
	take(100, limit-1)
	take(100, limit-2)
	for n := range uint32(addressWays - 1) {
		take(200+n, limit-1)
	}
	take(100, limit-3)
}

// TestLimiterIsExact checks that the requests of thousands of addresses are counted
// exactly.
func TestLimiterIsExact(t *testing.T) {
	l := NewLimiter(5)
	for n := range uint32(8_000) {
		for i := range 7 {
			if _, ok := l.Take(address(n*7919), testNow); ok != (i < 5) {
				t.Fatalf("address %d, request %d: %v", n, i, ok)
			}
		}
	}
}

func TestLimiterAtOnce(t *testing.T) {
	const limit, askers = 5000, 8
	l := NewLimiter(limit)
	var passed atomic.Int64
	var work sync.WaitGroup
	for a := range askers {
		work.Go(func() {
			for n := range uint32(limit) {
				if _, ok := l.Take(address(1), testNow); ok {
					passed.Add(1)
				}
				l.Take(address(uint32(a+1)<<16+n), testNow)
			}
		})
	}
	work.Wait()
	if passed.Load() != limit {
		t.Errorf("%d passed, the limit is %d", passed.Load(), limit)
	}
}

func TestRateLimit(t *testing.T) {
	f := newFixture(t)
	o := f.options()
	o.RateLimit = 3
	f.handler = New(o)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	makeKey(t, f.keys, "cli_two", registry.APIKey{Whitelist: []string{"127.0.0.1", "127.0.0.2"}})
	pay := sent{path: cashOut, body: payBody, client: "cli_two"}
	left := func(g got) string { return g.header("x-ratelimit-remaining") }
	resets := func(g got) string { return g.header("x-ratelimit-reset") }
	f.now -= f.now % window
	for past, want := range map[pix.Millis]string{0: "60", 1: "60", 1000: "59", window - 1001: "2", window - 1000: "1", window - 1: "1"} {
		if got := strconv.FormatInt(windowLeft(f.now+past), 10); got != want {
			t.Errorf("%d ms after the window's beginning: resets in %s s, want %s", past, got, want)
		}
	}
	f.now += 17_500
	if g := f.expect(pay, 202, `{…`); left(g) != "2" || resets(g) != "43" {
		t.Errorf("left %q, resets in %q", left(g), resets(g))
	}
	bad := pay
	bad.body = `{}`
	if g := f.expect(bad, 400, `{…`); left(g) != "" || resets(g) != "" { // a refused request counts too, but only a 2xx answer has the headers
		t.Errorf("left %q, resets in %q", left(g), resets(g))
	}
	unsigned := pay
	unsigned.headers = []string{"hmac", "-"} // refused by check 5, before check 6 counts the request
	f.expect(unsigned, 401, `{…`)
	if g := f.send(sent{method: "GET", path: balance}); left(g) != "" || resets(g) != "" {
		t.Errorf("left %q, resets in %q", left(g), resets(g))
	}
	if g := f.expect(pay, 202, `{…`); left(g) != "0" {
		t.Errorf("left %q", left(g))
	}
	f.engine.command = nil
	g := f.expect(pay, 429, shape1("429", "Too many requests"))
	if g.header("Retry-After") != "60" || left(g) != "" || resets(g) != "43" || f.engine.command != nil {
		t.Errorf("Retry-After %q, left %q, resets in %q, command %v", g.header("Retry-After"), left(g), resets(g), f.engine.command)
	}
	other := pay
	other.ip = "127.0.0.2"
	f.expect(other, 202, `{…`)
	f.now += window
	f.expect(pay, 202, `{…`)
}

func TestFailedCredentials(t *testing.T) {
	f := newFixture(t)
	o := f.options()
	o.FailedAuthLimit = 2
	f.handler = New(o)
	f.engine.answer = ledger.Answer{Head: head()}
	wrong := sent{method: "GET", path: balance, headers: []string{"Authorization", "ApiKey cli_all:x"}}
	f.expect(wrong, 401, shape1("401", "Invalid API key credentials"))
	f.expect(sent{method: "GET", path: balance, headers: []string{"Authorization", "-"}}, 401, `{…`)
	g := f.expect(wrong, 429, shape1("429", "Too many requests"))
	if g.header("Retry-After") != "60" || g.header("x-ratelimit-reset") != "40" {
		t.Errorf("Retry-After %q, resets in %q", g.header("Retry-After"), g.header("x-ratelimit-reset"))
	}
	f.expect(sent{method: "GET", path: balance}, 200, `{…`) // the right secret is accepted even after the limit of failures is reached
	wrong.ip = "10.0.0.1"
	wrong.headers = append(wrong.headers, "X-Forwarded-For", "127.0.0.1")
	f.expect(wrong, 429, `{…`) // counted against the client's address, which has reached its limit
	wrong.headers[3] = strings.Repeat("?", 3)
	f.expect(wrong, 401, `{…`) // counted against the proxy's address, because the client's is not valid
	f.now += window
	for n, c := range []struct {
		from string
		want int
	}{{"2001:db8::1", 401}, {"2001:db8::2", 401}, {"2001:db8::ffff:3", 429}, {"2001:db8:0:1::1", 401}} { // an IPv6 address counts as its /64
		wrong.headers[3] = c.from
		if g := f.send(wrong); g.status != c.want {
			t.Errorf("%d: %s: %d", n, c.from, g.status)
		}
	}
	wrong.headers[3] = "127.0.0.1"
	f.expect(wrong, 401, `{…`)
}

func BenchmarkLimiter(b *testing.B) {
	l := NewLimiter(90_000)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			l.Take(address(7), testNow)
		}
	})
}
