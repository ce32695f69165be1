package ledger

import (
	"fmt"
	"math"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// spend pays an amount out of the account.
func (h *harness) spend(amount pix.Amount) *Transaction {
	h.t.Helper()
	p := h.step(RequestPayout{Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}).Launch[0].Tx
	h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: TransferIsSettled})
	return p
}

// unsure makes a refund that fails although the scheme may have it.
func (h *harness) unsure(of *Transaction, amount pix.Amount) *Transaction {
	h.t.Helper()
	r := h.step(RequestRefund{Original: of.ID.String(), Amount: amount, Reason: "MD06"}).Launch[0].Tx
	h.failsInDoubt(r)
	return r
}

// failsInDoubt has a refund refused whose first submit the scheme may have.
func (h *harness) failsInDoubt(r *Transaction) {
	h.t.Helper()
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted, Doubt: true})
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRefused, Refusal: RefuseProvider})
}

// TestRefundsWholeCentavos checks that a part of what a case is owed is rounded down to whole
// centavos, and that no centavo is lost once there is money again.
func TestRefundsWholeCentavos(t *testing.T) {
	h := newHarness(t)
	s := DefaultSettings()
	s.CashInFee = Fee{BPS: 99}
	h.open(s, 0)
	h.paid("a", 12_300) // less the fee: 12,178
	k := h.reported("a", 12_300)
	var refunded []pix.Amount
	take := func(d Decision) {
		for _, l := range d.Launch {
			refunded = append(refunded, l.Tx.Amount)
		}
	}
	take(h.step(CloseCase{ID: k.ID, Result: pix.Agreed}))
	take(h.step(Credit{Kind: pix.TxTED, Amount: 21})) // 99 base units are less than one centavo
	take(h.step(Credit{Kind: pix.TxTED, Amount: 1}))
	take(h.step(Credit{Kind: pix.TxTED, Amount: 500}))
	if got := fmt.Sprint(refunded); got != "[12100 100 100]" {
		t.Errorf("refunds of %s", got)
	}
}

// TestPartOfCentavoIsNotTheNextCases checks that what rounding leaves of an older case's money
// does not cover a newer case.
func TestPartOfCentavoIsNotTheNextCases(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 1000)
	h.paid("b", 1000)
	first, second := h.reported("a", 1000), h.reported("b", 1000)
	h.account.Totals.Balance = 1050
	h.step(CloseCase{ID: first.ID, Result: pix.Agreed})
	if d := h.step(CloseCase{ID: second.ID, Result: pix.Agreed}); len(d.Launch) != 0 || d.Case.Covered != 50 {
		t.Errorf("%d refunds, %+v", len(d.Launch), d.Case)
	}
}

// TestManyCasesThatAreNotOwed checks that money is kept for all older cases, however many.
func TestManyCasesThatAreNotOwed(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	const n = 3 * maxRefunds
	var newest *Case
	for i := range n {
		h.paid(fmt.Sprint("c", i), 1000)
		newest = h.reported(fmt.Sprint("c", i), 1000)
	}
	h.account.Totals.Balance -= 500
	if d := h.step(CloseCase{ID: newest.ID, Result: pix.Agreed}); len(d.Launch) != 1 || d.Launch[0].Tx.Amount != 500 {
		t.Errorf("%d refunds, %+v", len(d.Launch), d.Case)
	}
	if d := h.step(Credit{Kind: pix.TxTED, Amount: 500}); len(d.Launch) != 1 || d.Launch[0].Tx.Amount != 500 {
		t.Errorf("%d refunds after a credit", len(d.Launch))
	}
}

// TestNewerCasesAreNotRead checks that a decision reads no cases beyond the newest that is
// owed money.
func TestNewerCasesAreNotRead(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	const n = 50
	var oldest *Case
	for i := range n {
		h.paid(fmt.Sprint("c", i), 1000)
		if k := h.reported(fmt.Sprint("c", i), 1000); i == 0 {
			oldest = k
		}
	}
	h.account.Totals.Balance = 500
	h.step(CloseCase{ID: oldest.ID, Result: pix.Agreed})
	f, err := Gather(h, h.account, Credit{Kind: pix.TxTED, Amount: 10_000}, h.stamp())
	if err != nil || len(f.cases.Holding) != 1 || len(f.cases.Owing) != 1 {
		t.Errorf("%d cases read, %d owed (%v)", len(f.cases.Holding), len(f.cases.Owing), err)
	}
}

// TestLateRefundShrinksCases checks that a refund which settles although it had failed makes
// the holds of its payment's cases smaller, the newest first: the payment goes back once.
func TestLateRefundShrinksCases(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	h.paid("b", 10_000)
	r := h.unsure(paid, 7_000)
	other := h.reported("b", 10_000)
	first := h.reported("a", 4_000)
	second := h.step(OpenCase{Infraction: "again", EndToEnd: endToEnd("a"), Amount: 9_000, Situation: "SCAM"}).Case
	if second.Held != 6_000 {
		t.Fatalf("%+v", second)
	}
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	for _, c := range []struct {
		of   *Case
		held pix.Amount
	}{{other, 10_000}, {first, 3_000}, {second, 0}} {
		k, err := (&gathering{Reader: h, account: h.account}).caseAt(c.of.Ordinal)
		if err != nil || k.Held != c.held || k.Status != pix.CaseOpen || k.DueAt != k.DeadlineAt {
			t.Errorf("%+v, should hold %d (%v)", k, c.held, err)
		}
	}
	if sums, err := (&gathering{Reader: h, account: h.account}).readSums(paid.ID, paid.Amount); err != nil || sums.Excess != 0 || sums.Left() != 0 {
		t.Errorf("%+v (%v)", sums, err)
	}
	var back pix.Amount
	for _, k := range []*Case{first, second} {
		for _, l := range h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Launch {
			back += l.Tx.Amount
		}
	}
	if back != 3_000 {
		t.Errorf("%d of the 3,000 that are left go back", back)
	}
}

// TestRestoredSettlementShrinksCase checks that a refund which the journal has as rejected, and of which the scheme tells a
// restored account that it settled, takes its amount off what a case holds: the payment goes back once.
func TestRestoredSettlementShrinksCase(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	r := h.step(RequestRefund{Original: paid.ID.String(), Amount: 7_000, Reason: "MD06"}).Launch[0].Tx
	h.results(r, TransferIsRejected, "AC03")
	k := h.reported("a", 10_000)
	h.step(FindRefund{ID: r.ID, ReturnID: r.EndToEnd, Original: paid.EndToEnd, Amount: r.Amount, Code: r.Refund.Code, Result: TransferIsSettled})
	if now := h.caseNow(k); now.Held != 3_000 || h.account.Totals.MEDHeld != 3_000 || h.account.Totals.Balance != 3_000 {
		t.Errorf("%+v, %+v", now, h.account.Totals)
	}
}

// TestCaseRestoredAfterLateRefund checks that a case does not get back the amount of its failed
// refund where the payment went back otherwise meanwhile.
func TestCaseRestoredAfterLateRefund(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	r := h.unsure(paid, 10_000)
	k := h.reported("a", 10_000)
	own := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Launch[0].Tx
	h.step(Credit{Kind: pix.TxTED, Amount: 50_000})
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	h.step(ResolveTransfer{ID: own.ID, EndToEnd: own.EndToEnd, Notice: true, Result: TransferIsRejected, Reason: "AC03"})
	if at := h.account.Totals; at.MEDHeld != 0 || at.Held != 0 || at.Balance != 50_000 {
		t.Errorf("%+v", at)
	}
	for key := range h.rows {
		if layout.RowName([]byte(key)) == "due" {
			t.Errorf("a case that holds nothing has the due row %x", key)
		}
	}
}

// TestTooOldRefundIsMadeAgain checks that a refund for a case whose id became too old while
// the scheme could not be reached is made again under a new id. Where the id is not too old by
// the engine's clock, the clocks differ, and no further refund is made.
func TestTooOldRefundIsMadeAgain(t *testing.T) {
	for after, again := range map[pix.Millis]int{13 * 3_600_000: 1, 3_600_000: 0} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		r := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
		h.now += after
		d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: "FF08"})
		if len(d.Launch) != again || len(d.Alerts) != 1-again {
			t.Errorf("after %d ms: %d refunds, %d alerts", after, len(d.Launch), len(d.Alerts))
		}
		for _, l := range d.Launch {
			if l.Tx.EndToEnd == r.EndToEnd || l.Tx.Amount != r.Amount || *l.Tx.Refund.Case != *r.Refund.Case || l.Goal != GoalPay {
				t.Errorf("after %d ms: %+v", after, l.Tx)
			}
		}
	}
}

// TestTooOldRefundInDoubt checks that a refund for a case is not made again while the scheme may
// have an earlier submit of it, and that this submit's settlement is booked.
func TestTooOldRefundInDoubt(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.paid("b", 10_000)
	r := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted, Doubt: true})
	h.now += 13 * 3_600_000
	if d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: "FF08"}); len(d.Launch) != 0 || len(d.Alerts) != 1 {
		t.Errorf("%d refunds, %d alerts", len(d.Launch), len(d.Alerts))
	}
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	if at := h.account.Totals; at.Balance != 10_000 || at.MEDHeld != 0 {
		t.Errorf("%+v", at)
	}
}

// TestTwoLateRefunds checks that a case whose own refund settles late, after another one has,
// takes that off its hold once.
func TestTwoLateRefunds(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	other := h.unsure(paid, 7_000)
	own := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
	h.failsInDoubt(own)
	h.step(Credit{Kind: pix.TxTED, Amount: 50_000})
	h.step(ResolveTransfer{ID: other.ID, EndToEnd: other.EndToEnd, Notice: true, Result: TransferIsSettled})
	if at := h.account.Totals; at.MEDHeld != 3_000 {
		t.Errorf("after the first: %+v", at)
	}
	h.step(ResolveTransfer{ID: own.ID, EndToEnd: own.EndToEnd, Notice: true, Result: TransferIsSettled})
	if at := h.account.Totals; at.MEDHeld != 0 || at.Balance != 43_000 {
		t.Errorf("after both: %+v", at)
	}
}

// TestRejectedRefundIsNotVoided checks that only a payout can be voided: the reason of a
// refund's rejection comes from the scheme, whatever it says.
func TestRejectedRefundIsNotVoided(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 1000)
	r := h.step(RequestRefund{Original: paid.ID.String(), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsRejected, Reason: ReasonVoided})
	d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
	if len(d.Records) != 0 || len(d.Alerts) != 1 || d.Alerts[0].Kind != AlertContradiction {
		t.Errorf("%d records, %+v", len(d.Records), d.Alerts)
	}
}

// TestReleasedHoldPaysNewerCase checks that the money that an older case gives up is refunded
// for a newer one at once, although the older one had all of it.
func TestReleasedHoldPaysNewerCase(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.paid("b", 5_000)
	h.spend(5_000)
	older, newer := h.reported("a", 10_000), h.reported("b", 5_000)
	if d := h.step(CloseCase{ID: newer.ID, Result: pix.Agreed}); len(d.Launch) != 0 {
		t.Errorf("%d refunds of money that the older case holds", len(d.Launch))
	}
	if d := h.step(CloseCase{ID: older.ID, Result: pix.Disagreed}); len(d.Launch) != 1 || d.Launch[0].Tx.Amount != 5_000 {
		t.Errorf("%d refunds of money that is there", len(d.Launch))
	}
}

// TestFailedRefundPassesNoOlderCase checks that what comes back to a case, because a merchant's refund for it fails, is not
// refunded with money that older cases hold.
func TestFailedRefundPassesNoOlderCase(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 1_000)
	h.paid("b", 1_000)
	paid := h.paid("c", 10_000)
	h.reported("a", 1_000)
	h.reported("b", 1_000)
	k := h.reported("c", 10_000)
	h.results(h.agreed(k), TransferIsRejected, "AC03")
	own := h.step(RequestRefund{Original: paid.ID.String(), Amount: 4_000, Reason: "MD06"}).Launch[0].Tx
	rest := h.step(RetryCase{ID: k.ID, Operator: "ana"}).Launch[0].Tx
	h.results(rest, TransferIsSettled, "")
	h.account.Totals.Balance -= 1_500 // of the 4,500 that are left, the older cases hold 2,000
	d := h.results(own, TransferIsRejected, "AC03")
	if len(d.Launch) != 1 || d.Launch[0].Tx.Amount != 2_500 {
		t.Errorf("refunds %+v, %+v", d.Launch, h.caseNow(k))
	}
}

// TestStoppedCaseStaysStopped checks that a case of which one refund was rejected gets no other,
// also where a second refund only had an id that was too old.
func TestStoppedCaseStaysStopped(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.spend(6_000)
	first := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
	second := h.step(Credit{Kind: pix.TxTED, Amount: 6_000}).Launch[0].Tx
	h.now += 13 * 3_600_000
	h.step(ResolveTransfer{ID: first.ID, EndToEnd: first.EndToEnd, Result: TransferIsRejected, Reason: "DT05"})
	d := h.step(ResolveTransfer{ID: second.ID, EndToEnd: second.EndToEnd, Result: TransferIsRejected, Reason: "FF08"})
	if len(d.Launch) != 0 || len(d.Alerts) != 1 || h.account.Totals.Owed != 0 || h.account.Totals.MEDHeld != 10_000 {
		t.Errorf("%d refunds, %d alerts, %+v", len(d.Launch), len(d.Alerts), h.account.Totals)
	}
}

// TestTooOldByTheClock checks that a refund's id is too old by the clock and not by the time of
// the newest record, which an earlier process with a fast clock may have left.
func TestTooOldByTheClock(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	r := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed}).Launch[0].Tx
	h.now += 13 * 3_600_000
	h.behind = 12 * 3_600_000
	if d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: "FF08"}); len(d.Launch) != 0 {
		t.Error("made again although its id is not too old by the clock")
	}
}

// TestRefusedLateRefundChangesNothing checks that a late settlement which does not fit the
// balance leaves the cases of its payment as they were.
func TestRefusedLateRefundChangesNothing(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	r := h.unsure(paid, 10_000)
	h.step(CloseCase{ID: h.reported("a", 4_000).ID, Result: pix.Agreed})
	h.step(OpenCase{Infraction: "again", EndToEnd: endToEnd("a"), Amount: 6_000, Situation: "SCAM"})
	h.account.Totals.Balance = math.MinInt64 + 5
	h.account.Totals.Owed, h.account.Totals.MEDHeld = 1, 6_001 // something is owed elsewhere
	d, err := h.try(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled}, false)
	if err != nil || d.Refusal == nil || d.Refusal.Code != RefuseOverflow || len(d.Records) != 0 || len(d.Launch) != 0 || len(d.Alerts) != 0 {
		t.Errorf("%+v (%v)", d, err)
	}
}

// TestRefundUnderShortMoney checks what a merchant may refund of a payment whose case has stopped, where the account has less
// than all cases hold: what the money covers of the case, as the engine may; and nothing that an older case holds.
func TestRefundUnderShortMoney(t *testing.T) {
	for name, c := range map[string]struct {
		balance pix.Amount // of the 20,000 that were received
		older   bool       // the other case is older than the one that stopped
		lately  bool       // the other case's hold was released, and that is not durable
		amount  pix.Amount
		want    RefusalCode
	}{
		"beside a newer case":              {10_000, false, false, 10_000, 0},
		"a part, as far as there is money": {5_000, false, false, 5_000, 0},
		"more than there is money":         {5_000, false, false, 5_001, RefuseSafeBalance},
		"behind an older case":             {15_000, true, false, 5_000, 0},
		"what an older case holds":         {15_000, true, false, 5_001, RefuseSafeBalance},
		"what an older case held":          {15_000, true, true, 5_001, RefuseSafeBalance},
		"less than an older case held":     {15_000, true, true, 5_000, 0},
		"nothing is left":                  {10_000, true, false, 1, RefuseSafeBalance},
		"more than the payment":            {5_000, false, false, 10_001, RefuseOverRefund},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.open(DefaultSettings(), 0)
			a := h.paid("a", 10_000)
			h.paid("b", 10_000)
			var other *Case
			if c.older {
				other = h.reported("b", 10_000)
			}
			stopped := h.reported("a", 10_000)
			r := h.step(CloseCase{ID: stopped.ID, Result: pix.Agreed}).Launch[0].Tx
			h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted})
			h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: "AC03"})
			if !c.older {
				h.reported("b", 10_000)
			}
			h.account.Totals.Balance = c.balance // a payout that was voided has settled
			if c.lately {
				durable := h.account.Totals
				h.step(CloseCase{ID: other.ID, Result: pix.Disagreed})
				h.durable = &durable
			}
			d := h.step(RequestRefund{Original: a.ID.String(), Amount: c.amount, Reason: "MD06"})
			if got := d.Refusal; (got == nil) != (c.want == 0) || got != nil && got.Code != c.want {
				t.Errorf("%+v, %+v", got, h.account.Totals)
			}
		})
	}
}
