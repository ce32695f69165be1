package ledger

import (
	"slices"
	"testing"

	"pixd/actors/pix"
)

// TestMoves checks which records an operator counts, and as what: money that was asked for, that moved or that will not.
func TestMoves(t *testing.T) {
	want := map[RecordKind][2]string{
		Credited: {"credit", "settled"}, PaymentReceived: {"payment", "settled"},
		PayoutHeld: {"payout", "asked"}, PayoutFound: {"payout", "asked"}, PayoutRefused: {"payout", "refused"},
		PayoutSettled: {"payout", "settled"}, PayoutSettledLate: {"payout", "settled"},
		PayoutRejected: {"payout", "rejected"}, PayoutFailed: {"payout", "failed"}, ReturnReceived: {"payout", "returned"},
		RefundHeld: {"refund", "asked"}, RefundFoundOpen: {"refund", "asked"},
		RefundSettled: {"refund", "settled"}, RefundSettledLate: {"refund", "settled"}, RefundFound: {"refund", "settled"},
		RefundFailed: {"refund", "failed"},
	}
	for k := range RecordKind(len(kinds)) {
		kind, outcome := k.Move().Names()
		if got := [2]string{kind, outcome}; got != want[k] {
			t.Errorf("%v counts as %q, want %q", k, got, want[k])
		}
	}
}

// TestShownParts checks what merchants see of a transaction that is derived from its parts.
func TestShownParts(t *testing.T) {
	original := pix.TxID{1}
	charge := &Transaction{ID: pix.TxID{2}, Kind: pix.TxCharge, Status: pix.StatusCompleted}
	charge.Charge.Key.Value = "loja@example.com"
	moved := *charge
	moved.Charge.PaidKey = "+5511999990000"
	open := *charge
	open.Status = pix.StatusPending
	receipt := &Transaction{ID: pix.TxID{3}, Kind: pix.TxReceipt, Status: pix.StatusCompleted}
	receipt.Receipt.Key, receipt.Receipt.Txid = "12345678909", "abc"
	refund := &Transaction{ID: pix.TxID{4}, Kind: pix.TxRefund}
	refund.Refund.Original = original
	back := &Transaction{ID: pix.TxID{5}, Kind: pix.TxReturn}
	back.Return.Original = original
	for name, c := range map[string]struct {
		tx        *Transaction
		key, txid string
		gives     pix.TxID
	}{
		"a paid charge":                      {charge, "loja@example.com", charge.Public(), pix.TxID{}},
		"a charge whose key moved meanwhile": {&moved, "+5511999990000", charge.Public(), pix.TxID{}},
		"an open charge":                     {&open, "", "", pix.TxID{}},
		"a receipt":                          {receipt, "12345678909", "abc", pix.TxID{}},
		"a refund":                           {refund, "", "", original},
		"a return":                           {back, "", "", original},
	} {
		if key, txid, gives := c.tx.ReceivingKey(), c.tx.Txid(), c.tx.Gives(); key != c.key || txid != c.txid || gives != c.gives {
			t.Errorf("%s: key %q, txid %q, gives back %v", name, key, txid, gives)
		}
	}
}

// TestFormerSecrets checks until when former secrets of a subscription sign, and that none ends while the time is doubted.
func TestFormerSecrets(t *testing.T) {
	s := Subscription{Former: []FormerSecret{{[]byte{1}, 100}, {[]byte{2}, 200}}}
	if s.FormerUntil() != 200 || (&Subscription{}).FormerUntil() != 0 {
		t.Errorf("until %d", s.FormerUntil())
	}
	one, two := "whsec_AQ==", "whsec_Ag=="
	for now, want := range map[pix.Reading][]string{
		{Clock: 99}: {one, two}, {Clock: 100}: {two}, {Clock: 200}: nil, {Clock: 200, Doubted: true}: {one, two},
	} {
		if got := s.FormerShown(now); !slices.Equal(got, want) {
			t.Errorf("at %+v: %v, want %v", now, got, want)
		}
	}
	a := Account{Subscriptions: []Subscribed{{Number: 3}, {Number: 7}}}
	if got := a.SubscriptionNumbers(); !slices.Equal(got, []uint32{3, 7}) {
		t.Errorf("numbers %v", got)
	}
}
