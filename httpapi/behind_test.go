package httpapi

import (
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestReturnsInOneDirection checks that a list can be narrowed to a direction and to one original transaction at once.
func TestReturnsInOneDirection(t *testing.T) {
	f := newFixture(t)
	path := transactionsPath + "?direction=outbound&original_transaction_id=E1"
	f.expect(sent{method: "GET", path: path}, 200, `{"worked":true,"data":[],"page":…`)
	if want := (layout.Filter{Direction: layout.FilterOutbound, Original: "E1"}); f.lists.filter != want {
		t.Errorf("asked %+v", f.lists.filter)
	}
}

// TestDocsLimitedBehindProxy checks that readers of the API's description who come through one trusted proxy are each
// counted by their own address.
func TestDocsLimitedBehindProxy(t *testing.T) {
	f := newFixture(t)
	f.madeUp = true
	o := f.options()
	o.RateLimit = 1
	o.Docs = func(r *router.Router) {
		r.GET("/docs", func(ctx *fasthttp.RequestCtx) { answer(ctx, fasthttp.StatusOK, []byte(`"docs"`)) })
	}
	f.handler = New(o)
	from := func(client string) sent {
		return sent{method: "GET", path: "/docs", ip: "10.0.0.1", headers: []string{"Authorization", "-", "X-Forwarded-For", client}}
	}
	f.expect(from("198.51.100.1"), 200, `"docs"`)
	f.expect(from("198.51.100.2"), 200, `"docs"`)
	f.expect(from("198.51.100.1"), 429, shape1("429", "Too many requests"))
}

// TestRateOfEachAddress checks that two listed IPv6 addresses of one network have a limit of their own each.
func TestRateOfEachAddress(t *testing.T) {
	f := newFixture(t)
	o := f.options()
	o.RateLimit = 1
	f.handler = New(o)
	makeKey(t, f.keys, "cli_pair", keyFor("2001:db8::1", "2001:db8::2"))
	for _, ip := range []string{"2001:db8::1", "2001:db8::2"} {
		f.expect(sent{method: "GET", path: transactionsPath, client: "cli_pair", ip: ip}, 200, `{"worked":true,…`)
	}
	f.expect(sent{method: "GET", path: transactionsPath, client: "cli_pair", ip: "2001:db8::1"}, 429, shape1("429", "Too many requests"))
}

// TestSetRequestID checks that an id of another node is taken over only where it has an id's form.
func TestSetRequestID(t *testing.T) {
	for id, want := range map[string]string{
		"n-1": "n-1", "": "own", "a b": "own", "a\r\nb": "own", "a\"b": "own", strings.Repeat("a", maxRequestID+1): "own",
		strings.Repeat("a", maxRequestID): strings.Repeat("a", maxRequestID),
	} {
		var ctx fasthttp.RequestCtx
		ctx.SetUserValue(requestKey{}, "own")
		if SetRequestID(&ctx, id); RequestID(&ctx) != want {
			t.Errorf("%q: %q", id, RequestID(&ctx))
		}
	}
}

// TestLongestTexts checks that a purpose of 500 letters of two bytes each and a cpf of 64 bytes are taken.
func TestLongestTexts(t *testing.T) {
	f := newFixture(t)
	f.madeUp = true
	purpose := strings.Repeat("ç", maxPurpose)
	f.engine.answer = ledger.Answer{Stored: &ledger.Stored{Code: 202, Body: []byte(`{}`)}}
	f.send(sent{path: cashOut, body: `{"amount":7,"pix_key":"a@b.com","purpose":"` + purpose + `"}`})
	if p, ok := f.engine.command.(ledger.RequestPayout); !ok || p.Purpose != purpose {
		t.Errorf("the engine got %+v", f.engine.command)
	}
	f.expect(sent{path: validate, body: `{"cpf":"` + strings.Repeat("1", longestCPF) + `"}`}, 200, `{"worked":true,"valid":false,…`)
}

// TestAnalysisIsText checks that an analyst's details have 2000 letters of two bytes each at most, and are text.
func TestAnalysisIsText(t *testing.T) {
	for details, good := range map[string]bool{"": true, strings.Repeat("ç", 2000): true, strings.Repeat("ç", 2001): false, "a\xff": false} {
		if _, refusal := ParseAnalysis(pix.CaseID{1}, "AGREED", details); (refusal == nil) != good {
			t.Errorf("%.20q: %+v", details, refusal)
		}
	}
}
