package ledger

import (
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestApplyRefunds checks that a record about a refund or a case which cannot follow the
// account's newest record is an error: wrong sums, wrong totals, or parts that do not belong
// to its kind.
func TestApplyRefunds(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 10_000, Key: "k"})
	refund := h.step(RequestRefund{Original: endToEnd("a"), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	h.step(ResolveTransfer{ID: refund.ID, EndToEnd: refund.EndToEnd, Result: TransferIsSettled})
	k := h.step(OpenCase{Infraction: "inf-1", EndToEnd: endToEnd("a"), Amount: 500, Situation: "SCAM"}).Case
	h.step(CloseCase{ID: k.ID, Result: pix.Agreed})
	for _, v := range []struct {
		name  string
		kind  RecordKind
		spoil func(r *Record)
		says  string
	}{
		{"more in flight than was received", RefundHeld, func(r *Record) { r.Sums.InFlight = 10_001 }, "more refunded and held than was received"},
		{"more settled", RefundSettled, func(r *Record) { r.Sums.Settled = 10_001 }, "more refunded and held than was received"},
		{"more held", CaseOpened, func(r *Record) { r.Sums.Held = 9001 }, "more refunded and held than was received"},
		{"settled below zero", RefundSettled, func(r *Record) { r.Sums.Settled = -1 }, "below zero"},
		{"in flight below zero", RefundSettled, func(r *Record) { r.Sums.InFlight = -1 }, "below zero"},
		{"held below zero", CaseOpened, func(r *Record) { r.Sums.Held = -1 }, "below zero"},
		{"excess below zero", CaseOpened, func(r *Record) { r.Sums.Excess = -1 }, "below zero"},
		{"no sums", RefundHeld, func(r *Record) { r.Sums = nil }, "refund sums where none belong"},
		{"sums of no use", RefundAccepted, func(r *Record) { r.Sums = &layout.RefundSums{} }, "refund sums where none belong"},
		{"no case", CaseOpened, func(r *Record) { r.Case = nil }, "a case where none belongs"},
		{"a case of no use", RefundHeld, func(r *Record) { r.Case = k }, "a case where none belongs"},
		{"a transaction of no use", CaseOpened, func(r *Record) { r.Tx = refund }, "a transaction where none belongs"},
		{"another hold", CaseWasClosed, func(r *Record) { c := *r.Case; c.Held++; r.Case = &c }, "totals"},
		{"more in the hold than in the sums", CaseOpened, func(r *Record) { c := *r.Case; c.Held++; r.Case = &c }, "before it: a sum of refunds below zero"},
		{"less in flight than the refund", RefundHeld, func(r *Record) { r.Sums.InFlight-- }, "before it: a sum of refunds below zero"},
		{"less settled than the refund", RefundSettled, func(r *Record) { r.Sums.Settled-- }, "before it: a sum of refunds below zero"},
		{"another payment's refund sums", RefundHeld, func(r *Record) { r.Sums.Original[15]++ }, "of another payment"},
		{"another payment's case sums", CaseOpened, func(r *Record) { r.Sums.Original[15]++ }, "of another payment"},
		{"sums of another amount", RefundHeld, func(r *Record) { r.Sums.Amount++ }, "of another payment"},
		{"held beyond the payment", CaseOpened, func(r *Record) { r.Sums.Held, r.Sums.Excess = 9001, 1 }, "more refunded and held than was received"},
		{"another hold before", CaseWasClosed, func(r *Record) { r.HeldWas++ }, "totals"},
		{"another debt before", CaseRefunding, func(r *Record) { r.OwedWas++ }, "totals"},
		{"another ordinal", CaseOpened, func(r *Record) { c := *r.Case; c.Ordinal++; r.Case = &c }, "totals"},
		{"more owed than held", CaseWasClosed, func(r *Record) { r.OwedWas -= 501; r.Totals.Owed += 501 }, "a hold below zero"},
		{"owed below zero", CaseRefunding, func(r *Record) { r.OwedWas++; r.Totals.Owed-- }, "a hold below zero"},
		{"held of cases below zero", CaseRefunding, func(r *Record) { r.HeldWas++; r.Totals.MEDHeld-- }, "a hold below zero"},
		{"a later record before it", CaseWasClosed, func(r *Record) { r.Prev = r.Seq }, "as the one before it"},
	} {
		again := &Account{ID: testAccount}
		for i := range h.records {
			r := h.records[i]
			if r.Kind != v.kind {
				if err := again.Apply(&r); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if r.Sums != nil {
				sums := *r.Sums
				r.Sums = &sums
			}
			v.spoil(&r)
			if err := again.Apply(&r); err == nil || !strings.Contains(err.Error(), v.says) {
				t.Errorf("%s: %v, want %q", v.name, err, v.says)
			}
			break
		}
	}
}

// TestRefundTasks checks what a due task about a refund learns from its child actor's report:
// whether the scheme was heard, and whether the refund is still open.
func TestRefundTasks(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.step(ReceivePayment{EndToEnd: endToEnd("a"), Amount: 10_000, Key: "k"})
	refund := h.step(RequestRefund{Original: endToEnd("a"), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	for n, v := range []struct {
		result        TransferResult
		doubt         bool
		open, unheard bool
	}{
		{TransferIsAccepted, true, false, false}, // the refund is accepted in doubt
		{TransferIsNotHeard, false, false, true},
		{TransferIsOpen, false, true, false},
		{TransferIsAccepted, true, true, false},   // sent again, and in doubt again
		{TransferIsAccepted, false, false, false}, // the doubt is over
		{TransferIsAccepted, false, true, false},
		{TransferIsSettled, false, false, false},
	} {
		d := h.step(ResolveTransfer{ID: refund.ID, EndToEnd: refund.EndToEnd, Result: v.result, Doubt: v.doubt})
		if a := d.Attended; a == nil || a.Open != v.open || a.Unheard != v.unheard || a.Rarely || d.Ended == nil {
			t.Errorf("report %d, %v: %+v", n, v.result, d.Attended)
		}
	}
}

// TestVoidedTooEarly checks that a payout that is not to be voided yet, and of which the scheme knows
// nothing, stays open for its due task.
func TestVoidedTooEarly(t *testing.T) {
	h := open(t, 10_000)
	tx := h.step(RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}).Launch[0].Tx
	h.step(ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: TransferIsSending})
	h.step(ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: TransferIsAccepted, Doubt: true})
	d := h.step(ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: TransferIsVoided})
	if len(d.Records) != 0 || d.Ended == nil || d.Ended.Status != pix.StatusAccepted || *d.Attended != (Attended{Open: true}) {
		t.Errorf("%+v %+v", d.Ended, d.Attended)
	}
}

// TestCaseRefundTasksAreRare checks that the tasks of a special-return case's refund that still
// waits are rare, whatever its child actor reports, and that those of a payout are not.
func TestCaseRefundTasksAreRare(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 10_000)
	h.paid("a", 10_000)
	refund := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
	payout := h.step(RequestPayout{Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}).Launch[0].Tx
	h.step(ResolveTransfer{ID: payout.ID, EndToEnd: payout.EndToEnd, Result: TransferIsSending})
	for of, rarely := range map[*Transaction]bool{refund: true, payout: false} {
		h.step(ResolveTransfer{ID: of.ID, EndToEnd: of.EndToEnd, Result: TransferIsAccepted, Doubt: true})
		for _, result := range []TransferResult{TransferIsNotHeard, TransferIsOpen} {
			d := h.step(ResolveTransfer{ID: of.ID, EndToEnd: of.EndToEnd, Result: result})
			if a := d.Attended; a == nil || a.Rarely != rarely || !a.Open && !a.Unheard {
				t.Errorf("%v, result %v: %+v", of.Kind, result, d.Attended)
			}
		}
	}
}
