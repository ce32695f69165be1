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

// good has a request of each route that takes a body, with every field that the document has.
var good = map[string]string{
	"/pix/cash-in":  `{"amount":1000,"description":"coffee","external_id":"o-1"}`,
	"/pix/cash-out": `{"amount":1000,"description":"rent","end_to_end_id":"` + e2e + `","external_id":"o-1","pix_key":"a@b.com","pix_key_type":"email","purpose":"x","recipient_document":"12345678909","recipient_ispb":"60701190"}`,
	"/pix/refund": `{"amount":300,"description":"cold","end_to_end_id":"e","external_id":"r-1","original_e2e_id":"b","original_transaction_id":"a","originalTransactionId":"c",` +
		`"reason":"MD06","return_code":"MD06","transaction_id":"d"}`,
	"/cpf/validate":                              `{"cpf":"123.456.789-09"}`,
	"/med/{id}/defense":                          `{"contact":"a@b.com","justification":"drunk","result":"DISAGREED"}`,
	"/webhooks":                                  hookBody,
	"/webhooks/{id}":                             `{"active":true,"events":["pix.completed"],"url":"https://a.example/x?y=1&z"}`,
	"/webhooks/{id}/test":                        `{}`,
	"/webhooks/{id}/rotate-secret":               `{}`,
	"/webhooks/{id}/deliveries/{event_id}/retry": `{}`,
}

// routed is a fixture in which every request that sentTo makes is answered 2xx.
type routed struct {
	*fixture
	hooks *fakeWebhooks
	ids   *strings.Replacer
}

func newRouted(t *testing.T) *routed {
	f, w, s := hookFixture(t)
	tx := payout(pix.StatusSettled)
	given := refund(pix.StatusSettled)
	repeat := payout(pix.StatusRejected)
	repeat.ReasonCode, repeat.Payout.DuplicateOf = "DUPL", &otherID
	f.history["t"], f.lists.all = &tx, []*ledger.Transaction{&tx, &repeat, &given}
	k := specialReturn(1)
	f.cases = fakeCases{k}
	d := deliveryItem(s, layout.DeliveryDead)
	f.lists.deliveries = []ledger.DeliveryItem{d}
	return &routed{f, w, strings.NewReplacer("/webhooks/{id}", "/webhooks/"+s.ID.String(), "/med/{id}", "/med/"+k.ID.String(), "{id}", "t", "{e2e_id}", "t", "{tag}", "t", "{external_id}", "t", "{event_id}", d.Event.ID.String())}
}

// sentTo returns a good request, and has the engine carry it out.
func (f *routed) sentTo(r route) sent {
	f.engine.err, f.lists.err, f.hooks.err, f.hooks.bad = nil, nil, nil, nil
	f.engine.answer = ledger.Answer{Head: head()}
	switch r.path {
	case "/pix/cash-in":
		f.engine.answer.Tx = &ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Amount: 100_000, Status: pix.StatusActive, ExternalID: "o-1", Charge: ledger.ChargePart{Key: pix.Key{Type: pix.KeyEVP, Value: testEVP}, MerchantName: "Padaria", MerchantCity: "SAO PAULO"}}
	case "/pix/cash-out":
		tx := payout(pix.StatusSettled)
		f.engine.answer.Tx = &tx
	case "/pix/refund":
		tx := refund(pix.StatusSettled)
		f.engine.answer.Tx = &tx
	case "/med/{id}/defense":
		f.engine.answer.Case = f.cases[0]
	case "/webhooks", "/webhooks/{id}":
		f.engine.answer.Subscription = f.lists.subscriptions[0]
	case "/webhooks/{id}/rotate-secret":
		s := *f.lists.subscriptions[0]
		s.Former = []ledger.FormerSecret{{Until: testNow + 5}}
		f.engine.answer.Subscription = &s
	case "/webhooks/{id}/test":
		f.engine.answer.Subscription, f.engine.answer.Event = f.lists.subscriptions[0], &ledger.Event{ID: pix.EventID{15: 9}, Kind: pix.EventTest, Sequence: 9}
	}
	return sent{method: r.method, path: base + f.ids.Replace(r.path), body: good[r.path]}
}

// TestEveryRoute checks that each route carries a good request out, in both cases of keys, and that each
// passes the checks before: without credentials, permission, signature, the right content type, or
// beyond the limit nothing reaches the engine.
func TestEveryRoute(t *testing.T) {
	f := newRouted(t)
	for _, r := range routes {
		s := f.sentTo(r)
		if g := f.send(s); g.status/100 != 2 {
			t.Errorf("%s %s: %d %s", r.method, r.path, g.status, g.body)
		}
		if g := f.send(camelCased(s)); g.status/100 != 2 {
			t.Errorf("%s %s in camelCase: %d %s", r.method, r.path, g.status, g.body)
		}
		f.engine.all, f.lists.requests, f.hooks.retries = nil, 0, 0
		elsewhere := s
		elsewhere.ip = "127.0.0.9"
		refused := map[int]sent{401: with(s, "Authorization", "-"), 403: elsewhere}
		if r.method == "POST" || r.method == "PATCH" {
			refused[415] = with(s, "Content-Type", "text/plain")
			empty := with(s, "hmac", "00")
			empty.body = ""
			refused[400] = empty
		}
		for status, bad := range refused {
			if g := f.send(bad); g.status != status {
				t.Errorf("%s %s: %d %s, want %d", r.method, r.path, g.status, g.body, status)
			}
		}
		if n := len(f.engine.all) + f.lists.requests + f.hooks.retries; n != 0 {
			t.Errorf("%s %s: %d of the refused requests reached the engine", r.method, r.path, n)
		}
	}
}

func with(s sent, name, value string) sent {
	s.headers = []string{name, value}
	return s
}

// TestEveryRouteLimited checks that the limit is one for all routes but the balance, whose limit is
// that of failed credentials.
func TestEveryRouteLimited(t *testing.T) {
	f := newRouted(t)
	o := f.options()
	o.RateLimit, o.FailedAuthLimit, o.Webhooks = 1, 1, f.hooks
	o.NewSecret = func(n int) []byte { return make([]byte, n) }
	f.handler = New(o)
	for i, r := range routes {
		f.now += window
		f.send(f.sentTo(routes[(i+1)%len(routes)]))
		s := f.sentTo(r)
		if r.unlimited {
			f.send(with(s, "Authorization", "-"))
			s = with(s, "Authorization", "-")
		} else {
			f.send(s)
		}
		if g := f.send(s); g.status != 429 || g.header("Retry-After") != "60" {
			t.Errorf("%s %s: %d %s, Retry-After %q", r.method, r.path, g.status, g.body, g.header("Retry-After"))
		}
	}
}

// TestEveryRouteFails checks that a route whose engine or rows fail answers 500, and one for which they
// have no time 503. GET /pix/keys asks neither.
func TestEveryRouteFails(t *testing.T) {
	f := newRouted(t)
	for _, r := range routes {
		if r.path == "/pix/keys" {
			continue
		}
		for status, err := range map[int]error{500: errRows, 503: ledger.ErrBusy} {
			s := f.sentTo(r)
			s.headers = []string{"Idempotency-Key", "k"} // what only reads is not asked of the engine without
			f.engine.err, f.lists.err, f.hooks.err = err, err, err
			switch r.path {
			case "/transactions/{id}", "/transactions/{id}/receipt", "/med/{id}":
				s.path = strings.Replace(base+r.path, "{id}", map[int]string{500: "broken", 503: "late"}[status], 1)
			}
			if g := f.send(s); g.status != status {
				t.Errorf("%s %s: %d %s, want %d", r.method, r.path, g.status, g.body, status)
			}
		}
	}
}

// TestEveryRouteRefused checks that what is no webhook of the account's is answered 404.
func TestEveryRouteRefused(t *testing.T) {
	f := newRouted(t)
	for _, r := range routes {
		if !strings.HasPrefix(r.path, "/webhooks/{id}") || r.path == "/webhooks/{id}/deliveries" {
			continue
		}
		s := f.sentTo(r)
		s.path = strings.Replace(s.path, f.lists.subscriptions[0].ID.String(), pix.SubscriptionID{1}.String(), 1)
		f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownSubscription, Message: "webhook not found"}}
		if g := f.send(s); g.status != 404 {
			t.Errorf("%s %s: %d %s", r.method, r.path, g.status, g.body)
		}
	}
}

// TestDocsLimited checks that the API's description needs no credentials, and counts against the limit of
// an address.
func TestDocsLimited(t *testing.T) {
	f := newFixture(t)
	f.madeUp = true
	o := f.options()
	o.RateLimit = 2
	o.Docs = func(r *router.Router) {
		r.GET("/docs", func(ctx *fasthttp.RequestCtx) { answer(ctx, fasthttp.StatusOK, []byte(`"docs"`)) })
	}
	f.handler = New(o)
	page := sent{method: "GET", path: "/docs", headers: []string{"Authorization", "-"}}
	f.expect(page, 200, `"docs"`)
	f.expect(page, 200, `"docs"`)
	f.expect(page, 429, shape1("429", "Too many requests"))
	page.method = "POST"
	f.expect(page, 405, `{"errors":{"method_not_allowed":…`)
}
