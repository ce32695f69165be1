package ledger

import (
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestFoundInstead tells a restored account of a payout that it lacks, while an equal one waits: the one that waits fails
// where the other was requested instead of it, and only there.
func TestFoundInstead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *harness, waits *Transaction, f *FindPayout)
		fails  bool
	}{
		"of a later attempt":         {func(*harness, *Transaction, *FindPayout) {}, true},
		"pending at the scheme":      {func(_ *harness, _ *Transaction, f *FindPayout) { f.Result = TransferIsAccepted }, true},
		"rejected":                   {func(_ *harness, _ *Transaction, f *FindPayout) { f.Result, f.Reason = TransferIsRejected, "AC03" }, true},
		"requested earlier":          {func(_ *harness, w *Transaction, f *FindPayout) { f.ID = pix.NewTxID(w.ID.Time()-1, [10]byte{1}) }, true},
		"beside one a child carries": {func(h *harness, w *Transaction, _ *FindPayout) { h.carried[w.ID] = w }, false},
		"beside one requested since": {func(h *harness, w *Transaction, _ *FindPayout) { h.terms.RestoredAt = w.ID.Time() - 1 }, true},
		"under an id of its own":     {func(_ *harness, _ *Transaction, f *FindPayout) { f.EndToEnd = endToEnd("x") }, false},
		"under the same id":          {func(_ *harness, w *Transaction, f *FindPayout) { f.EndToEnd = w.EndToEnd }, false},
		"of the same attempt":        {func(_ *harness, w *Transaction, f *FindPayout) { f.EndToEnd = endToEnd("")[:21] + w.EndToEnd[21:] }, false},
		"of another amount":          {func(_ *harness, _ *Transaction, f *FindPayout) { f.Amount++ }, false},
		"to another key":             {func(_ *harness, _ *Transaction, f *FindPayout) { f.Key.Value = "bob@example.com" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.open(DefaultSettings(), 1_000_000)
			key := pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}
			w := h.step(RequestPayout{Amount: 100, Key: key}).Launch[0].Tx
			w = h.step(ResolveTransfer{ID: w.ID, EndToEnd: w.EndToEnd, Result: TransferIsLimited, Refusal: RefuseRateLimited}).Tx
			clear(h.carried)
			h.terms.RestoredAt = w.ID.Time()
			last := pix.Fingerprint{Account: testAccount, Amount: 100, KeyType: key.Type, Key: key.Value}.Suffix(h.terms.Secret, mostSought)
			f := FindPayout{ID: pix.NewTxID(w.ID.Time()+1, [10]byte{1}), EndToEnd: endToEnd("")[:21] + last, Amount: 100, Key: key, Result: TransferIsSettled}
			c.change(h, w, &f)
			h.step(f)
			after, want := h.transactionOf(w.ID), pix.StatusQueued
			if c.fails {
				want = pix.StatusFailed
			}
			if after.Status != want || c.fails != (after.ReasonCode == ReasonVoided) {
				t.Errorf("the one that waited is %v (%s), want %v", after.Status, after.ReasonCode, want)
			}
		})
	}
}

// TestHeldUnderAnotherMinute tells a restored account that the scheme has settled a payout under an id with the same
// suffix and another minute: both ids lead to the payout afterwards, and its money has moved once.
func TestHeldUnderAnotherMinute(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 1_000_000)
	w := h.step(RequestPayout{Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}}).Launch[0].Tx
	scheme := endToEnd("")[:21] + w.EndToEnd[21:]
	if scheme == w.EndToEnd {
		t.Fatal("the ids are the same")
	}
	d := h.step(ResolveTransfer{ID: w.ID, EndToEnd: scheme, Result: TransferIsSettled, Restored: true})
	if d.Tx == nil || d.Tx.Status != pix.StatusSettled || d.Tx.EndToEnd != scheme || !slices.Equal(d.Tx.Payout.Former, []string{w.EndToEnd}) {
		t.Fatalf("it is %+v", d.Tx)
	}
	if now := h.account.Totals; now.Held != 0 || now.Balance != 1_000_000-w.Amount-w.Fee {
		t.Errorf("%+v", now)
	}
	for id, key := range map[string][]byte{w.EndToEnd: layout.EndToEndKey(w.EndToEnd), scheme: layout.SuffixKey(scheme[21:])} {
		row, ok, err := layout.Find(h, key, layout.DecodeEndToEndRow)
		if !ok || err != nil || row.ID != w.ID || row.Account != testAccount {
			t.Errorf("%s leads to %+v (%v)", id, row, err)
		}
	}
}

// TestFoundRefundDescription tells a restored account of refunds that it lacks: each has the description of the
// scheme's statement, or that of a refund for which a merchant gives none.
func TestFoundRefundDescription(t *testing.T) {
	for given, want := range map[string]string{"duplicate order": "duplicate order", "": "Devolução PIX"} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		paid := h.paid("a", 1000)
		found := FindRefund{
			ID: pix.NewTxID(h.now, [10]byte{1}), ReturnID: "D" + endToEnd("found")[1:], Original: paid.EndToEnd, Amount: 200, Code: "MD06", Description: given,
		}
		for _, found.Result = range []TransferResult{TransferIsSettled, TransferIsAccepted} {
			d := h.step(found)
			if d.Tx == nil || d.Tx.Description != want {
				t.Errorf("given %q, result %v: %+v, want %q", given, found.Result, d.Tx, want)
			}
			found.ID, found.ReturnID = pix.NewTxID(h.now, [10]byte{2}), "D"+endToEnd("other")[1:]
		}
	}
}

// TestFoundFarAttempt tells a restored account of a payout whose id it would compute for an attempt far behind the last
// one. Such an id counts as the payer's own where no payout waits that many attempts could have been made for.
func TestFoundFarAttempt(t *testing.T) {
	for attempt, own := range map[uint64]bool{attemptsSought: false, attemptsSought + 1: true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 1_000_000)
		key := pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}
		w := h.step(RequestPayout{Amount: 100, Key: key}).Launch[0].Tx
		h.step(ResolveTransfer{ID: w.ID, EndToEnd: w.EndToEnd, Result: TransferIsSettled})
		suffix := pix.Fingerprint{Account: testAccount, Amount: 100, KeyType: key.Type, Key: key.Value}.Suffix(h.terms.Secret, attempt)
		d := h.step(FindPayout{
			ID: pix.NewTxID(h.now+1, [10]byte{1}), EndToEnd: endToEnd("")[:21] + suffix, Amount: 100, Key: key, Result: TransferIsSettled,
		})
		if d.Tx == nil || d.Tx.Payout.OwnEndToEnd != own {
			t.Errorf("attempt %d: %+v, its own id: want %v", attempt, d.Tx, own)
		}
	}
}
