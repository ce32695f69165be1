package bench

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/cmd/operator"
)

// other is an engine behind a proxy of the merchant API that tests put faults in.
type other struct {
	engine *Process
	token  string
	fault  atomic.Pointer[func(ctx *fasthttp.RequestCtx, pass func())]
	url    string
}

func newOther(t *testing.T) *other {
	t.Helper()
	o := &other{token: newToken()}
	var err error
	if o.engine, err = StartProcess(roleEngine, []string{tokenVariable + "=" + o.token}, "-dir", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	client := &fasthttp.HostClient{Addr: o.engine.Addr, MaxConns: 1000}
	o.url = "http://" + serving(t, func(ctx *fasthttp.RequestCtx) {
		pass := func() {
			if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), http.StatusBadGateway)
			}
		}
		if fault := o.fault.Load(); fault != nil {
			(*fault)(ctx, pass)
			return
		}
		pass()
	})
	return o
}

func (o *other) options(t *testing.T, scenarios ...string) Options {
	s := small(t, scenarios...)
	s.Target, s.Operator = o.url, &operator.Client{Base: "http://" + o.engine.Control, Token: o.token}
	return s
}

// TestAuditFindsFaults checks that the audit finds an engine's lies: answers that were never
// journaled, work that was done although it was refused, and wrong figures.
func TestAuditFindsFaults(t *testing.T) {
	o := newOther(t)
	var posts atomic.Int64
	ofPosts := func(every int64, do func(ctx *fasthttp.RequestCtx, pass func())) func(*fasthttp.RequestCtx, func()) {
		posts.Store(0)
		return func(ctx *fasthttp.RequestCtx, pass func()) {
			if !ctx.IsPost() || posts.Add(1)%every != 0 {
				pass()
				return
			}
			do(ctx, pass)
		}
	}
	replaceIn := func(from, to string) func(ctx *fasthttp.RequestCtx, pass func()) {
		return func(ctx *fasthttp.RequestCtx, pass func()) {
			pass()
			body := ctx.Response.Body()
			if bytes.Contains(body, []byte(from)) {
				ctx.Response.SetBody(bytes.Replace(bytes.Clone(body), []byte(from), []byte(to), 1))
			}
		}
	}
	var first atomic.Pointer[[]byte]
	for i, c := range []struct {
		name, scenario, want string
		fault                func(ctx *fasthttp.RequestCtx, pass func())
	}{
		{"nothing is wrong", "mixed", "", nil},
		{"a payout answered and never journaled", "cash-out", "was answered 202, and is not in the book", ofPosts(50, func(ctx *fasthttp.RequestCtx, _ func()) {
			ctx.SetStatusCode(202)
			ctx.SetBodyString(fmt.Sprintf(`{"worked":true,"final":false,"transaction_id":"PIXOUT%020d","status":"accepted"}`, posts.Load()))
		})},
		{"a charge answered and never journaled", "cash-in", "was answered 200, and is not in the book", ofPosts(50, func(ctx *fasthttp.RequestCtx, _ func()) {
			ctx.SetBodyString(fmt.Sprintf(`{"worked":true,"transaction_id":"PIXIN%020d","status":"active"}`, posts.Load()))
		})},
		{"a payout refused and carried out", "cash-out", "is in the book, and no client was answered so", ofPosts(50, func(ctx *fasthttp.RequestCtx, pass func()) {
			pass()
			ctx.Response.Reset()
			ctx.Error("busy", http.StatusServiceUnavailable)
		})},
		{"an answer without an id", "refund", "without a transaction_id", ofPosts(50, func(ctx *fasthttp.RequestCtx, pass func()) {
			pass()
			ctx.SetBodyString(`{"worked":true}`)
		})},
		{"one answer for two requests", "cash-out", "was given to two requests", ofPosts(2, func(ctx *fasthttp.RequestCtx, pass func()) {
			if b := first.Load(); b != nil {
				ctx.SetStatusCode(202)
				ctx.SetBody(*b)
				return
			}
			pass()
			b := bytes.Clone(ctx.Response.Body())
			first.Store(&b)
		})},
		{"a wrong amount in the book", "cash-out", "and its request was over", replaceIn(`"amount":1`, `"amount":7`)},
		{"a balance that the book does not make", "cash-in", "but its transactions make", replaceIn(`"balance":1`, `"balance":2`)},
		{"money that is not available", "cash-in", "but its transactions make", replaceIn(`"available":1`, `"available":2`)},
		{"a payment that is missing", "refund", "the payment E", replaceIn(`"end_to_end_id":"E99999003`, `"end_to_end_id":"E99999007`)},
		{"a credit that is missing", "cash-in", "its credit is not in the book", replaceIn(`"type":"ted"`, `"type":"pix"`)},
	} {
		if testing.Short() && i%4 != 1 {
			continue
		}
		o.fault.Store(nil)
		if c.fault != nil {
			o.fault.Store(&c.fault)
		}
		r, err := Measure(t.Context(), t.Context(), o.options(t, c.scenario))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := strings.Join(r.Audit.Differences, "\n")
		if r.Audit.OK() != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d differences\n%s", c.name, r.Audit.Found, text)
		}
		if len(r.Audit.Differences) > differencesShown || r.Engine.Own {
			t.Errorf("%s: %d differences shown", c.name, len(r.Audit.Differences))
		}
	}
}

// TestAuditAllowsUnknownOutcomes checks that a request whose answer was lost may have been carried
// out, and counts as unknown.
func TestAuditAllowsUnknownOutcomes(t *testing.T) {
	t.Parallel()
	o := newOther(t)
	var posts atomic.Int64
	cut := func(ctx *fasthttp.RequestCtx, pass func()) {
		n := int64(1)
		if ctx.IsPost() {
			n = posts.Add(1)
		}
		if n%20 == 10 { // lost on its way there
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(net.Conn) {})
			return
		}
		pass()
		if n%20 == 0 { // lost on its way back
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(net.Conn) {})
		}
	}
	o.fault.Store(&cut)
	r, err := Measure(t.Context(), t.Context(), o.options(t, "mixed"))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Audit.OK() || r.Audit.Unknown == 0 || r.Runs[0].Sent-r.Runs[0].Done != r.Audit.Unknown {
		t.Errorf("%+v, %d sent, %d done, %v", r.Audit, r.Runs[0].Sent, r.Runs[0].Done, r.Runs[0].Errors)
	}
}
