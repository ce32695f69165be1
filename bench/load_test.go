package bench

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// serving starts a server for loads and returns its address.
func serving(t *testing.T, h fasthttp.RequestHandler) string {
	t.Helper()
	l, err := listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: h, Concurrency: 10_000, NoDefaultDate: true}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = l.Close() }) // a Shutdown would wait for connections that a pool keeps
	return l.Addr().String()
}

// counting is a Source of numbered requests that counts the answers by status.
type counting struct {
	mu     sync.Mutex
	asked  map[int]int
	status map[int]int
	bodies map[string]int
	most   int // number of requests; 0: no limit
}

func newCounting() *counting {
	return &counting{asked: map[int]int{}, status: map[int]int{}, bodies: map[string]int{}}
}

// Request implements Source.
func (c *counting) Request(b []byte, i int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && i >= c.most {
		return b
	}
	c.asked[i]++
	return append(b, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"...)
}

// Answer implements Source.
func (c *counting) Answer(_, status int, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status[status]++
	c.bodies[string(body)]++
}

// TestClosedLoop checks that each request is sent once and answered once, that no more than one
// of a connection is on its way, and that source addresses are used in turn.
func TestClosedLoop(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]int{}
	var inHand, most atomic.Int64
	addr := serving(t, func(ctx *fasthttp.RequestCtx) {
		n := inHand.Add(1)
		defer inHand.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		mu.Lock()
		from[ctx.RemoteIP().String()]++
		mu.Unlock()
		ctx.SetBodyString("hello")
	})
	c := newCounting()
	c.most = 5000
	r := Load{
		Addr: addr, Connections: 6, Duration: time.Minute, Source: c,
		From: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.3.4.5"), netip.MustParseAddr("127.9.9.9")},
	}.Run(t.Context())
	if r.Sent != 5000 || r.Done != 5000 || len(r.Errors) != 0 || r.Connections != 6 || most.Load() > 6 {
		t.Errorf("%+v, %d at once", r, most.Load())
	}
	if len(c.asked) != 5000 || c.status[200] != 5000 || c.bodies["hello"] != 5000 {
		t.Errorf("%d asked, answers %v %v", len(c.asked), c.status, c.bodies)
	}
	if len(from) != 3 || from["127.3.4.5"] == 0 {
		t.Errorf("requests came from %v", from)
	}
	if q := r.Quantile(.5); q <= 0 || q > 100*time.Millisecond {
		t.Errorf("p50 %v", q)
	}
}

// TestOpenLoopCountsStalls checks that at a rate latencies count from the time at which requests
// were due: while a server stalls for 400 ms, the requests due in that time wait for 200 ms on
// average. A closed loop sees a stall of as many requests as it has connections.
func TestOpenLoopCountsStalls(t *testing.T) {
	t.Parallel()
	slow := func() (addr string) {
		var once sync.Once
		var gate sync.RWMutex
		var served atomic.Int64
		return serving(t, func(ctx *fasthttp.RequestCtx) {
			if served.Add(1) == 300 {
				once.Do(func() {
					gate.Lock()
					time.Sleep(400 * time.Millisecond)
					gate.Unlock()
				})
			}
			gate.RLock()
			defer gate.RUnlock()
			ctx.SetBodyString("x")
		})
	}
	var seconds []Second
	c := newCounting()
	c.most = 1000 // the load ends with its source, so that a busy machine leaves none unsent
	open := Load{
		Addr: slow(), Connections: 8, Duration: time.Minute, Rate: 500, Source: c, Second: func(s *Second) { seconds = append(seconds, *s) },
	}.Run(t.Context())
	if open.Done != 1000 || len(open.Errors) > 0 || len(c.asked) != 1000 {
		t.Fatalf("%d of 1000 done, %v", open.Done, open.Errors)
	}
	if q := open.Quantile(.9); q < 100*time.Millisecond { // a fifth of the requests were due during the stall
		t.Errorf("open loop: p90 %v hides the stall", q)
	}
	if len(seconds) < 2 || len(open.Series) != len(seconds) {
		t.Fatalf("%d seconds", len(seconds))
	}
	sum, longest := 0, int64(0)
	for _, s := range seconds {
		sum += s.Done
		longest = max(longest, s.Max) // the second in which the stall ends: on a busy machine not the first
	}
	if sum != 1000 || longest < 300_000 || seconds[0].At < .9 || seconds[0].Seconds < .9 {
		t.Errorf("%d done in seconds, one for %d µs, the first is %+v", sum, longest, seconds[0])
	}
	closed := Load{Addr: slow(), Connections: 8, Duration: 2 * time.Second, Source: newCounting()}.Run(t.Context())
	if q := closed.Quantile(.9); q > 100*time.Millisecond {
		t.Errorf("closed loop: p90 %v", q)
	}
}

// TestOpenLoopGrows checks that connections are added where requests are due and all others wait,
// and no more than are allowed.
func TestOpenLoopGrows(t *testing.T) {
	t.Parallel()
	addr := serving(t, func(ctx *fasthttp.RequestCtx) { time.Sleep(100 * time.Millisecond); ctx.SetBodyString("x") })
	for most, want := range map[int][2]int{500: {100, 500}, 80: {80, 80}} {
		r := Load{Addr: addr, Connections: most, Duration: time.Second, Rate: 1500, Source: newCounting()}.Run(t.Context())
		if r.Connections < want[0] || r.Connections > want[1] || r.Sent != 1500 || r.Sent != r.Done+r.Errors[notSent] || r.Elapsed > 3*time.Second {
			t.Errorf("at most %d: %d connections in %v, %d of %d done, %v", most, r.Connections, r.Elapsed, r.Done, r.Sent, r.Errors)
		}
		if unsent := r.Errors[notSent]; most == 500 && unsent > 0 || most == 80 && unsent < 400 { // 80 connections get 800 answers in a second
			t.Errorf("at most %d: %d not sent", most, unsent)
		}
	}
}

// TestOpenLoopGrowsWhileAllWait checks that requests are sent when they are due also where every
// connection waits for an answer: a client that waits does not keep others from asking. It is not parallel to
// others, because it measures.
func TestOpenLoopGrowsWhileAllWait(t *testing.T) {
	const wait = 3 * time.Second
	var begun, atEnd atomic.Int64
	addr := serving(t, func(ctx *fasthttp.RequestCtx) {
		begun.Add(1)
		time.Sleep(wait)
		ctx.SetBodyString("x")
	})
	l := Load{Addr: addr, Connections: 600, Duration: time.Second, Rate: 400, Source: newCounting()}
	time.AfterFunc(2*time.Second, func() { atEnd.Store(begun.Load()) })
	r := l.Run(t.Context())
	if atEnd.Load() != 400 || r.Done != 400 || r.Connections < 400 || r.Connections > 464 || r.Quantile(1) > wait+time.Second {
		t.Errorf("%d of 400 were sent before the first answer; %d done on %d connections, the slowest in %v", atEnd.Load(), r.Done, r.Connections, r.Quantile(1))
	}
}

// TestSourceEnds checks that a load ends when its source has no more requests, and counts none as
// not sent.
func TestSourceEnds(t *testing.T) {
	t.Parallel()
	addr := serving(t, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("x") })
	for _, rate := range []int{0, 200} {
		c := newCounting()
		c.most = 20
		r := Load{Addr: addr, Connections: 100, Duration: 20 * time.Second, Rate: rate, Source: c}.Run(t.Context())
		if r.Done != 20 || r.Sent != 20 || len(r.Errors) > 0 || r.Elapsed > 5*time.Second || r.Connections > 100 {
			t.Errorf("rate %d: %d done, %d sent, %v, in %v", rate, r.Done, r.Sent, r.Errors, r.Elapsed)
		}
	}
}

// TestLoadIsInterrupted checks that a load ends with its context, and that what was sent is
// answered before.
func TestLoadIsInterrupted(t *testing.T) {
	t.Parallel()
	addr := serving(t, func(ctx *fasthttp.RequestCtx) { time.Sleep(20 * time.Millisecond); ctx.SetBodyString("x") })
	for _, rate := range []int{0, 1, 200} {
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		r := Load{Addr: addr, Connections: 4, Duration: time.Hour, Rate: rate, Source: newCounting()}.Run(ctx)
		stop()
		if took := time.Since(began); took > 5*time.Second || r.Done == 0 || len(r.Errors) > 0 {
			t.Errorf("rate %d: %v, %+v", rate, took, r)
		}
	}
}

// TestKindsOfErrors checks how failures are named, and that a client goes on after each.
func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	refused, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	raw := func(answer string, reset bool) string {
		l, err := listenLocal()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = c.Write([]byte(answer))
				if reset {
					_ = c.(*net.TCPConn).SetLinger(0)
				}
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	for want, addr := range map[string]string{
		"connection refused": refused,
		"connection closed":  raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", false),
		"connection reset":   raw("", true),
		"not HTTP":           raw("SSH-2.0-OpenSSH_9.2p1\r\n\r\n", false),
		"429":                raw("HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno", false),
	} {
		c := newCounting()
		c.most = 3
		r := Load{Addr: addr, Connections: 1, Duration: time.Minute, Source: c}.Run(t.Context())
		if len(r.Errors) != 1 || r.Errors[want] != 3 || r.Done != 0 || r.Sent != 3 {
			t.Errorf("%s: %+v", want, r)
		}
		if want == "429" && (c.status[429] != 3 || c.bodies["no"] != 3) || want != "429" && c.status[0] != 3 {
			t.Errorf("%s: told %v %v", want, c.status, c.bodies)
		}
	}
	for err, want := range map[error]string{
		syscall.EMFILE: "too many open files", syscall.EADDRNOTAVAIL: "no free local port", errUnanswered: "no answer",
		context.DeadlineExceeded: "timeout", syscall.EHOSTUNREACH: "connection failed",
	} {
		if got := kindOf(0, err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// TestRefusalsCountFromSending checks that what a refusal takes does not count how long its
// request waited for a connection, which its latency would.
func TestRefusalsCountFromSending(t *testing.T) {
	t.Parallel()
	addr := serving(t, func(ctx *fasthttp.RequestCtx) {
		time.Sleep(30 * time.Millisecond)
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
	})
	r := Load{Addr: addr, Connections: 1, Duration: time.Second, Rate: 200, Source: newCounting()}.Run(t.Context())
	answered := r.Errors["503"]
	if answered < 5 || answered+r.Errors[notSent] != 200 {
		t.Fatalf("%v", r.Errors)
	}
	// The last request that is sent has waited for nearly as long as the load.
	if l := latencyOf(r.refused); l.P50 < 30_000 || l.P50 > 300_000 {
		t.Errorf("refusals took %+v", l)
	}
}

// TestDistribution checks a report's quantiles of known latencies.
func TestDistribution(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	for i := range 10_000 {
		r.shards[i%3].take(200, nil, true, time.Duration(i+1)*10*time.Microsecond, time.Hour)
	}
	r.shards[0].take(503, nil, false, time.Hour, time.Second)
	r.shards[1].take(0, syscall.ECONNRESET, false, time.Second, time.Second)
	s := r.turn()
	got := r.result(2*time.Second, 7, time.Second)
	near := func(got, want int64) bool { return got >= want*999/1000 && got <= want*1002/1000 }
	if l := latencyOf(got.done); !near(l.P50, 50_000) || !near(l.P90, 90_000) || !near(l.P99, 99_000) || !near(l.P999, 99_900) || !near(l.Max, 100_000) {
		t.Errorf("%+v", l)
	}
	if s.Done != 10_000 || s.Errors != 2 || !near(s.P50, 50_000) || !near(s.P99, 99_000) || !near(s.Max, 100_000) {
		t.Errorf("%+v", s)
	}
	if l := latencyOf(got.refused); !near(l.P50, 1_000_000) || l.Max == 0 {
		t.Errorf("refused %+v", l)
	}
	if got.Sent != 10_002 || got.Done != 10_000 || got.PerSecond() != 5000 {
		t.Errorf("%+v", got)
	}
	var kinds []string
	for _, c := range got.counts() {
		kinds = append(kinds, c.Kind)
	}
	if k := strings.Join(kinds, " "); k != "503 connection reset" {
		t.Error(k)
	}
	last := Quantile{}
	for _, q := range distributionOf(got.done) {
		if q.Q < last.Q || q.Latency < last.Latency || !near(q.Latency, max(10, int64(q.Q*100_000))) && q.Q > .01 {
			t.Errorf("%+v after %+v", q, last)
		}
		last = q
	}
	if last.Q != 1 || len(distributionOf(newHistogram())) != 0 {
		t.Errorf("the last is %+v", last)
	}
	again := r.turn()
	if all := r.result(time.Second, 1, 0); again.Done != 0 || again.Errors != 0 || again.Max != 0 || all.Sent != 10_002 || all.Errors["503"] != 1 || all.refused.TotalCount() != 1 {
		t.Errorf("counted twice: %+v, %+v", again, all)
	}
}

// TestWaitsAreExact checks that no wait for a request is too short, and that waits are not late by
// nature: of many, one at least is on time, however busy the machine is.
func TestWaitsAreExact(t *testing.T) {
	r := &running{Load: Load{Rate: exactRate}, ctx: t.Context()}
	for _, early := range []time.Duration{300 * time.Microsecond, 3300 * time.Microsecond} {
		best := time.Hour
		for range 100 {
			began := time.Now()
			if !r.rest(early) {
				t.Fatal("the load has ended")
			}
			late := time.Since(began) - early
			if late < 0 {
				t.Fatalf("%v early", -late)
			}
			best = min(best, late)
		}
		if best > 300*time.Microsecond {
			t.Errorf("each wait of %v was late, by %v at least", early, best)
		}
	}
	sleepExactly(0)
	sleepExactly(-time.Second)
}
