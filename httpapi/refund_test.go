package httpapi

import (
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const refundPath = base + "/pix/refund"

// refunding returns the refund that a body asks for; ok is false if the body was refused, and
// then answer is what was answered.
func (f *fixture) refunding(s sent) (c ledger.RequestRefund, answer string, ok bool) {
	f.t.Helper()
	f.engine.all = nil
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownOriginal, Message: "transaction not found"}}
	s.path = refundPath
	g := f.send(s)
	if len(f.engine.all) == 0 {
		return c, g.body, false
	}
	c, ok = f.engine.command.(ledger.RequestRefund)
	return c, g.body, ok
}

// TestRefundOriginal checks the names of the field that names the payment: the first one in
// the contract's order counts, null counts as absent, and with camelCase the names may be in
// either case.
func TestRefundOriginal(t *testing.T) {
	f := newFixture(t)
	names := []string{"original_transaction_id", "original_e2e_id", "originalTransactionId", "transaction_id", "end_to_end_id"}
	for i, first := range names {
		for _, second := range names[i+1:] {
			for body, want := range map[string]string{
				`{"` + first + `":"a"}`:                            "a",
				`{"` + second + `":"b"}`:                           "b",
				`{"` + first + `":"a","` + second + `":"b"}`:       "a",
				`{"` + second + `":"b","` + first + `":"a"}`:       "a",
				`{"` + first + `":null,"` + second + `":"b"}`:      "b",
				`{"` + second + `":null,"` + first + `":"a"}`:      "a",
				`{"` + first + `":7,"` + second + `":"b"}`:         "",
				`{"` + first + `":"","` + second + `":"b"}`:        "",
				`{"` + first + `":["a"],"` + second + `":"b"}`:     "",
				`{"` + second + `":{},"` + first + `":"a"}`:        "a",
				`{"x":{"` + first + `":"a"},"` + second + `":"b"}`: "b",
			} {
				for _, camel := range []bool{false, true} {
					if camel && (strings.Contains(body, "originalT") || strings.Contains(body, names[0])) {
						continue // these two are one name then; see below
					}
					s := sent{body: body}
					if camel {
						s = camelCased(s)
					}
					c, answer, ok := f.refunding(s)
					if c.Original != want || ok != (want != "") {
						t.Errorf("%s, camel %v: %q, want %q (%s)", body, camel, c.Original, want, answer)
					}
					if !ok && !camel && answer != `{"worked":false,"errors":{"bad_request":"original_transaction_id is required"}}` {
						t.Errorf("%s: %s", body, answer)
					}
				}
			}
		}
	}
	for body, want := range map[string]string{
		`{"originalTransactionId":"c"}`: "c",
		`{"originalE2eId":"c"}`:         "c",
		`{"transactionId":"c"}`:         "c",
		`{"endToEndId":"c"}`:            "c",
		`{"originalTransactionId":"c","original_transaction_id":"s"}`:    "s",
		`{"original_transaction_id":"s","originalTransactionId":"c"}`:    "s",
		`{"originalTransactionId":"c","original_transaction_id":null}`:   "c",
		`{"originalTransactionId":"c","original_transaction_id":7}`:      "",
		`{"original_e2e_id":"e","originalTransactionId":"c"}`:            "c",
		`{"endToEndId":"n","originalE2eId":"e","transactionId":"t"}`:     "e",
		`{"endToEndId":"n","transactionId":"t"}`:                         "t",
		`{"originalTransactionId":null,"transactionId":"t"}`:             "t",
		`{"OriginalTransactionId":"c","transactionId":"t"}`:              "t",
		`{"end_to_end_id":"n","originalTransactionId":7}`:                "",
		`{"original_transaction_id":"","originalTransactionId":"camel"}`: "",
	} {
		c, answer, ok := f.refunding(camelCased(sent{body: body}))
		if c.Original != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q (%s)", body, c.Original, want, answer)
		}
		if !ok && answer != `{"worked":false,"errors":{"badRequest":"original_transaction_id is required"}}` {
			t.Errorf("%s: %s", body, answer)
		}
	}
	// Any other two keys that are one name in snake_case make the body unusable.
	for _, body := range []string{`{"transactionId":"a","transaction_id":"b"}`, `{"originalE2eId":"a","original_e2e_id":"b"}`, `{"returnCode":"a","return_code":"b"}`, `{"a":{"originalTransactionId":"a","original_transaction_id":"b"}}`} {
		f.expect(camelCased(sent{path: refundPath, body: body, headers: []string{"hmac", strings.Repeat("0", 128)}}), 400, shape3("Request body must be valid JSON for HMAC validation"))
	}
}

// TestRefundBody checks the other fields: their forms, limits and defaults, and the order in
// which they are checked.
func TestRefundBody(t *testing.T) {
	f := newFixture(t)
	field := func(name, text string) string {
		return `{"worked":false,"errors":{"bad_request":{"` + name + `":["` + text + `"]}}}`
	}
	amount := field("amount", "amount must be an integer number of centavos from 1 to 999999999999")
	reason := field("reason", "reason takes a string of at most 64 characters")
	description := field("description", "description takes a string of at most 140 characters")
	plain := ledger.RequestRefund{Original: "o", Reason: "MD06", Description: "Devolução PIX"}
	with := func(change func(c *ledger.RequestRefund)) *ledger.RequestRefund {
		c := plain
		change(&c)
		return &c
	}
	amountOf := func(n pix.Amount) *ledger.RequestRefund {
		return with(func(c *ledger.RequestRefund) { c.Amount = n })
	}
	reasonOf := func(s string) *ledger.RequestRefund {
		return with(func(c *ledger.RequestRefund) { c.Reason = s })
	}
	descriptionOf := func(s string) *ledger.RequestRefund {
		return with(func(c *ledger.RequestRefund) { c.Description = s })
	}
	externalOf := func(s string) *ledger.RequestRefund {
		return with(func(c *ledger.RequestRefund) { c.ExternalID = s })
	}
	quoted := func(s string, n int) string { return `"` + strings.Repeat(s, n) + `"` }
	for fields, want := range map[string]struct {
		command *ledger.RequestRefund
		answer  string
	}{
		"":                               {command: &plain},
		`"amount":null,`:                 {command: &plain},
		`"amount":1,`:                    {command: amountOf(100)},
		`"amount":999999999999,`:         {command: amountOf(99_999_999_999_900)},
		`"amount":1000000000000,`:        {answer: amount},
		`"amount":0,`:                    {answer: amount},
		`"amount":-0,`:                   {answer: amount},
		`"amount":-1,`:                   {answer: amount},
		`"amount":100.0,`:                {answer: amount},
		`"amount":1e2,`:                  {answer: amount},
		`"amount":"100",`:                {answer: amount},
		`"amount":true,`:                 {answer: amount},
		`"amount":[100],`:                {answer: amount},
		`"amount":9223372036854775808,`:  {answer: amount},
		`"amount":18446744073709551716,`: {answer: amount},

		`"reason":"BE08",`:                      {command: reasonOf("BE08")},
		`"reason":" be08\u00e7\u0000",`:         {command: reasonOf(" be08ç\x00")},
		`"reason":"",`:                          {command: reasonOf("")},
		`"reason":null,`:                        {command: &plain},
		`"return_code":"SL02",`:                 {command: reasonOf("SL02")},
		`"reason":"BE08","return_code":"SL02",`: {command: reasonOf("BE08")},
		`"return_code":"SL02","reason":"BE08",`: {command: reasonOf("BE08")},
		`"reason":null,"return_code":"SL02",`:   {command: reasonOf("SL02")},
		`"reason":"BE08","return_code":7,`:      {command: reasonOf("BE08")},
		`"reason":7,"return_code":"SL02",`:      {answer: reason},
		`"return_code":7,`:                      {answer: reason},
		`"reason":` + quoted("ç", 64) + `,`:     {command: reasonOf(strings.Repeat("ç", 64))},
		`"reason":` + quoted("ç", 65) + `,`:     {answer: reason},

		`"description":"x",`:                      {command: descriptionOf("x")},
		`"description":"",`:                       {command: descriptionOf("")},
		`"description":null,`:                     {command: &plain},
		`"description":7,`:                        {answer: description},
		`"description":` + quoted("ç", 140) + `,`: {command: descriptionOf(strings.Repeat("ç", 140))},
		`"description":` + quoted("ç", 141) + `,`: {answer: description},

		`"external_id":" r-1 ",`:                  {command: externalOf("r-1")},
		`"external_id":"r 1",`:                    {command: &plain}, // discarded, as of a payout
		`"external_id":7,`:                        {command: &plain},
		`"external_id":` + quoted("x", 128) + `,`: {command: externalOf(strings.Repeat("x", 128))},
		`"external_id":` + quoted("x", 129) + `,`: {command: &plain},

		`"amount":0,"description":7,"reason":7,`: {answer: amount},
		`"amount":1,"description":7,"reason":7,`: {answer: reason},
		`"unknown":{"amount":0},"Amount":0,`:     {command: &plain},
	} {
		body := `{` + fields + `"original_transaction_id":"o"}`
		c, answer, ok := f.refunding(sent{body: body})
		switch {
		case want.command == nil && (ok || answer != want.answer):
			t.Errorf("%s: %+v %s, want %s", body, c, answer, want.answer)
		case want.command != nil && (!ok || c != *want.command):
			t.Errorf("%s: %+v %s, want %+v", body, c, answer, *want.command)
		}
	}
	const required = `{"worked":false,"errors":{"bad_request":"original_transaction_id is required"}}`
	f.expect(sent{path: refundPath, body: `{"amount":0,"description":7,"reason":7}`}, 400, required)
	f.expect(sent{path: refundPath, body: `{}`}, 400, required)
	f.expect(camelCased(sent{path: refundPath, body: `{"amount":0,"originalTransactionId":"o"}`}), 400, `{"worked":false,"errors":{"badRequest":{"amount":["…`)
}

// TestRefundAnswers checks every answer to a refund, byte for byte.
func TestRefundAnswers(t *testing.T) {
	f := newFixture(t)
	tx := refund(pix.StatusAccepted)
	mid := `"transaction_id":"` + tx.Public() + `","end_to_end_id":"` + tx.EndToEnd + `","external_id":"r-1","amount":300,`
	accepted := `{"worked":true,` + mid + `"status":"accepted","detail":"Refund accepted, settlement follows"}`
	settled := `{"worked":true,` + mid + `"status":"settled","detail":"Refund settled"}`
	good := sent{path: refundPath, body: `{"original_transaction_id":"o"}`}
	for _, v := range []struct {
		status pix.TxStatus
		code   int
		want   string
	}{{pix.StatusAccepted, 202, accepted}, {pix.StatusFailed, 202, accepted}, {pix.StatusSettled, 200, settled}} {
		shown := refund(v.status)
		f.engine.answer = ledger.Answer{Tx: &shown}
		f.expect(good, v.code, v.want)
		g := f.expect(camelCased(good), v.code, `{…`)
		if bad := underscored(t, g.body); bad != nil || turnedBack(t, g.body) != turnedBack(t, v.want) {
			t.Errorf("in camelCase: %s", g.body)
		}
		if !strings.HasPrefix(tx.Public(), "PIXRET") {
			t.Errorf("transaction_id %s", tx.Public())
		}
	}
	nameless := refund(pix.StatusAccepted)
	nameless.ExternalID = ""
	f.engine.answer = ledger.Answer{Tx: &nameless}
	f.expect(good, 202, strings.Replace(accepted, `"r-1"`, "null", 1))
	for _, v := range []struct {
		refusal ledger.Refusal
		code    int
		want    string
	}{
		{ledger.Refusal{Code: ledger.RefuseUnknownOriginal, Message: "transaction not found"}, 404, `{"worked":false,"errors":{"not_found":"transaction not found"}}`},
		{ledger.Refusal{Code: ledger.RefuseOverRefund, Message: "too much"}, 422, `{"worked":false,"errors":{"unprocessable_entity":"too much"}}`},
		{ledger.Refusal{Code: ledger.RefuseSafeBalance, Message: "insufficient balance"}, 422, `{"worked":false,"errors":{"unprocessable_entity":"insufficient balance"}}`},
		{ledger.Refusal{Code: ledger.RefuseBalance}, 500, shape1("500", "internal error")},
	} {
		f.engine.answer = ledger.Answer{Refusal: &v.refusal}
		f.expect(good, v.code, v.want)
	}
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseOverRefund, Message: "too much"}}
	f.expect(camelCased(good), 422, `{"worked":false,"errors":{"unprocessableEntity":"too much"}}`)
}

// TestRefundClaim checks that a refund takes an idempotency key, and that the answer which is
// kept under it also answers a body whose form is refused.
func TestRefundClaim(t *testing.T) {
	f := newFixture(t)
	key := []string{"Idempotency-Key", "k"}
	c, _, ok := f.refunding(sent{body: `{"original_transaction_id":"o"}`, headers: key})
	if !ok || c.Claim == nil {
		t.Errorf("%+v", c)
	}
	f.engine.answer, f.madeUp = ledger.Answer{Stored: &ledger.Stored{Code: 202, Body: []byte(`{"as":"it was"}`)}, Replay: true}, true
	g := f.expect(sent{path: refundPath, body: `{}`, headers: key}, 202, `{"as":"it was"}`)
	if g.header("X-Idempotent-Replay") != "true" {
		t.Error("no replay header")
	}
	f.engine.answer = ledger.Answer{}
	f.expect(sent{path: refundPath, body: `{}`, headers: key}, 400, `{"worked":false,"errors":{"bad_request":"original_transaction_id is required"}}`)
}

// TestBothShapes checks that a failed check 3 is answered with both shapes on POST /pix/refund,
// and with one on any other route; every other check has its one shape.
func TestBothShapes(t *testing.T) {
	f := newFixture(t)
	const auth = "Authorization"
	both := func(message string) string {
		return `{"error":{"status":401,"message":"` + message + `"},"worked":false,"errors":{"unauthorized":"` + message + `"}}`
	}
	body := `{"original_transaction_id":"o"}`
	for message, s := range map[string]sent{
		"Missing API key credentials": {headers: []string{auth, "-"}},
		"Invalid API key credentials": {headers: []string{auth, "ApiKey cli_all:x"}},
		"API key is inactive":         {client: "cli_revoked"},
		"API key has expired":         {client: "cli_expired"},
	} {
		s.path, s.body = refundPath, body
		f.expect(s, 401, both(message))
		f.expect(camelCased(s), 401, both(message))
		for _, path := range []string{cashOut, cashIn, base + "/med/x/defense", validate} {
			s.path = path
			f.expect(s, 401, shape1("401", message))
		}
		f.expect(sent{method: "GET", path: base + "/med", client: s.client, headers: s.headers}, 401, shape1("401", message))
	}
	f.engine.err = ledger.ErrUnknown
	f.expect(sent{path: refundPath, body: body}, 401, both("Invalid API key credentials"))
	f.engine.err = nil
	f.expect(sent{path: refundPath, body: body, client: "cli_far"}, 403, shape1("403", "Request IP not in API key whitelist"))
	f.expect(sent{path: refundPath, body: body, headers: []string{"hmac", "-"}}, 401, shape3("Missing HMAC header"))
	f.expect(sent{path: refundPath, body: body, headers: []string{"hmac", strings.Repeat("0", 128)}}, 401, shape3("Invalid HMAC signature"))
	f.expect(sent{path: refundPath, body: body, client: "cli_mute"}, 403, shape3("HMAC secret not configured for this API key"))
	f.expect(sent{path: refundPath, body: body, client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: payment:write"}`)
	f.expect(sent{path: refundPath, body: body, headers: []string{"Content-Type", "text/plain"}}, 415, `{"error":{"status":415,…`)
}
