package sim

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestLongestPayer checks that a payer's name and document may have 140 letters of two bytes each, and no more.
func TestLongestPayer(t *testing.T) {
	w := newHarness(t)
	pay := func(field string, n, status int) {
		t.Helper()
		w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"payer":{"`+field+`":"`+strings.Repeat("ç", n)+`"}}`, status, "")
	}
	for _, field := range []string{"name", "document"} {
		pay(field, 140, 201)
		pay(field, 141, 400)
	}
}

// TestAcknowledged checks that a message counts as acknowledged where the scheme has decided, also where it has refused, and
// not where it failed.
func TestAcknowledged(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		want   bool
	}{
		"done": {nil, 200, true}, "refused": {&scheme.Refused{Code: ledger.RefuseKeyNotFound}, 422, true}, "failed": {errors.New("broken"), 200, false},
	} {
		ends := 0
		status, _, err := answering(func(context.Context, []byte) (any, error) { return nil, c.err })(nil, func(acknowledged bool) {
			if ends++; acknowledged != c.want {
				t.Errorf("%s: acknowledged %v", name, acknowledged)
			}
		})
		if ends != 1 || status != c.status || (err != nil) != (name == "failed") {
			t.Errorf("%s: %d %v, ended %d times", name, status, err, ends)
		}
	}
}

// TestMetricsGuarded checks that the metrics need the token exactly where the simulator says so.
func TestMetricsGuarded(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		h := New(Options{
			Token: "a token of the tests", Now: func() pix.Millis { return testNow }, Log: slog.New(slog.DiscardHandler),
			Metrics: func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(200) }, GuardMetrics: guarded,
		})
		for token, want := range map[string]int{"": map[bool]int{false: 200, true: 401}[guarded], "a token of the tests": 200} {
			var ctx fasthttp.RequestCtx
			ctx.Request.SetRequestURI("/metrics")
			ctx.Request.Header.Set("Authorization", "Bearer "+token)
			if h(&ctx); ctx.Response.StatusCode() != want {
				t.Errorf("guarded %v, token %q: %d", guarded, token, ctx.Response.StatusCode())
			}
		}
	}
}
