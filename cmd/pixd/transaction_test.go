package main

import (
	"strings"
	"testing"
)

// TestTransactionCommand checks the table of what happened to a transaction, and the API's answer with --json.
func TestTransactionCommand(t *testing.T) {
	t.Parallel()
	const answer = `{"transaction":{"account_id":"acc_a","state":"settled","transaction_id":"PIXOUT1","end_to_end_id":"E1","amount":200000},"data":[` +
		`{"at":"2026-11-22T10:00:00.500Z","kind":"payout_approved","record":7,"amount":200000,"status":"sending","operator":"ana"},` +
		`{"at":"2026-11-22T10:00:01.000Z","kind":"delivery_attempt","record":8,"id":"dlv_1","type":"pix.payout.confirmed","status_code":503},` +
		`{"at":"2026-11-22T10:00:02.000Z","kind":"delivery_attempt","record":8,"id":"dlv_1","type":"pix.payout.confirmed","error":"dial \u001b[31m"}],"complete":true}`
	s := answering(t, 200, answer)
	code, out, errs := asks(t, s.URL, "transaction", "PIXOUT1")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	same(t, squeezed(out), `
transaction PIXOUT1
account acc_a
state settled
end-to-end id E1
amount 200000 (20.00 BRL)

AT WHAT STATUS BRL ABOUT DETAILS
2026-11-22T10:00:00.500Z payout_approved sending 20.00 – by ana
2026-11-22T10:00:01.000Z delivery_attempt – – dlv_1 pix.payout.confirmed 503
2026-11-22T10:00:02.000Z delivery_attempt – – dlv_1 pix.payout.confirmed dial \x1b[31m
`)
	if _, out, _ = asks(t, s.URL, "transaction", "PIXOUT1", "--json"); out != strings.TrimSpace(answer)+"\n" {
		t.Errorf("%s", out)
	}
	some := answering(t, 200, strings.Replace(answer, `"complete":true`, `"complete":false`, 1))
	if _, out, _ = asks(t, some.URL, "transaction", "PIXOUT1"); !strings.HasSuffix(out, "\n\nnot complete: there is more than one request reads\n") {
		t.Errorf("%s", out)
	}
	if code, _, errs = asks(t, s.URL, "transaction"); code != 1 || errs != "pixd: name the transaction, by its transaction_id, id or end-to-end id\n" {
		t.Errorf("exit %d %s", code, errs)
	}
}

// TestSearchCommand checks the request of a search, and that the command for its next page can be pasted.
func TestSearchCommand(t *testing.T) {
	t.Parallel()
	s := answering(t, 200, `{"data":[],"next_cursor":"7"}`)
	for text, want := range map[string]string{"loja": "loja", "são joão's": `'são joão'\''s'`, "a@b.br": "a@b.br"} {
		code, out, errs := asks(t, s.URL, "account", "list", "--search", text, "--limit", "2")
		if code != 0 || out != "no accounts\n\nmore: pixd account list --search "+want+" --limit 2 --cursor 7\n" {
			t.Errorf("%s: exit %d\n%s%s", text, code, out, errs)
		}
	}
}
