package ledger

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestForeignEndToEnd checks that an end-to-end id which another account has used, as its own or with the
// same last 11 characters, is refused before anything else, and that nothing is held.
func TestForeignEndToEnd(t *testing.T) {
	for name, key := range map[string][]byte{"the id": layout.EndToEndKey(endToEnd("x")), "its suffix": layout.SuffixKey(endToEnd("x")[21:])} {
		h := newHarness(t)
		h.open(DefaultSettings(), 100)
		h.rows[string(key)] = layout.EndToEndRow{Account: testAccount + 1, Seq: 1}.Encode()
		d := h.step(RequestPayout{Amount: 1_000, Key: emailKey(t, "a@b.com"), EndToEnd: endToEnd("x")})
		if d.Refusal == nil || d.Refusal.Code != RefuseEndToEnd || d.Refusal.Field != "end_to_end_id" || len(d.Records) != 0 {
			t.Errorf("%s: %+v and %d records", name, d.Refusal, len(d.Records))
		}
	}
}

// TestFoundIsOwn checks that the row by the end of an id leads to nothing in another account: neither a repeated
// refund nor a payout that is taken over uses it.
func TestFoundIsOwn(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 1_000_000)
	paid := h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 1000, Key: "k"}).Tx
	claim := &Claim{Scope: [16]byte{1}}
	key := pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}
	print := pix.Fingerprint{Account: testAccount, Amount: 100, KeyType: key.Type, Key: key.Value}
	foreign := layout.EndToEndRow{Account: testAccount + 1, ID: pix.TxID{9}, Seq: 3}.Encode()
	suffix := print.Suffix(h.terms.Secret, 0)
	for _, s := range []string{pix.RefundSuffix(h.terms.Secret, testAccount, []byte(paid.EndToEnd), claim.Scope[:]), suffix} {
		h.rows[string(layout.SuffixKey(s))] = foreign
	}
	if d := h.step(RequestRefund{Original: paid.EndToEnd, Amount: 500, Claim: claim}); len(d.Launch) != 1 {
		t.Errorf("a refund beside another account's row: %+v", d)
	}
	_, err := h.try(FindPayout{ID: pix.TxID{8}, EndToEnd: endToEnd("")[:21] + suffix, Amount: 100, Key: key, Result: TransferIsSettled}, false)
	if !errors.Is(err, errForeign) {
		t.Errorf("a payout under another account's id: %v", err)
	}
}

// TestFoundIsAnother checks that what the scheme tells of a transaction is not applied to one of another kind
// or amount.
func TestFoundIsAnother(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 1_000_000)
	paid := h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 1000, Key: "k"}).Tx
	key := pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}
	out := h.step(RequestPayout{Amount: 100, Key: key}).Launch[0].Tx
	back := h.step(RequestRefund{Original: paid.EndToEnd, Amount: 100}).Launch[0].Tx
	for name, c := range map[string]Command{
		"another amount": FindPayout{ID: out.ID, EndToEnd: out.EndToEnd, Amount: 101, Key: key, Result: TransferIsSettled},
		"a refund":       FindPayout{ID: back.ID, EndToEnd: out.EndToEnd, Amount: 100, Key: key, Result: TransferIsSettled},
		"a payout":       FindRefund{ID: out.ID, ReturnID: back.EndToEnd, Original: paid.EndToEnd, Amount: 100, Result: TransferIsSettled},
		"another refund": FindRefund{ID: back.ID, ReturnID: back.EndToEnd, Original: paid.EndToEnd, Amount: 99, Result: TransferIsSettled},
	} {
		if _, err := h.try(c, false); !errors.Is(err, errAnother) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.try(FindRefund{ID: pix.TxID{7}, ReturnID: "D" + endToEnd("x")[1:], Original: endToEnd("nothing"), Amount: 1, Result: TransferIsSettled}, false); !errors.Is(err, ErrUnknownTransfer) {
		t.Errorf("of a payment that is not there: %v", err)
	}
}

// TestFoundPendingTwice tells a restored account twice of a refund that is pending at the scheme for longer than Terms.OrphanAfter:
// the second time changes nothing, and the alert is raised once the scheme is asked.
func TestFoundPendingTwice(t *testing.T) {
	for name, held := range map[string]bool{"held in the snapshot": true, "sent in the snapshot": false} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		paid := h.paid("a", 1000)
		r := h.step(RequestRefund{Original: paid.EndToEnd, Amount: 100, Reason: "MD06"}).Launch[0].Tx
		if !held {
			h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted, Doubt: true})
		}
		h.now += h.terms.OrphanAfter
		found := FindRefund{ID: r.ID, ReturnID: r.EndToEnd, Original: paid.EndToEnd, Amount: 100, Code: "MD06", Result: TransferIsAccepted}
		if d := h.step(found); len(d.Records) != 1 || len(d.Alerts) != 0 || d.Tx.Status != pix.StatusAccepted || d.Tx.Transfer.Doubt {
			t.Errorf("%s: once: %+v", name, d)
		}
		if d := h.step(found); len(d.Records) != 0 || len(d.Alerts) != 0 {
			t.Errorf("%s: twice: %+v", name, d)
		}
		h.now += h.terms.OrphanAfter
		if d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted}); len(d.Alerts) != 1 || !d.Tx.Transfer.Overdue {
			t.Errorf("%s: asked: %+v", name, d)
		}
	}
}
