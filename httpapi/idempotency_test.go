package httpapi

import (
	"crypto/sha256"
	"log/slog"
	"strings"
	"testing"

	"pixd/actors/account"
	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

func TestClaim(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	key := strings.Repeat("ç", 256)
	g := f.send(sent{path: cashOut + "?unknown=1", body: payBody, headers: []string{"Idempotency-Key", key}})
	if g.header("Idempotency-Key") != key || g.header("X-Idempotent-Replay") != "" {
		t.Errorf("echoed %q, replay %q", g.header("Idempotency-Key"), g.header("X-Idempotent-Replay"))
	}
	scope, body := sha256.Sum256([]byte("POST\x00"+cashOut+"\x00"+key)), sha256.Sum256([]byte(payBody))
	want := ledger.Claim{Scope: [16]byte(scope[:16]), BodyHash: [16]byte(body[:16])}
	if c := f.engine.command.(ledger.RequestPayout); c.Claim == nil || *c.Claim != want {
		t.Errorf("claim %+v", c.Claim)
	}
	g = f.send(sent{path: cashOut, body: payBody, headers: []string{"Idempotency-Key", ""}})
	if c := f.engine.command.(ledger.RequestPayout); c.Claim != nil || g.header("Idempotency-Key") != "" {
		t.Errorf("an empty key: claim %+v", c.Claim)
	}
	g = f.send(sent{path: cashOut, body: payBody, client: "cli_balance", headers: []string{"Idempotency-Key", "k"}})
	if g.status != 403 || g.header("Idempotency-Key") != "k" {
		t.Errorf("%d, echoed %q", g.status, g.header("Idempotency-Key"))
	}
}

func TestStoredAnswer(t *testing.T) {
	f := newFixture(t)
	f.madeUp = true
	stored := &ledger.Stored{Code: 202, Body: []byte(`{"as":"it was"}`)}
	for _, v := range []struct{ replay, mismatch bool }{{false, false}, {true, false}, {true, true}} {
		f.engine.answer = ledger.Answer{Stored: stored, Replay: v.replay, Mismatch: v.mismatch}
		for _, body := range []string{payBody, `{}`} { // a request with a malformed body gets the kept answer too
			g := f.expect(sent{path: cashOut, body: body, headers: []string{"Idempotency-Key", "k"}}, 202, `{"as":"it was"}`)
			if (g.header("X-Idempotent-Replay") == "true") != v.replay || (g.header("X-Idempotent-Body-Mismatch") == "true") != v.mismatch {
				t.Errorf("%+v %s: %q %q", v, body, g.header("X-Idempotent-Replay"), g.header("X-Idempotent-Body-Mismatch"))
			}
		}
	}
}

// TestMalformedJoins checks that a malformed repeat of a request that is being handled gets
// the refusal of that request, and its own refusal if there was no earlier request.
func TestMalformedJoins(t *testing.T) {
	f := newFixture(t)
	key := []string{"Idempotency-Key", "k"}
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseKeyNotFound, AfterHold: true}}
	f.expect(sent{path: cashOut, body: `{}`, headers: key}, 400, `{"status":"failed","errors":[{"code":"dict_key_not_found",…`)
	f.engine.answer = ledger.Answer{}
	f.expect(sent{path: cashOut, body: `{}`, headers: key}, 400, `{"errors":{"bad_request":"invalid or missing amount"}}`)
}

// TestOwnEndToEnd checks that an end-to-end id belongs to the account that chose it first. A
// request of another account with the id is refused before any money is held. If an answer is
// kept under that request's idempotency key, the answer is sent instead.
func TestOwnEndToEnd(t *testing.T) {
	f := newFixture(t)
	makeKey(t, f.keys, "cli_other", keyOf(newAccount(t, f)))
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, Status: pix.StatusAccepted, EndToEnd: e2e}}
	own := sent{path: cashOut, body: `{"amount":1000,"end_to_end_id":"` + e2e + `","pix_key":"a@b.com"}`}
	for range 2 { // a second request of the same account reaches the engine too: only the scheme rejects it with DUPL
		f.expect(own, 202, `{"worked":true,…`)
	}
	asked := len(f.engine.all)
	own.client = "cli_other"
	const taken = `{"errors":{"bad_request":{"end_to_end_id":["end_to_end_id is used already"]}}}`
	f.expect(own, 400, taken)
	if len(f.engine.all) != asked {
		t.Errorf("the engine was asked: %+v", f.engine.command)
	}
	own.headers = []string{"Idempotency-Key", "k"}
	f.engine.answer = ledger.Answer{}
	f.expect(own, 400, taken)
	if _, recalls := f.engine.command.(ledger.Recall); !recalls {
		t.Errorf("the engine was asked: %+v", f.engine.command)
	}
	f.engine.answer, f.madeUp = ledger.Answer{Stored: &ledger.Stored{Code: 202, Body: []byte(`{"as":"it was"}`)}, Replay: true}, true
	f.expect(own, 202, `{"as":"it was"}`)
	f.madeUp = false
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	f.expect(sent{path: cashOut, body: payBody, client: "cli_other"}, 202, `{"worked":true,…`)
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseBalance}}
	f.expect(sent{path: cashOut, body: strings.Replace(own.body, e2e, e2e[:31]+"9", 1)}, 422, `{…`)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	f.expect(sent{path: cashOut, body: strings.Replace(own.body, e2e, e2e[:31]+"9", 1), client: "cli_other"}, 202, `{"worked":true,…`) // a refused one reserves none
	for _, form := range []string{`{"amount":0,"end_to_end_id":"X","pix_key":"a@b.com"}`, `{"amount":0,"end_to_end_id":"Y","pix_key":"x"}`} {
		body := strings.NewReplacer("X", e2e[:31]+"7", "Y", e2e[:31]+"8").Replace(form) // a request whose form is refused reserves no end-to-end id
		f.expect(sent{path: cashOut, body: body}, 400, `{…`)
		other := strings.NewReplacer(`"amount":0`, `"amount":1`, `"x"`, `"a@b.com"`).Replace(body)
		f.expect(sent{path: cashOut, body: other, client: "cli_other"}, 202, `{"worked":true,…`)
	}
}

// TestReplay runs a real account behind the API. It checks that the first answer under a key
// is kept and sent again, byte for byte, even to a request whose body would be refused, and
// that no answer is kept for a request whose form is refused.
func TestReplay(t *testing.T) {
	f := newFixture(t)
	store := openStore(t)
	f.keys = openRegistry(t, store)
	d := account.NewHost(account.Options{
		Config:  account.Config{Renderer: Renderer{queueing}, HeadEvery: 256, Terms: ledger.Terms{Secret: []byte("s"), OwnISPB: "99999004"}},
		Journal: store, Rows: rows{store}, Tail: store, Scheme: scheme.Unassigned{},
		Opening: func(id pix.AccountID) (ledger.Settings, bool) {
			a, ok := f.keys.Account(id)
			if !ok {
				return ledger.Settings{}, false
			}
			return *a.Opening, true
		},
		Now: func() pix.Reading { return pix.At(testNow) }, Entropy: func() [10]byte { return [10]byte{5} },
		Log: slog.New(slog.DiscardHandler),
	})
	defer d.Close()
	o := f.options()
	o.Engine, o.History = d, history.New(store)
	f.handler = New(o)

	key := []string{"Idempotency-Key", "k"}
	f.expect(sent{path: cashIn, body: `{"amount":0}`, headers: key}, 400, `{"worked":false,"errors":{"bad_request":{"amount":["…`)
	first := f.expect(sent{path: cashIn, body: `{"amount":1234}`, headers: key}, 200, `{"worked":true,"transaction_id":"PIXIN…`)
	if first.header("X-Idempotent-Replay") != "" {
		t.Error("the first answer says that it is a replay")
	}
	for body, mismatch := range map[string]string{`{"amount":1234}`: "", `{"amount":0}`: "true", `{"amount":9}`: "true"} {
		again := f.expect(sent{path: cashIn, body: body, headers: key}, 200, first.body)
		if again.header("X-Idempotent-Replay") != "true" || again.header("X-Idempotent-Body-Mismatch") != mismatch {
			t.Errorf("%s: %q %q", body, again.header("X-Idempotent-Replay"), again.header("X-Idempotent-Body-Mismatch"))
		}
	}
	f.expect(sent{path: cashOut, body: payBody, headers: key}, 422, `{"status":"failed","errors":[{"code":"insufficient_balance",…`)
	_, id, _ := strings.Cut(first.body, `"transaction_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	f.expect(sent{method: "GET", path: "/api/external/transactions/" + id}, 200, `{"worked":true,"id":"…`)
	makeKey(t, f.keys, "cli_other", keyOf(newAccount(t, f)))
	f.expect(sent{method: "GET", path: "/api/external/transactions/" + id, client: "cli_other"}, 404, `{"errors":{"not_found":"transaction not found"}}`)
	f.expect(sent{path: cashIn, body: `{"amount":0}`, client: "cli_other", headers: key}, 400, `{"worked":false,…`)
}
