package httpapi

import (
	"bytes"
	"errors"
	"testing"

	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestDrawReceipt checks that a receipt which an operator draws takes its account's place, and gives it back.
func TestDrawReceipt(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	o := receipted(t, &tx).options()
	o.Receipts = fair.New[pix.AccountID](fair.Bounds{Places: 1, Share: 1})
	own := &ledger.Settings{Name: "Loja Aurora", Document: "11222333000181"}
	for range 2 {
		if file, err := o.DrawReceipt(merchant, &tx, own); err != nil || !bytes.HasPrefix(file, []byte("%PDF-")) || o.Receipts.Counts() != (fair.Counts{}) {
			t.Errorf("%d bytes (%v), %+v", len(file), err, o.Receipts.Counts())
		}
	}
	if err := o.Receipts.Take(t.Context(), merchant); err != nil {
		t.Fatal(err)
	}
	if _, err := o.DrawReceipt(merchant, &tx, own); !errors.Is(err, ledger.ErrBusy) {
		t.Error(err)
	}
}

// TestTestWebhookUnderAKey checks that a repeat of POST /webhooks/:id/test under its key makes no second event.
func TestTestWebhookUnderAKey(t *testing.T) {
	f, _, s := hookFixture(t)
	e := ledger.Event{ID: pix.EventID{15: 9}, Kind: pix.EventTest, Sequence: 9}
	f.engine.answer = ledger.Answer{Subscription: s, Event: &e}
	f.send(sent{path: hooksPath + "/" + s.ID.String() + "/test", body: `{}`, headers: []string{"Idempotency-Key", "k"}})
	if c, ok := f.engine.command.(ledger.TestSubscription); !ok || c.Claim == nil {
		t.Errorf("%+v", f.engine.command)
	}
}

// TestRetryReplayOfRemoved checks that the kept answer to a retry is replayed although the webhook was removed since.
func TestRetryReplayOfRemoved(t *testing.T) {
	f, _, s := hookFixture(t)
	s.Status = ledger.SubscriptionRemoved
	f.engine.answer, f.madeUp = ledger.Answer{Stored: &ledger.Stored{Code: 202, Body: []byte(`{"kept":1}`)}, Replay: true}, true
	r := sent{path: hooksPath + "/" + s.ID.String() + "/deliveries/evt_x/retry", body: `{}`, headers: []string{"Idempotency-Key", "k"}}
	if g := f.expect(r, 202, `{"kept":1}`); g.header("X-Idempotent-Replay") != "true" {
		t.Error("no replay")
	}
}

// TestOwnKey checks that a charge never names a key that has become another account's since its account was read.
func TestOwnKey(t *testing.T) {
	f := newFixture(t)
	second := pix.Key{Type: pix.KeyEmail, Value: "loja@example.com"}
	if _, err := f.keys.ReservePixKey(merchant, second); err != nil {
		t.Fatal(err)
	}
	before, _ := f.keys.Account(merchant)
	c := call{service: &service{Options: f.options()}, account: before}
	if k := c.ownKey(); k.Value != testEVP {
		t.Fatalf("%+v", k)
	}
	if _, err := f.keys.RemovePixKey(merchant, testEVP); err != nil {
		t.Fatal(err)
	}
	if k := c.ownKey(); k != second {
		t.Errorf("removed: %+v", k)
	}
	if _, err := f.keys.ReservePixKey(newAccount(t, f), pix.Key{Type: pix.KeyEVP, Value: testEVP}); err != nil {
		t.Fatal(err)
	}
	if k := c.ownKey(); k != second {
		t.Errorf("another account's by now: %+v", k)
	}
}
