package bench

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/engine"
	"pixd/cmd/operator"
)

// small are the options of a short load of an engine of its own.
func small(t *testing.T, scenarios ...string) Options {
	t.Helper()
	o := Options{Duration: time.Second, Accounts: 5, Connections: 8, TempDir: t.TempDir(), Build: engine.Build{Version: "v1"}}
	for _, name := range scenarios {
		s, err := FindScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		o.Scenarios = append(o.Scenarios, s)
	}
	return o
}

// TestMeasure loads an engine of its own with every scenario, and checks what the report says.
func TestMeasure(t *testing.T) {
	t.Parallel()
	names := []string{"balance", "cash-in", "cash-out", "refund", "statement", "mixed"}
	if testing.Short() {
		names = []string{"refund", "mixed"}
	}
	o := small(t, names...)
	o.WarmUp = 100 * time.Millisecond
	stages := map[string]bool{}
	o.Show = func(p Progress) { stages[p.Stage+": "+p.What] = true }
	r, err := Measure(t.Context(), t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != len(names) || !r.Audit.OK() || r.Audit.Scheme != "compared" || r.Audit.Accounts != 5 || r.Audit.Unknown != 0 || r.Audit.InFlight != 0 || r.Interrupted {
		t.Fatalf("%d runs, %+v", len(r.Runs), r.Audit)
	}
	changes := 0
	for i := range r.Runs {
		n := &r.Runs[i]
		if n.Done == 0 || n.Sent != n.Done || len(n.Errors) > 0 || n.Latency.P50 == 0 || n.Latency.P50 > n.Latency.P90 || n.Latency.P90 > n.Latency.P99 || n.Latency.P99 > n.Latency.P999 || n.Latency.P999 > n.Latency.Max {
			t.Errorf("%+v", n)
		}
		if n.Connections != 8 || n.Accounts != 5 || n.Addresses != 8 || n.Rate != 0 || n.Seconds < 1 || n.Seconds > 10 || len(n.Series) == 0 || len(n.Distribution) == 0 {
			t.Errorf("%+v", n)
		}
		if n.Engine.CPU <= 0 || n.Engine.PerDone <= 0 || n.Engine.MaxMemory < 1<<20 || n.Generator.CPU <= 0 || n.Series[len(n.Series)-1].Memory < 1<<20 {
			t.Errorf("%s: engine %+v, generator %+v", n.Scenario, n.Engine, n.Generator)
		}
		if writes := n.Scenario != "balance" && n.Scenario != "statement"; writes && (n.Syncs.P50 < 1 || n.Syncs.P50 > n.Syncs.P99 || n.Syncs.Max > 10e6) {
			t.Errorf("%s: syncs %+v", n.Scenario, n.Syncs)
		}
		if n.Stolen == nil || *n.Stolen < 0 || *n.Stolen > 1 {
			t.Errorf("%s: stolen %v", n.Scenario, n.stolen())
		}
		if n.Scenario == "cash-in" || n.Scenario == "cash-out" || n.Scenario == "refund" {
			changes += n.Done
		}
	}
	if r.Audit.Answers < changes || r.Engine.Version != "test" || !r.Engine.Own || r.Machine.Cores == 0 || r.Machine.CPU == "" {
		t.Errorf("%d answers audited of %d and more; %+v %+v", r.Audit.Answers, changes, r.Engine, r.Machine)
	}
	for _, s := range []string{"preparing: accounts", "preparing: payments", "warming up: refund", "load: mixed", "audit: accounts"} {
		if !stages[s] {
			t.Errorf("nothing shown of %q", s)
		}
	}
	if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	last := r.Runs[len(r.Runs)-1]
	if text := b.String(); !strings.HasPrefix(text, "SCENARIO") || !strings.Contains(text, last.syncP99()+"  ") || !strings.Contains(text, last.stolen()+"\n") || !strings.Contains(text, "audit: the books agree: ") {
		t.Errorf("text:\n%s", text)
	}
}

// TestMeasureAtARate checks an open loop, and that the rate limit of an address is met as a user
// meets it.
func TestMeasureAtARate(t *testing.T) {
	t.Parallel()
	o := small(t, "cash-out")
	o.Rate, o.Addresses, o.Accounts, o.Connections = 200, 1, 1, 64 // of a slow disk each may wait for 300 ms
	r, err := Measure(t.Context(), t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := &r.Runs[0]; n.Sent != 200 || n.Done != 200 || n.Rate != 200 || n.Addresses != 1 || n.PerSecond > 250 || n.Prepared != 1 || !r.Audit.OK() {
		t.Errorf("%+v %+v", n, r.Audit)
	}
}

// TestMeasureIsInterrupted checks that a load which is interrupted is audited and reported, and
// one that is interrupted before it began is not.
func TestMeasureIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	o := small(t, "mixed", "cash-out")
	o.Duration = time.Hour
	o.Show = func(p Progress) {
		if p.Second != nil {
			stop()
		}
	}
	r, err := Measure(ctx, t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Runs) != 1 || r.Runs[0].Done == 0 || !r.Audit.OK() || r.Audit.Answers == 0 {
		t.Errorf("%+v", r)
	}
	if _, err := Measure(ctx, t.Context(), o); err == nil {
		t.Error("reported before anything was done")
	}
	if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestMeasureRefuses checks that each thing that makes a load impossible is one clear line.
func TestMeasureRefuses(t *testing.T) {
	t.Parallel()
	o := newOther(t)
	nobody, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	web := "http://" + serving(t, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("<html>") })
	for want, change := range map[string]func(*Options){
		"no engine answers at http://" + nobody + ": connect: connection refused": func(o *Options) { o.Target = "http://" + nobody },
		`--target "127.0.0.1:8080": a URL such as`:                                func(o *Options) { o.Target = "127.0.0.1:8080" },
		"answers 200 OK: it is no merchant API of pixd":                           func(o *Options) { o.Target = web },
		"it is no operator API":                                                   func(o *Options) { o.Operator = &operator.Client{Base: web, Token: "x"} },
		"send the operator's token":                                               func(o *Options) { o.Operator = &operator.Client{Base: o.Operator.Base, Token: "0123456789abcdef"} },
		"no engine answers at http://" + nobody + ": c":                           func(o *Options) { o.Operator = &operator.Client{Base: "http://" + nobody, Token: "x"} },
		"--connections 900000: this process may open":                             func(o *Options) { o.Connections = 900_000 },
		"--rate -1: max, or 1 to 1000000":                                         func(o *Options) { o.Rate = -1 },
		"--rate 1000001: max, or 1 to 1000000":                                    func(o *Options) { o.Rate = 1_000_001 },
		"--duration 999ms: from 1s":                                               func(o *Options) { o.Duration = 999 * time.Millisecond },
		"--warm-up -1s: from 0s":                                                  func(o *Options) { o.WarmUp = -time.Second },
		"--accounts 0: 1 to":                                                      func(o *Options) { o.Accounts = 0 },
		"--ips 65537: 1 to 65536":                                                 func(o *Options) { o.Addresses = 65_537 },
		"--connections -1: 1 to":                                                  func(o *Options) { o.Connections = -1 },
		"--scenario neighbours has rates and":                                     func(o *Options) { o.Scenarios = []Scenario{Neighbours()} },
		"--sync-delay is for an engine":                                           func(o *Options) { o.SyncDelay = time.Millisecond },
		"folder for an engine: ":                                                  func(o *Options) { o.Target, o.TempDir = "", "/nonexistent/folder" },
	} {
		options := o.options(t, "cash-out")
		change(&options)
		_, err := Measure(t.Context(), t.Context(), options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for name, shift := range map[string]time.Duration{"1h0m0s ahead of this machine's": time.Hour, "1m0s behind this machine's": -time.Minute} {
		options := o.options(t, "balance")
		options.Target = shifted(t, o.engine.Addr, shift)
		if _, err := Measure(t.Context(), t.Context(), options); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
	options := o.options(t, "balance")
	options.Operator.Base = lateOperators(t, o.engine.Control)
	if _, err := Measure(t.Context(), t.Context(), options); err == nil || !strings.Contains(err.Error(), "behind this machine's, at most 5s are allowed") {
		t.Errorf("an engine whose accounts were made long ago: %v", err)
	}
	refuse := func(ctx *fasthttp.RequestCtx, pass func()) {
		if pass(); ctx.IsPost() {
			ctx.Error("closed for today", http.StatusServiceUnavailable)
		}
	}
	o.fault.Store(&refuse)
	options = o.options(t, "cash-in")
	options.WarmUp = 100 * time.Millisecond
	if _, err := Measure(t.Context(), t.Context(), options); err == nil || !strings.Contains(err.Error(), "none of ") || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
}

// shifted is a proxy of an engine with another clock.
func shifted(t *testing.T, addr string, by time.Duration) string {
	t.Helper()
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	p.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
		return nil
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return s.URL
}

// lateOperators is a proxy of an operator API whose engine's clock is behind.
func lateOperators(t *testing.T, addr string) string {
	t.Helper()
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	p.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = regexp.MustCompile(`"created_at":"20..`).ReplaceAll(body, []byte(`"created_at":"2021`))
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return s.URL
}

// TestEngineDies checks that where an engine dies, what was measured is reported, and that the
// audit which cannot be made is a difference.
func TestEngineDies(t *testing.T) {
	t.Parallel()
	o := newOther(t)
	options := o.options(t, "cash-out")
	options.Show = func(p Progress) {
		if p.Second != nil {
			_ = o.engine.cmd.Process.Kill()
		}
	}
	options.Duration = 3 * time.Second
	r, err := Measure(t.Context(), t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if r.Audit.OK() || !strings.Contains(r.Audit.Differences[0], "the audit could not be made: no engine answers at") || r.Runs[0].Done == 0 || len(r.Runs[0].Errors) == 0 {
		t.Errorf("%+v, %+v", r.Audit, r.Runs[0])
	}
	<-o.engine.ended
	o.engine.err = nil // the kill was meant
}
