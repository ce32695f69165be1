package ledger

import (
	"strings"
	"testing"

	"pixd/actors/pix"
)

// TestOriginal checks by which names a received payment can be refunded, and that no name of
// any other transaction leads to one.
func TestOriginal(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 10_000, Key: "k", PayerName: "Açaí", PayerDocument: "12345678909", PayerISPB: "60701190"}).Tx
	ted := h.step(Credit{Kind: pix.TxTED, Amount: 100_000}).Tx
	internal := h.step(Credit{Kind: pix.TxInternal, Amount: 100_000}).Tx
	charge := h.step(CreateCharge{Amount: 500, Key: pix.Key{Type: pix.KeyEVP, Value: "k"}}).Tx
	payout := h.step(RequestPayout{Amount: 500, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}).Launch[0].Tx
	h.step(ResolveTransfer{ID: payout.ID, EndToEnd: payout.EndToEnd, Result: TransferIsSettled})
	back := h.step(ReceiveReturn{ID: payout.ID, EndToEnd: payout.EndToEnd, ReturnID: "D" + endToEnd("r")[1:], Amount: 500, Reason: "MD06"}).Tx
	near := paid.ID
	near[15] ^= 1 // a bit of the id that is not part of the public transaction_id
	for name, known := range map[string]bool{
		paid.ID.String(): true, strings.ToUpper(paid.ID.String()): true, paid.Public(): true, paid.EndToEnd: true,
		near.String(): false, strings.ToLower(paid.Public()): false, "PIXOUT" + paid.Public()[5:]: false, "PIXRET" + paid.Public()[5:]: false, paid.EndToEnd[:31] + "z": false,
		"D" + paid.EndToEnd[1:]: false, "": false, "nonsense": false, strings.Repeat("x", 10_000): false,
		ted.ID.String(): false, ted.Public(): false, internal.ID.String(): false, internal.Public(): false,
		charge.ID.String(): false, charge.Public(): false, payout.ID.String(): false, payout.Public(): false, payout.EndToEnd: false,
		back.ID.String(): false, back.Public(): false, back.EndToEnd: false,
	} {
		d := h.step(RequestRefund{Original: name, Amount: 100, Reason: "MD06"})
		if known != (d.Refusal == nil) || !known && d.Refusal.Code != RefuseUnknownOriginal {
			t.Errorf("%.40q: %+v", name, d.Refusal)
		} else if known {
			checkRefundOf(t, d.Launch[0].Tx, paid)
		}
	}
	foreign := &Record{Account: testAccount + 1, Seq: 2, Kind: PaymentReceived, Body: Body{Tx: &Transaction{ID: pix.TxID{9}, Kind: pix.TxReceipt, Status: pix.StatusCompleted, Amount: 100, EndToEnd: endToEnd("f"), Ordinal: 1}}}
	for _, row := range Project(nil, foreign) {
		h.rows[string(row.Key)] = row.Value
	}
	for _, name := range []string{foreign.Tx.ID.String(), foreign.Tx.Public(), foreign.Tx.EndToEnd} {
		if d := h.step(RequestRefund{Original: name, Reason: "MD06"}); d.Refusal == nil || d.Refusal.Code != RefuseUnknownOriginal {
			t.Errorf("another account's, by %s: %+v", name, d)
		}
	}
	if _, err := h.try(OpenCase{Infraction: "inf-1", EndToEnd: foreign.Tx.EndToEnd, Amount: 1}, false); err == nil {
		t.Error("a report of another account's payment opens a case")
	}
	if _, err := h.try(OpenCase{Infraction: "inf-1", EndToEnd: back.EndToEnd, Amount: 1}, false); err == nil {
		t.Error("a report of a received return opens a case")
	}
}

// checkRefundOf checks what a refund repeats of its payment.
func checkRefundOf(t *testing.T, refund, paid *Transaction) {
	t.Helper()
	of := refund.Refund
	if of.Original != paid.ID || of.OriginalEndToEnd != paid.EndToEnd || of.OriginalAmount != paid.Amount || refund.Counterparty != paid.Counterparty {
		t.Errorf("%+v is a refund of %+v", refund, paid)
	}
}

// TestForeignCases checks that another account's case cannot be defended or decided here, and
// that a report which opened a case in another account opens none here.
func TestForeignCases(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 10_000, Key: "k"})
	own := h.step(OpenCase{Infraction: "inf-1", EndToEnd: endToEnd("a"), Amount: 500, Situation: "SCAM"}).Case
	theirs := *own
	theirs.ID, theirs.Infraction = pix.CaseID{9}, "inf-2"
	for _, row := range Project(nil, &Record{Account: testAccount + 1, Seq: 2, Kind: CaseOpened, Body: Body{Case: &theirs}}) {
		h.rows[string(row.Key)] = row.Value
	}
	for _, c := range []Command{DefendCase{ID: theirs.ID, Justification: "j", Result: pix.Disagreed}, CloseCase{ID: theirs.ID, Result: pix.Agreed}} {
		if d := h.step(c); d.Refusal == nil || d.Refusal.Code != RefuseUnknownCase {
			t.Errorf("%T: %+v", c, d)
		}
	}
	d := h.step(OpenCase{Infraction: "inf-2", EndToEnd: endToEnd("a"), Amount: 500, Situation: "SCAM"})
	if len(d.Records) > 0 || d.Case != nil || !d.Repeat || len(d.Alerts) != 1 || d.Alerts[0].Kind != AlertContradiction {
		t.Errorf("a report that opened another account's case: %+v", d)
	}
	if h.account.Totals.MEDHeld != 500 {
		t.Errorf("%+v", h.account.Totals)
	}
}
