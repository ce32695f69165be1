package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestCamelTurnsBack checks that each key of an answer in camelCase turns into its original
// name when a request uses it in camelCase.
func TestCamelTurnsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]([a-z0-9]|[a-z]_[a-z]){0,12}`).Draw(t, "name")
		if got := snake(string(appendCamel(nil, name))); got != name {
			t.Fatalf("%s came back as %s", name, got)
		}
	})
}

func camelCased(s sent) sent {
	s.headers = append(s.headers, "X-Key-Case", "camelCase")
	return s
}

// underscored lists the keys of a body that have an underscore, at every depth.
func underscored(t *testing.T, body string) (found []string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				if strings.Contains(k, "_") {
					found = append(found, k)
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return found
}

// TestCamelAnswers checks that every answer, success or error, has its keys in camelCase if
// the request asks for camelCase, and is otherwise the same as without, but for the names of fields in
// texts.
func TestCamelAnswers(t *testing.T) {
	f := newFixture(t)
	p, queued, pending := payout(pix.StatusAccepted), payout(pix.StatusQueued), payout(pix.StatusPending)
	charge := ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Amount: 1000, Charge: ledger.ChargePart{Key: pix.Key{Value: testEVP}, MerchantName: "Ana", MerchantCity: "Rio"}}
	done := payout(pix.StatusSettled)
	f.history = fakeHistory{"tx": &p, "done": &done}
	f.handler = New(f.options())
	refused := func(r ledger.Refusal) ledger.Answer { return ledger.Answer{Refusal: &r} }
	for name, v := range map[string]struct {
		send   sent
		answer ledger.Answer
		status int
		keys   string // keys that the answer must have
	}{
		"balance":     {sent{method: "GET", path: balance}, ledger.Answer{Head: head()}, 200, "worked"},
		"cash-out":    {sent{path: cashOut, body: payBody}, ledger.Answer{Tx: &p}, 202, "transactionId endToEndId externalId feeAmount netAmount"},
		"queued":      {sent{path: cashOut, body: payBody}, ledger.Answer{Tx: &queued}, 202, "outboundRequestId estimatedRetrySeconds queueTtlSeconds"},
		"approval":    {sent{path: cashOut, body: payBody}, ledger.Answer{Tx: &pending}, 202, "transactionId netAmount detail"},
		"cash-in":     {sent{path: cashIn, body: someBody}, ledger.Answer{Tx: &charge}, 200, "transactionId qrCode qrCodeImage externalId"},
		"lookup":      {sent{method: "GET", path: "/api/external/transactions/tx"}, ledger.Answer{}, 200, "createdAt bookedAt payerBankName duplicateOf originalEndToEndId"},
		"cpf":         {sent{path: validate, body: `{"cpf":"12345678909"}`}, ledger.Answer{}, 200, "valid cpf"},
		"receipt":     {sent{method: "GET", path: "/api/external/transactions/done/receipt"}, ledger.Answer{Head: head()}, 200, "receipt transactionId bankName pixKey netAmount originalEndToEndId completedAt"},
		"no receipt":  {sent{method: "GET", path: "/api/external/transactions/tx/receipt"}, ledger.Answer{}, 422, "unprocessableEntity"},
		"not found":   {sent{method: "GET", path: "/api/external/transactions/no"}, ledger.Answer{}, 404, "notFound"},
		"no path":     {sent{method: "GET", path: "/api/external/no"}, ledger.Answer{}, 404, "notFound"},
		"no method":   {sent{method: "GET", path: cashIn}, ledger.Answer{}, 405, "methodNotAllowed"},
		"amount":      {sent{path: cashOut, body: `{}`}, ledger.Answer{}, 400, "badRequest"},
		"field":       {sent{path: cashOut, body: `{"amount":1,"pix_key":"a@b.com","recipient_ispb":"1"}`}, ledger.Answer{}, 400, "badRequest recipientIspb"},
		"ambiguous":   {sent{path: cashOut, body: `{"amount":1,"pix_key":"11987654321"}`}, ledger.Answer{}, 422, "failureReason params"},
		"cash-in bad": {sent{path: cashIn, body: `{}`}, ledger.Answer{}, 400, "badRequest amount"},
		"overflow":    {sent{path: cashOut, body: payBody}, refused(ledger.Refusal{Code: ledger.RefuseOverflow}), 422, "unprocessableEntity"},
		"ceiling":     {sent{path: cashOut, body: payBody}, refused(ledger.Refusal{Code: ledger.RefuseCeiling, Ceiling: 5}), 422, "params ceiling"},
		"permission":  {sent{path: cashOut, body: payBody, client: "cli_balance"}, ledger.Answer{}, 403, "error message"},
		"signature":   {sent{path: cashOut, body: payBody, headers: []string{"hmac", "x"}}, ledger.Answer{}, 401, "worked detail"},
		"type":        {sent{path: cashOut, body: payBody, headers: []string{"Content-Type", "x"}}, ledger.Answer{}, 415, "error hint"},
	} {
		t.Run(name, func(t *testing.T) {
			f.t, f.engine.answer = t, v.answer
			plain := f.send(v.send)
			g := f.send(camelCased(v.send))
			if g.status != v.status || plain.status != v.status {
				t.Fatalf("%d %s, plain %d", g.status, g.body, plain.status)
			}
			if bad := underscored(t, g.body); bad != nil {
				t.Errorf("%v in %s", bad, g.body)
			}
			for _, k := range strings.Fields(v.keys) {
				if !strings.Contains(g.body, `"`+k+`":`) {
					t.Errorf("no %s in %s", k, g.body)
				}
			}
			said := strings.NewReplacer("recipientIspb must", "recipient_ispb must", "send pixKeyType", "send pix_key_type").Replace(g.body)
			if back := turnedBack(t, said); back != turnedBack(t, plain.body) {
				t.Errorf("%s\nsays other than\n%s", g.body, plain.body)
			}
		})
	}
}

// turnedBack returns a body with its keys turned into snake_case and sorted.
func turnedBack(t *testing.T, body string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, inner := range v {
				out[snake(k)] = walk(inner)
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	b, err := json.Marshal(walk(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCamelRequests checks that a body in camelCase gives the same command as the body in
// snake_case, that keys in other spellings are not converted, and that the idempotency claim
// records in which case the answer was given.
func TestCamelRequests(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	f.send(sent{path: cashOut, body: `{"amount":7,"description":"x","end_to_end_id":"` + e2e + `","external_id":"o","pix_key":"11987654321","pix_key_type":"phone","purpose":"rent","recipient_document":"12345678909","recipient_ispb":"60701190"}`})
	want := f.engine.command
	camel := `{"amount":7,"description":"x","endToEndId":"` + e2e + `","externalId":"o","pixKey":"11987654321","pix_key_type":"phone","purpose":"rent","recipientDocument":"12345678909","recipientIspb":"60701190"}`
	f.send(camelCased(sent{path: cashOut, body: camel}))
	if f.engine.command != want {
		t.Errorf("got %+v\nwant %+v", f.engine.command, want)
	}
	f.expect(sent{path: cashOut, body: camel}, 400, `{"errors":{"bad_request":"invalid pix_key"},"detail":"pix_key is missing"}`) // without X-Key-Case the keys in camelCase are unknown
	f.send(camelCased(sent{path: cashOut, body: payBody, headers: []string{"Idempotency-Key", "k"}}))
	if c := f.engine.command.(ledger.RequestPayout).Claim; c == nil || c.Style != camelKeys {
		t.Errorf("claim %+v", c)
	}
	for _, name := range []string{"PixKey", "PIX_KEY", "pixKEY", "pix_Key", "pix__key"} {
		f.expect(camelCased(sent{path: cashOut, body: `{"amount":7,"` + name + `":"a@b.com"}`}), 400, `{"errors":{"badRequest":"invalid pix_key"},"detail":"pixKey is missing"}`)
	}
	f.expect(camelCased(sent{path: cashOut, body: `{"AMOUNT":8,"Amount":9,"amount":7,"pixKey":"a@b.com"}`}), 202, `{…`)
	both := sent{path: cashOut, body: `{"amount":7,"pixKey":"a@b.com","pix_key":"b@b.com"}`}
	f.expect(camelCased(both), 400, shape3("Request body must be valid JSON for HMAC validation"))
	for _, other := range []string{"camelcase", "CamelCase", "snake_case", "", "camelCase,camelCase"} {
		s := sent{path: cashOut, body: `{"amount":0}`, headers: []string{"X-Key-Case", other}}
		f.expect(s, 400, `{"errors":{"bad_request":"invalid or missing amount"}}`)
	}
}

// TestCamelTexts checks that errors name fields in the key case of the request, and leave what the client
// wrote as it is.
func TestCamelTexts(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseDocumentRequired, Message: "recipient_document is required"}}
	for _, v := range []struct {
		send  sent
		snake string // in the answer's text
		camel string
	}{
		{sent{path: cashOut, body: `{"amount":1,"pix_key":"12345678000195","pix_key_type":"cpf"}`}, "check the type in pix_key_type", "check the type in pixKeyType"},
		{sent{path: cashOut, body: `{"amount":1,"pix_key":"x","pix_key_type":"y"}`}, "pix_key_type must be cpf", "pixKeyType must be cpf"},
		{sent{path: cashOut, body: `{"amount":1,"pix_key":"12345678909"}`}, "send pix_key_type", "send pixKeyType"},
		{sent{path: cashOut, body: payBody}, "recipient_document is required", "recipientDocument is required"},
		{sent{path: "/api/external/pix/refund", body: `{}`}, "original_transaction_id is required", "original_transaction_id is required"},
		{sent{path: "/api/external/webhooks", body: `{"url":"https://a.example/","events":["pix.no_such"]}`}, `unknown kind of event \"pix.no_such\"`, `unknown kind of event \"pix.no_such\"`},
		{sent{method: "GET", path: "/api/external/statement?per_page=0"}, "per_page must be", "perPage must be"},
	} {
		if g := f.send(v.send); !strings.Contains(g.body, v.snake) {
			t.Errorf("%s: want %q", g.body, v.snake)
		}
		if g := f.send(camelCased(v.send)); !strings.Contains(g.body, v.camel) || v.snake != v.camel && strings.Contains(g.body, v.snake) {
			t.Errorf("%s: want %q", g.body, v.camel)
		}
	}
}
