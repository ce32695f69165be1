package ledger

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

func (h *harness) paid(tail string, amount pix.Amount) *Transaction {
	return h.step(ReceivePayment{EndToEnd: endToEnd(tail), Amount: amount, Key: "k"}).Tx
}

func (h *harness) reported(tail string, amount pix.Amount) *Case {
	return h.step(OpenCase{Infraction: "i" + tail, EndToEnd: endToEnd(tail), Amount: amount, Situation: "SCAM"}).Case
}

// TestReturnCoversCases checks that money that comes back pays all cases that it covers, not
// the oldest alone.
func TestReturnCoversCases(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 1000)
	h.paid("b", 1000)
	p := h.spend(2000)
	for _, tail := range []string{"a", "b"} {
		h.step(CloseCase{ID: h.reported(tail, 1000).ID, Result: pix.Agreed})
	}
	d := h.step(ReceiveReturn{ID: p.ID, EndToEnd: p.EndToEnd, ReturnID: "D" + endToEnd("r")[1:], Amount: 2000, Reason: "MD06"})
	if len(d.Launch) != 2 || h.account.Totals.Owed != 0 {
		t.Errorf("%d refunds, %+v", len(d.Launch), h.account.Totals)
	}
}

// TestOverdueRefundRefused checks that an overdue refund whose resubmission is refused may
// have been carried out: the settlement that comes after all is debited.
func TestOverdueRefundRefused(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	o := h.paid("a", 1000)
	r := h.step(RequestRefund{Original: o.ID.String(), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted})
	h.now += h.terms.OrphanAfter
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRefused, Refusal: RefuseProvider})
	d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	if len(d.Records) != 1 || h.account.Totals.Balance != 0 {
		t.Errorf("%d records, %+v", len(d.Records), h.account.Totals)
	}
}

// TestRefundedAfterRelease checks that a case's refund that settles after the case has released
// its money counts as refunded.
func TestRefundedAfterRelease(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 1000)
	k := h.reported("a", 1000)
	r := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Launch[0].Tx
	h.failsInDoubt(r)
	h.now += 91 * day
	h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)})
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	if c := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Case; c.Refunded != 1000 || c.Held != 0 {
		t.Errorf("%+v", c)
	}
}

// TestUnseenCaseDeadline checks how long the merchant of an open case has that goes on without an operator: a day, or the
// service's own time where that is less, and never less than before.
func TestUnseenCaseDeadline(t *testing.T) {
	for name, c := range map[string]struct{ service, before, want pix.Millis }{
		"a day":                   {5 * day, -1, day},
		"the service's own time":  {1_000, -1, 1_000},
		"more than a day is left": {5 * day, 2 * day, 2 * day},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.open(DefaultSettings(), 0)
			h.terms.MEDDeadline = 5 * day
			h.paid("a", 50_000)
			k := h.reported("a", 10_000)
			h.terms.MEDDeadline, h.terms.Epoch, h.terms.GapEnd = c.service, 1, h.now+h.ahead
			h.now = k.DeadlineAt - c.before
			got := h.step(ResumeCase{ID: k.ID, Operator: "catch-up", Unseen: true}).Case
			if got.DeadlineAt != h.now+c.want || got.DueAt != got.DeadlineAt {
				t.Errorf("deadline %v, due %v, want %v", got.DeadlineAt, got.DueAt, h.now+c.want)
			}
		})
	}
}

// TestAgreedAwaitingAlert checks that an agreed case from before a restore raises an alert where it holds money that
// nobody refunds, and none where all the money is already on its way back.
func TestAgreedAwaitingAlert(t *testing.T) {
	for refunded, alerts := range map[pix.Amount]int{0: 1, 1000: 0} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		o := h.paid("a", 1000)
		if refunded != 0 {
			h.step(RequestRefund{Original: o.ID.String(), Amount: refunded, Reason: "MD06"})
		}
		k := h.reported("a", 1000)
		h.terms.Epoch++
		d := h.step(CloseCase{ID: k.ID, Result: pix.Agreed})
		if got := h.caseNow(k); len(d.Alerts) != alerts || !got.Awaits || got.Held != 1000-refunded || got.DueAt == 0 {
			t.Errorf("%d refunded before: alerts %+v, case %+v", refunded, d.Alerts, got)
		}
	}
}

// TestReceiptKey checks that a payment without a charge names the PIX key it was paid to.
func TestReceiptKey(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	got := h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 1000, Key: "loja@example.com", TxID: "Order7"}).Tx
	if got.Kind != pix.TxReceipt || got.Receipt.Key != "loja@example.com" || got.Receipt.Txid != "Order7" {
		t.Errorf("%+v", got)
	}
}
