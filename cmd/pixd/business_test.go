package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// change changes the account's settings.
func (c *counter) change(settings string) {
	c.t.Helper()
	if status, got, err := c.operate("PATCH", "/admin/accounts/"+c.ID, settings); status != 200 || err != nil {
		c.t.Fatalf("%s: %d %s %v", settings, status, got, err)
	}
}

func pay(body string) ask { return ask{path: "/pix/cash-out", body: body} }

// TestBusinessErrors checks the rows of the contract's tables of business errors and cash-out
// errors. It leaves out errors of special returns, of refunds and of the queue.
func TestBusinessErrors(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	const to = `"pix_key":"a@example.com"`
	bad := errorsOf("bad_request")
	invalidKey := func(int, string) any {
		return map[string]any{"errors": map[string]any{"bad_request": "invalid pix_key"}, "detail": anything}
	}
	unknown := ask{method: "GET", path: "/transactions/PIXIN00000000000000000000"}
	for _, r := range []row{
		{"no amount", pay(`{` + to + `}`), 400, bad, "invalid or missing amount"},
		{"zero", pay(`{"amount":0,` + to + `}`), 400, bad, "invalid or missing amount"},
		{"negative", pay(`{"amount":-1,` + to + `}`), 400, bad, "invalid or missing amount"},
		{"a fraction", pay(`{"amount":1.0,` + to + `}`), 400, bad, "invalid or missing amount"},
		{"a string", pay(`{"amount":"1",` + to + `}`), 400, bad, "invalid or missing amount"},
		{"too much", pay(`{"amount":1000000000000,` + to + `}`), 400, bad, "invalid or missing amount"},
		{"no key", pay(`{"amount":1}`), 400, invalidKey, ""},
		{"no such form", pay(`{"amount":1,"pix_key":"x"}`), 400, invalidKey, ""},
		{"amount before key", pay(`{"amount":0,"pix_key":"x"}`), 400, bad, "invalid or missing amount"},
		{"type", pay(`{"amount":1,` + to + `,"pix_key_type":"x"}`), 400, fieldError("pix_key_type", false), ""},
		{"description", pay(`{"amount":1,"description":"` + strings.Repeat("ç", 141) + `",` + to + `}`), 400, fieldError("description", false), ""},
		{"recipient_ispb", pay(`{"amount":1,` + to + `,"recipient_ispb":"1"}`), 400, fieldError("recipient_ispb", false), ""},
		{"end_to_end_id", pay(`{"amount":1,"end_to_end_id":"E1",` + to + `}`), 400, fieldError("end_to_end_id", false), ""},
		{"ambiguous", pay(`{"amount":1,"pix_key":"11987654321"}`), 422, formatA("failure_reason", "ambiguous key"), "pix_key_ambiguous"},
		{"our own ISPB", pay(`{"amount":1,` + to + `,"recipient_ispb":"99999004"}`), 422, formatA(), "same_institution_transfer"},
		{"our own key", pay(`{"amount":1,"pix_key":"` + c.Key + `"}`), 422, formatA(), "same_institution_transfer"},
		{"balance", pay(`{"amount":99999999999,` + to + `}`), 422, formatA(), "insufficient_balance"},
		{"unknown key", pay(`{"amount":1,"pix_key":"not-found@pix.test"}`), 400, formatA(), "dict_key_not_found"},
		{"blocked key", pay(`{"amount":1,"pix_key":"blocked@pix.test"}`), 400, formatA(), "dict_key_blocked"},
		{"failed lookup", pay(`{"amount":1,"pix_key":"lookup-failed@pix.test"}`), 400, formatA(), "dict_lookup_failed"},
		{"payer's limit", pay(`{"amount":1,"pix_key":"send-rate-limited@pix.test"}`), 400, formatA(), "dict_rate_limited"},
		{"institution's limit", pay(`{"amount":1,"pix_key":"send-bucket-exhausted@pix.test"}`), 400, formatA(), "dict_bucket_exhausted"},
		{"provider", pay(`{"amount":1,"pix_key":"provider-rejected@pix.test"}`), 400, formatA(), "provider_rejected"},
		{"provider's schema", pay(`{"amount":1,"pix_key":"provider-schema-error@pix.test"}`), 400, formatA(), "provider_schema_error"},
		{"provider, otherwise", pay(`{"amount":1,"pix_key":"provider-unknown@pix.test"}`), 400, formatA(), "provider_unknown_error"},
		{"charge without amount", ask{body: `{}`}, 400, fieldError("amount", true), ""},
		{"charge's description", ask{body: `{"amount":1,"description":"` + strings.Repeat("x", 141) + `"}`}, 400, fieldError("description", true), ""},
		{"no cpf", ask{path: "/cpf/validate", body: `{}`}, 400, fieldError("cpf", true), ""},
		{"no such transaction", unknown, 404, errorsOf("not_found"), anything},
	} {
		c.check(t, r)
	}
	hook := ask{path: "/webhooks", body: `{"events":["pix.received"],"url":"http://merchant.example/"}`}
	if got := c.ask(hook); got.status != 400 || !strings.Contains(string(got.body), `"url":["url must begin with https://: https only,`) {
		t.Errorf("a webhook over HTTP: %d %s", got.status, got.body)
	}
	c.change(`{"cash_out_ceiling":50000,"block_cnpj_out":true,"authorized_cnpjs":["12345678000195"]}`)
	for _, r := range []row{
		{"ceiling", pay(`{"amount":501,` + to + `,"recipient_document":"12345678909"}`), 422, formatA("ceiling", float64(50000)), "ceiling_exceeded"},
		{"no document", pay(`{"amount":1,` + to + `}`), 422, formatA(), "cnpj_out_document_required"},
		{"a CNPJ", pay(`{"amount":1,` + to + `,"recipient_document":"00.000.000/0001-91"}`), 422, formatA(), "cnpj_out_blocked"},
		{"a CNPJ's key", pay(`{"amount":1,"pix_key":"00000000000191","recipient_document":"12345678909"}`), 422, formatA(), "cnpj_out_blocked"},
		{"a CNPJ in the directory", pay(`{"amount":1,"pix_key":"owner-00000000000191@pix.test","recipient_document":"12345678909"}`), 400, formatA(), "cnpj_out_blocked"},
	} {
		c.check(t, r)
	}
	if balance, pending := c.balance(c.process); balance != 1_000_000_000 || pending != 0 {
		t.Errorf("refusals left a balance of %d and %d pending", balance, pending)
	}
	if got, other := c.ask(unknown), c.foreign(t); string(got.body) != string(other.body) || got.status != other.status {
		t.Errorf("another merchant's transaction: %d %s\nan unknown one: %d %s", other.status, other.body, got.status, got.body)
	}
}

// foreign makes a transaction of another merchant and asks for it as the merchant c.
func (c *counter) foreign(t *testing.T) reply {
	t.Helper()
	other := c.process.shop()
	var tx struct {
		ID string `json:"transaction_id"`
	}
	if status, got, err := other.ask(c.merchant, "/pix/cash-in", `{"amount":1}`, "k"); status != 200 || err != nil || json.Unmarshal(got, &tx) != nil {
		t.Fatalf("%d %s %v", status, got, err)
	}
	return c.ask(ask{method: "GET", path: "/transactions/" + tx.ID})
}

// TestKeyCase checks that errors too have all JSON keys in camelCase if the request has the
// header X-Key-Case.
func TestKeyCase(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	camel := func(a ask) ask {
		headers := h("X-Key-Case", "camelCase")
		for k, v := range a.headers {
			headers[k] = v
		}
		a.headers = headers
		return a
	}
	for _, r := range []row{
		{"no path", camel(ask{path: "/nowhere"}), 404, errorsOf("notFound"), anything},
		{"no method", camel(ask{path: "/balance"}), 405, errorsOf("methodNotAllowed"), anything},
		{"amount", camel(pay(`{"pixKey":"a@b.com"}`)), 400, errorsOf("badRequest"), "invalid or missing amount"},
		{"ambiguous", camel(pay(`{"pixKey":"11987654321","amount":1}`)), 422, formatA("failureReason", "ambiguous key"), "pix_key_ambiguous"},
		{"field", camel(pay(`{"recipientIspb":"1","pixKey":"a@b.com","amount":1}`)), 400, func(int, string) any {
			return map[string]any{"errors": map[string]any{"badRequest": map[string]any{"recipientIspb": []any{anything}}}}
		}, ""},
	} {
		c.check(t, r)
	}
	got := c.ask(camel(pay(`{"pixKey":"a@example.com","externalId":"o-1","amount":100}`)))
	var payout struct {
		TransactionID, EndToEndID, ExternalID string
		FeeAmount, NetAmount                  *int
	}
	if err := json.Unmarshal(got.body, &payout); err != nil || got.status != 202 || payout.TransactionID == "" ||
		payout.ExternalID != "o-1" || payout.FeeAmount == nil || strings.Contains(string(got.body), "_id") {
		t.Errorf("%d %s", got.status, got.body)
	}
	got = c.ask(camel(ask{method: "GET", path: "/transactions/" + payout.TransactionID}))
	for _, key := range []string{`"transactionId":`, `"paymentStatus":`, `"createdAt":`, `"recipientKey":`} {
		if !strings.Contains(string(got.body), key) {
			t.Errorf("no %s in %s", key, got.body)
		}
	}
}

// TestIdempotency checks over HTTP which answers are kept under an idempotency key and which
// are not.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	under := func(a ask, key string) ask {
		headers := h("Idempotency-Key", key)
		for k, v := range a.headers {
			headers[k] = v
		}
		a.headers = headers
		return a
	}
	for name, a := range map[string]ask{
		"charge": {body: `{"amount":100}`},
		"payout": pay(`{"amount":100,"pix_key":"once@example.com"}`),
		"cpf":    {path: "/cpf/validate", body: `{"cpf":"12345678909"}`},
	} {
		first := c.ask(under(a, "one")) // one idempotency key may be used on three endpoints: each endpoint keeps its own answer
		if first.status/100 != 2 || first.header.Get("X-Idempotent-Replay") != "" || first.header.Get("Idempotency-Key") != "one" {
			t.Errorf("%s: %d %s %v", name, first.status, first.body, first.header)
		}
		other := a
		other.body = `{"amount":0}`
		cased := a
		cased.headers = h("X-Key-Case", "camelCase")
		rotated := a
		rotated.key = "everywhere"
		for what, again := range map[string]struct {
			ask      ask
			mismatch string
		}{"the same": {a, ""}, "another body": {other, "true"}, "another case": {cased, ""}, "another key of the account": {rotated, ""}} {
			got := c.ask(under(again.ask, "one"))
			if got.status != first.status || string(got.body) != string(first.body) || got.header.Get("X-Idempotent-Replay") != "true" ||
				got.header.Get("X-Idempotent-Body-Mismatch") != again.mismatch || got.header.Get("x-ratelimit-remaining") == "" {
				t.Errorf("%s, %s: %d %s %v", name, what, got.status, got.body, got.header)
			}
		}
		unread := a
		unread.key = "keys only"
		if got := c.ask(under(unread, "one")); got.status != 403 || got.header.Get("Idempotency-Key") != "one" {
			t.Errorf("%s without the permission: %d %s", name, got.status, got.body)
		}
	}
	wrong := pay(`{"amount":100,"pix_key":"not-found@pix.test"}`)
	if got := c.ask(under(wrong, "two")); got.status != 400 || got.header.Get("Idempotency-Key") != "two" {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
	if got := c.ask(under(pay(`{"amount":100,"pix_key":"found@example.com"}`), "two")); got.status != 202 || got.header.Get("X-Idempotent-Replay") != "" {
		t.Errorf("an error was kept: %d %s %v", got.status, got.body, got.header)
	}
	if got := c.ask(under(ask{method: "GET", path: "/balance"}, "three")); got.status != 200 || got.header.Get("Idempotency-Key") != "" {
		t.Errorf("a GET: %d %v", got.status, got.header)
	}
	if balance := rest(c.process, c.shop); balance != 1_000_000_000-2*10_000 {
		t.Errorf("balance %d", balance)
	}
}

// TestRateLimitHeader checks that the header's count of requests left goes down by one with
// each request that counts.
func TestRateLimitHeader(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	left := func(a ask) string { return c.ask(a).header.Get("X-Ratelimit-Remaining") }
	first, second := left(ask{}), left(ask{})
	if first != "89999" || second != "89998" {
		if again := left(ask{}); again == second { // the count begins anew with each minute, so the two requests may fall into two minutes
			t.Errorf("%q, then %q, then %q", first, second, again)
		}
	}
	if got := left(ask{method: "GET", path: "/balance"}); got != "" {
		t.Errorf("the balance has %q left", got)
	}
	if got := left(ask{body: `{}`}); got != "" {
		t.Errorf("a 400 has %q left", got)
	}
}
