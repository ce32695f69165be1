package ledger

import (
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// again reports a payment a second time.
func (h *harness) again(tail string, amount pix.Amount) *Case {
	h.t.Helper()
	return h.step(OpenCase{Infraction: "again" + tail, EndToEnd: endToEnd(tail), Amount: amount, Situation: "SCAM"}).Case
}

// caseNow reads a case.
func (h *harness) caseNow(k *Case) *Case {
	h.t.Helper()
	now, err := (&gathering{Reader: h, account: h.account}).caseAt(k.Ordinal)
	if err != nil {
		h.t.Fatal(err)
	}
	return now
}

// agreed closes a case as agreed and returns the refund that is made for it.
func (h *harness) agreed(k *Case) *Transaction {
	h.t.Helper()
	d := h.step(CloseCase{ID: k.ID, Result: pix.Agreed})
	if len(d.Launch) != 1 {
		h.t.Fatalf("%d refunds: %+v", len(d.Launch), d.Case)
	}
	return d.Launch[0].Tx
}

func (h *harness) results(t *Transaction, r TransferResult, reason string) Decision {
	h.t.Helper()
	return h.step(ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Result: r, Reason: reason})
}

// TestCaseOfEarlierVersionTakes checks that a case that an earlier version opened, without a row of
// what it lacks, holds with its next record what is free of its payment.
func TestCaseOfEarlierVersionTakes(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	first, second := h.reported("a", 10_000), h.again("a", 10_000)
	delete(h.rows, string(layout.LackingKey(testAccount, second.Original, second.Ordinal)))
	h.step(CancelCase{Infraction: first.Infraction, EndToEnd: first.EndToEnd})
	if k := h.caseNow(second); k.Held != 0 {
		t.Fatalf("%+v", k)
	}
	h.step(DefendCase{ID: second.ID, Justification: "delivered", Result: pix.Disagreed})
	if k := h.caseNow(second); k.Held != 10_000 || h.account.Totals.MEDHeld != 10_000 {
		t.Errorf("%+v, all hold %d", k, h.account.Totals.MEDHeld)
	}
}

// TestLateReleaseIsTaken checks that what is released of a case which is agreed after the time for
// returns is held by the payment's undecided case, in the same decision.
func TestLateReleaseIsTaken(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.spend(10_000)
	first, second := h.reported("a", 10_000), h.again("a", 10_000)
	h.now += 91 * day
	h.step(CloseCase{ID: first.ID, Result: pix.Agreed})
	if a, b := h.caseNow(first), h.caseNow(second); a.Held != 0 || b.Held != 10_000 {
		t.Errorf("the first holds %d, the second %d", a.Held, b.Held)
	}
}

// TestRetryWithNothingHeld checks that nothing is tried again for a case whose payment the merchant
// has refunded since the engine's refund failed.
func TestRetryWithNothingHeld(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	h.results(h.agreed(k), TransferIsRejected, "AC03")
	if !h.caseNow(k).Stopped {
		t.Fatal("not stopped")
	}
	own := h.step(RequestRefund{Original: paid.ID.String(), Amount: 10_000, Reason: "MD06"}).Launch[0].Tx
	h.results(own, TransferIsSettled, "")
	if d := h.step(RetryCase{ID: k.ID, Operator: "ana"}); d.Refusal == nil || d.Refusal.Code != RefuseNotFailed || len(d.Records) > 0 {
		t.Errorf("%+v", d)
	}
}

// TestTooOldUnderDoubt checks that a refund whose id the scheme calls too old is not made anew by a
// clock that may be wrong: whether the id is too old is not known.
func TestTooOldUnderDoubt(t *testing.T) {
	for _, doubted := range []bool{false, true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		k := h.reported("a", 10_000)
		r := h.agreed(k)
		h.now += 13 * hour
		h.doubted = doubted
		d := h.results(r, TransferIsRejected, reasonTooOld)
		if k := h.caseNow(k); k.Stopped != doubted || len(d.Launch) == 1 == doubted || len(d.Alerts) == 1 != doubted {
			t.Errorf("doubted %v: %d refunds, %d alerts, %+v", doubted, len(d.Launch), len(d.Alerts), k)
		}
	}
}

// TestLimitedAfterRestore checks that a refund which the scheme refuses for now does not end with
// the time for returns while its case awaits an operator.
func TestLimitedAfterRestore(t *testing.T) {
	for _, restored := range []bool{false, true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		r := h.agreed(h.reported("a", 10_000))
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRefused, Refusal: RefuseRateLimited})
		if restored {
			h.terms.Epoch++
		}
		h.now += 91 * day
		d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsOpen, Refusal: RefuseRateLimited})
		if want := d.Tx.Status == pix.StatusAccepted; want != restored {
			t.Errorf("restored %v: %v", restored, d.Tx.Status)
		}
	}
}

// TestUnsureUntilTheLast checks that a case is not tried again while any of its failed refunds may
// still settle, whichever failed last.
func TestUnsureUntilTheLast(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	h.results(h.agreed(k), TransferIsRejected, "AC03")
	var own []*Transaction
	for range 2 {
		own = append(own, h.step(RequestRefund{Original: paid.ID.String(), Amount: 3_000, Reason: "MD06"}).Launch[0].Tx)
		h.now += hour
	}
	h.failsInDoubt(own[1])
	h.failsInDoubt(own[0])
	h.now = ExpiryOf(own[1].EndToEnd) - 1
	if d := h.step(RetryCase{ID: k.ID, Operator: "ana"}); d.Refusal == nil || d.Refusal.Code != RefuseNotFailed {
		t.Errorf("the later one may still settle: %+v", d)
	}
	h.now++
	if d := h.step(RetryCase{ID: k.ID, Operator: "ana"}); d.Refusal != nil || len(d.Launch) != 1 {
		t.Errorf("none may settle: %+v", d)
	}
}

// found are returns that the scheme has settled, for a fraud, each under an id with a suffix.
func (h *harness) found(suffixes []string, amounts ...pix.Amount) (all []Returned) {
	for i, amount := range amounts {
		all = append(all, Returned{
			ID: pix.NewTxID(h.now, [10]byte{9, byte(i)}), ReturnID: pix.ReturnID(h.terms.OwnISPB, h.now, suffixes[i]), Amount: amount, Reason: fraudCode,
		})
	}
	return all
}

// TestFoundWithoutPart checks that a found return that no part of the case explains leaves the count
// of its parts: the next refund has an id that none had before.
func TestFoundWithoutPart(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.spend(6_000)
	k := h.reported("a", 10_000)
	first := h.agreed(k)
	h.results(first, TransferIsSettled, "")
	h.terms.Epoch++
	h.step(Credit{Kind: pix.TxTED, Amount: 20_000})
	d := h.step(ResumeCase{ID: k.ID, Operator: "ana", Returned: h.found([]string{"0123456789a"}, 1_000)})
	if len(d.Launch) != 1 || d.Launch[0].Tx.Amount != 5_000 || d.Launch[0].Tx.EndToEnd[21:] == first.EndToEnd[21:] {
		t.Errorf("%+v, the first was %s", d.Launch, first.EndToEnd)
	}
	if now := h.caseNow(k); now.Parts != 2 || now.Refunded != 5_000 {
		t.Errorf("%+v", now)
	}
}

// TestFoundBeyondTheCase checks that a found return for which the case owes nothing more counts
// towards no case.
func TestFoundBeyondTheCase(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	k := h.reported("a", 6_000)
	h.terms.Epoch++
	part := (&draft{account: h.account, stamp: h.stamp()}).partSuffix(k, 1)
	d := h.step(ResumeCase{ID: k.ID, Operator: "ana", Returned: h.found([]string{part, "0123456789a"}, 6_000, 4_000)})
	var found []*Transaction
	for _, r := range d.Records {
		if r.Kind == RefundFound {
			found = append(found, r.Tx)
		}
	}
	if len(found) != 2 || found[0].Refund.Case == nil || found[1].Refund.Case != nil || found[1].Refund.Counts != nil {
		t.Errorf("%+v", found)
	}
	if now := h.caseNow(k); now.Refunded != 6_000 || now.Held != 0 || h.account.Totals.Balance != 0 {
		t.Errorf("%+v, balance %d", now, h.account.Totals.Balance)
	}
}

// TestReturnsWithForeignIDs checks that a case is not resumed while a return that the scheme names has ids that are
// another account's, or those of another return in the list, and that nothing is debited then.
func TestReturnsWithForeignIDs(t *testing.T) {
	for name, change := range map[string]func(h *harness, two []Returned){
		"their own": func(*harness, []Returned) {},
		"another account's": func(h *harness, two []Returned) {
			h.rows[string(layout.EndToEndKey(two[1].ReturnID))] = layout.EndToEndRow{Account: testAccount + 1, ID: pix.TxID{9}, Seq: 3}.Encode()
		},
		"the same id":                 func(_ *harness, two []Returned) { two[1].ID = two[0].ID },
		"the same id of the scheme's": func(_ *harness, two []Returned) { two[1].ReturnID = two[0].ReturnID },
	} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		k := h.reported("a", 6_000)
		h.terms.Epoch++
		two := h.found([]string{"0123456789a", "0123456789b"}, 1_000, 2_000)
		change(h, two)
		d := h.step(ResumeCase{ID: k.ID, Operator: "ana", Returned: two})
		if name == "their own" {
			if d.Refusal != nil || len(d.Records) == 0 {
				t.Errorf("%s: %+v and %d records", name, d.Refusal, len(d.Records))
			}
		} else if d.Refusal == nil || d.Refusal.Code != RefuseReturnOpen || !strings.Contains(d.Refusal.Message, "has the ids of something else") || len(d.Records) != 0 {
			t.Errorf("%s: %+v and %d records", name, d.Refusal, len(d.Records))
		}
	}
}

// TestResumedIsDueNow checks that a case whose deadline has passed meanwhile is due at once by the
// clock, and not by the stamps, which may be ahead of it.
func TestResumedIsDueNow(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	h.terms.Epoch++
	h.now += h.terms.MEDDeadline + hour
	if d := h.step(ResumeCase{ID: k.ID, Operator: "ana"}); d.Refusal != nil || d.Case.DueAt != h.now {
		t.Errorf("at %v: %+v", h.now, d.Case)
	}
}

// TestDuplicateIsAskedSoon checks that the scheme is asked within seconds about a refund that it has
// called a duplicate, whether the refund was held or accepted.
func TestDuplicateIsAskedSoon(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		paid := h.paid("a", 10_000)
		r := h.step(RequestRefund{Original: paid.ID.String(), Amount: 1_000, Reason: "MD06"}).Launch[0].Tx
		if accepted {
			h.results(r, TransferIsAccepted, "")
		}
		if d := h.results(r, TransferIsRejected, ReasonDuplicate); d.Tx.Status != pix.StatusAccepted || !d.Tx.Transfer.Doubt || d.Tx.Transfer.DueAt != h.now+doubtAgain {
			t.Errorf("accepted before %v: %v, due in %d ms", accepted, d.Tx.Status, d.Tx.Transfer.DueAt-h.now)
		}
	}
}
