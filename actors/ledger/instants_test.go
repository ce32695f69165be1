package ledger

import (
	"encoding/binary"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestInstantsOfARestore checks that what happened in the very millisecond of a restore counts as from before it.
func TestInstantsOfARestore(t *testing.T) {
	terms := Terms{RestoredAt: 100, MEDDeadline: 2 * day}
	for _, c := range []struct {
		at    pix.Millis
		until pix.Millis
	}{{99, 100 + day}, {100, 100 + day}, {101, 0}} {
		if got := terms.defendableUntil(&Case{OpenedAt: c.at}); got != c.until {
			t.Errorf("a case of %d may be defended until %d, want %d", c.at, got, c.until)
		}
		old := c.until != 0
		if got := terms.restoredSince(&Transaction{ID: pix.NewTxID(c.at, [10]byte{})}); got != old {
			t.Errorf("restored since %d: %v", c.at, got)
		}
		part := PayoutPart{OwnEndToEnd: true, Released: c.at}
		waits := Transaction{ID: pix.NewTxID(50, [10]byte{}), Status: pix.StatusQueued, Payout: part}
		if got := terms.Holds(&waits); got != old {
			t.Errorf("a payout let go at %d is held: %v", c.at, got)
		}
	}
}

// TestWhenMoneyMoved checks that a payout's repeat window is counted from its late settlement where there was one.
func TestWhenMoneyMoved(t *testing.T) {
	p := Transaction{ID: pix.NewTxID(10, [10]byte{}), BookedAt: 20, Transfer: TransferPart{LateAt: 30}}
	if got := p.MovedAt(pix.At(40)); got != 30 {
		t.Errorf("moved at %d", got)
	}
}

// TestEventsOfADoubtedCase checks that the events of a case that was opened under doubt count from the start of the process.
func TestEventsOfADoubtedCase(t *testing.T) {
	for doubted, want := range map[bool]pix.Millis{false: 5, true: 10} {
		r := Record{Time: 5, Body: Body{Case: &Case{Doubted: doubted}}}
		if got := r.EventsSince(pix.Reading{Time: 20, Clock: 20, Start: 10}); got != want {
			t.Errorf("doubted %v: since %d, want %d", doubted, got, want)
		}
	}
}

// TestDefenceIsStamped checks that a defence has the time of its record, which is never earlier than the case's opening.
func TestDefenceIsStamped(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	d := h.step(DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed})
	if at := d.Case.Defense.SubmittedAt; at != h.now+h.ahead || at < d.Case.OpenedAt {
		t.Errorf("submitted at %v, opened at %v", at, d.Case.OpenedAt)
	}
}

// asked is a harness that notes the hours in which an earlier claim is looked for.
type asked struct {
	*harness
	from, to []pix.Millis
}

func (a *asked) Claim(key []byte, from, to pix.Millis) ([]byte, bool, error) {
	a.from, a.to = append(a.from, from), append(a.to, to)
	return a.harness.Claim(key, from, to)
}

// TestClaimsOfAWholeDay checks that a claim is looked for in the whole 24 h before it, in two days without a gap.
func TestClaimsOfAWholeDay(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	a := &asked{harness: h}
	h.start = h.now - 2*day
	s := h.stamp()
	s.Clock = s.Time
	claim := &Claim{Scope: [16]byte{1}}
	if _, err := Gather(a, h.account, Recall{claim}, s); err != nil {
		t.Fatal(err)
	}
	if len(a.from) != 2 || a.to[0] != s.Time || a.from[0] != a.to[1]+1 || a.from[1] != s.Time-day {
		t.Errorf("looked for from %v to %v, at %v", a.from, a.to, s.Time)
	}
}

// TestReturnOfAnotherAccount checks that a return whose id was credited to another account is not credited again.
func TestReturnOfAnotherAccount(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 1_000)
	p := h.step(RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}).Launch[0].Tx
	h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: TransferIsSettled})
	id := "D" + endToEnd("r")[1:]
	h.rows[string(layout.ReceivedKey(id, testAccount+1))] = layout.SeqRow(1)
	d := h.step(ReceiveReturn{ID: p.ID, EndToEnd: p.EndToEnd, ReturnID: id, Amount: 100, Reason: "MD06"})
	if len(d.Records) > 0 || len(d.Alerts) != 1 || d.Alerts[0].Kind != AlertContradiction || h.account.Totals.Balance != 900 {
		t.Errorf("%d records, alerts %+v, %+v", len(d.Records), d.Alerts, h.account.Totals)
	}
}

// TestRejectedAfterVoid checks that a rejection ends the time in which a voided or refused payout may settle, except a
// rejection as a duplicate, after which the first submit may settle still.
func TestRejectedAfterVoid(t *testing.T) {
	for _, refused := range []bool{false, true} {
		for reason, ends := range map[string]bool{"AC03": true, ReasonDuplicate: false} {
			h := newHarness(t)
			h.open(DefaultSettings(), 1_000)
			p := h.step(RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}).Launch[0].Tx
			report := func(r ResolveTransfer) *Transaction {
				r.ID, r.EndToEnd = p.ID, p.EndToEnd
				return h.step(r).Tx
			}
			report(ResolveTransfer{Result: TransferIsAccepted, Doubt: true})
			if refused {
				report(ResolveTransfer{Result: TransferIsRefused, Refusal: RefuseKeyNotFound})
			} else {
				h.now += h.terms.OrphanAfter + h.ahead
				report(ResolveTransfer{Result: TransferIsVoided})
			}
			x := report(ResolveTransfer{Result: TransferIsRejected, Reason: reason})
			if x.Status != pix.StatusFailed || x.Voided() == ends {
				t.Errorf("refused %v, then rejected with %s: %v, may settle %v", refused, reason, x.Status, x.Voided())
			}
		}
	}
}

// TestResumedDefence checks that a defended case which an operator lets go on is due at the end of the time for its analysis.
func TestResumedDefence(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	h.step(DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed})
	h.terms.Epoch++
	if d := h.step(ResumeCase{ID: k.ID, Operator: "ana"}); d.Case == nil || d.Case.DueAt != k.AnalysisAt {
		t.Errorf("due %+v, want %v", d.Case, k.AnalysisAt)
	}
}

// TestPaymentAcrossAGap checks that a case about a payment which was sent before an accepted gap, and booked after it, awaits an
// operator: the payment may have been refunded in the gap.
func TestPaymentAcrossAGap(t *testing.T) {
	for gapEnd, awaits := range map[pix.Millis]bool{startOfTest: false, startOfTest + 1: true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.terms.Epoch, h.terms.GapEnd = 1, gapEnd
		paid := h.paid("a", 10_000)
		if sent := minuteOf(paid.EndToEnd); sent != startOfTest || paid.BookedAt <= gapEnd {
			t.Fatalf("sent at %v, booked at %v", sent, paid.BookedAt)
		}
		d := h.step(CloseCase{ID: h.reported("a", 10_000).ID, Result: pix.Agreed})
		if d.Case.Awaits != awaits || len(d.Launch) == 0 != awaits {
			t.Errorf("gap until %v: %d refunds, %+v", gapEnd, len(d.Launch), d.Case)
		}
	}
}

// returned is the id of the refund that is a part of a case.
func (h *harness) returned(k *Case, part uint64) string {
	suffix := pix.RefundSuffix(h.terms.Secret, testAccount, k.ID[:], binary.BigEndian.AppendUint64(nil, part))
	return pix.ReturnID(h.terms.OwnISPB, h.now, suffix)
}

// TestFoundRefundFailsAfterDisagreement checks that a case which was decided for the merchant holds nothing again when a
// refund for it that was found after a restore fails.
func TestFoundRefundFailsAfterDisagreement(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	p := h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	f := FindRefund{
		ID: pix.NewTxID(h.now, [10]byte{9}), ReturnID: h.returned(k, 1), Original: p.EndToEnd, Amount: 4_000, Code: fraudCode,
		Result: TransferIsAccepted,
	}
	h.step(f)
	h.step(CloseCase{ID: k.ID, Result: pix.Disagreed})
	h.step(ResolveTransfer{ID: f.ID, EndToEnd: f.ReturnID, Result: TransferIsRejected, Reason: "AC03"})
	if now := h.account.Totals; now.MEDHeld != 0 || now.Held != 0 || now.Available() != 10_000 {
		t.Errorf("%+v", now)
	}
}

// TestFoundRefundOfTheWholePayment checks that a rejected refund of a whole payment which the journal lacks is booked as failed.
func TestFoundRefundOfTheWholePayment(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	p := h.paid("a", 10_000)
	d := h.step(FindRefund{
		ID: pix.NewTxID(h.now, [10]byte{9}), ReturnID: "D" + endToEnd("r")[1:], Original: p.EndToEnd, Amount: 10_000,
		Code: "MD06", Result: TransferIsRejected, Reason: "AC03",
	})
	if d.Tx == nil || d.Tx.Status != pix.StatusFailed || d.Tx.ReasonCode != "AC03" {
		t.Errorf("%+v", d.Tx)
	}
}

// TestFarthestPartOfACase checks which ids of a case's refunds are known as such after a restore: up to 256 parts beyond
// those in the journal.
func TestFarthestPartOfACase(t *testing.T) {
	for part, want := range map[uint64]uint64{partsSought: partsSought, partsSought + 1: 0} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		p := h.paid("a", 10_000)
		k := h.reported("a", 10_000)
		h.step(FindRefund{
			ID: pix.NewTxID(h.now, [10]byte{9}), ReturnID: h.returned(k, part), Original: p.EndToEnd, Amount: 100, Code: fraudCode,
			Result: TransferIsSettled,
		})
		if d := h.step(DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed}); d.Case.Parts != want {
			t.Errorf("after part %d the case has %d", part, d.Case.Parts)
		}
	}
}

// TestRefundBesideACaseThatAwaits checks that a merchant's refund takes nothing of what a stopped case holds while that case
// awaits an operator since a restore.
func TestRefundBesideACaseThatAwaits(t *testing.T) {
	for restored, want := range map[bool]RefusalCode{false: RefuseNothing, true: RefuseOverRefund} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		p := h.paid("a", 10_000)
		k := h.reported("a", 10_000)
		r := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Launch[0].Tx
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: "AC03"})
		if restored {
			h.terms.Epoch++
		}
		got := RefuseNothing
		if d := h.step(RequestRefund{Original: p.EndToEnd, Amount: 100, Reason: "MD06"}); d.Refusal != nil {
			got = d.Refusal.Code
		}
		if got != want {
			t.Errorf("restored %v: %v, want %v", restored, got, want)
		}
	}
}

// TestTooOldAtTheInstant checks that a case's refund that the scheme rejects as too old is made again from the very instant on
// at which its id expires, and not before.
func TestTooOldAtTheInstant(t *testing.T) {
	for before, stopped := range map[pix.Millis]bool{1: true, 0: false} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		k := h.reported("a", 10_000)
		r := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Launch[0].Tx
		h.now = ExpiryOf(r.EndToEnd) - before
		d := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRejected, Reason: reasonTooOld})
		if again := len(d.Launch) == 1; again == stopped {
			t.Errorf("%d ms before: made again %v", before, again)
		}
	}
}

// TestFoundOfAnEarlierAttempt checks that a payout which the scheme has, and whose id the engine computed for an attempt
// before the newest one, is not taken for one whose id its merchant chose.
func TestFoundOfAnEarlierAttempt(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 1_000)
	ask := RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}
	first := h.step(ask).Launch[0].Tx
	h.step(ResolveTransfer{ID: first.ID, EndToEnd: first.EndToEnd, Result: TransferIsRefused, Refusal: RefuseKeyNotFound})
	if second := h.step(ask).Launch[0].Tx; second.Payout.Attempt != 1 {
		t.Fatalf("attempt %d", second.Payout.Attempt)
	}
	f := FindPayout{ID: pix.NewTxID(h.now, [10]byte{9}), Amount: 100, Key: ask.Key, Result: TransferIsSettled}
	f.EndToEnd = pix.EndToEnd(h.terms.OwnISPB, h.now+60_000, first.EndToEnd[21:])
	if d := h.step(f); d.Tx == nil || d.Tx.Payout.OwnEndToEnd || d.Tx.Payout.Attempt != 0 {
		t.Errorf("%+v", d.Tx)
	}
}

// TestDoubtOfAnOverdueRefund checks that an overdue refund stays in doubt as long as the scheme may not have it.
func TestDoubtOfAnOverdueRefund(t *testing.T) {
	for _, doubt := range []bool{true, false} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		p := h.paid("a", 10_000)
		r := h.step(RequestRefund{Original: p.EndToEnd, Amount: 100, Reason: "MD06"}).Launch[0].Tx
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted, Doubt: true})
		h.now += h.terms.OrphanAfter + h.ahead
		x := h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted, Doubt: doubt}).Tx
		if !x.Transfer.Overdue || x.Transfer.Doubt != doubt {
			t.Errorf("in doubt %v: %+v", doubt, x.Transfer)
		}
	}
}

// TestFoundRefundUnderAKey checks that a request repeats a refund which the journal has from the scheme, as long as a key counts:
// less than 24 h from the minute in the refund's id. One that was rejected it does not repeat: it sends another one.
func TestFoundRefundUnderAKey(t *testing.T) {
	for _, c := range []struct {
		result  TransferResult
		later   pix.Millis
		repeats bool
	}{
		{TransferIsSettled, day - 1, true},
		{TransferIsSettled, day, false},
		{TransferIsSettled, hour, true},
		{TransferIsAccepted, hour, true},
		{TransferIsRejected, hour, false},
	} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		p := h.paid("a", 10_000)
		claim := &Claim{Scope: [16]byte{1}}
		suffix := pix.RefundSuffix(h.terms.Secret, testAccount, []byte(p.EndToEnd), claim.Scope[:])
		h.step(FindRefund{
			ID: pix.NewTxID(h.now, [10]byte{9}), ReturnID: pix.ReturnID(h.terms.OwnISPB, h.now, suffix), Original: p.EndToEnd,
			Amount: 100, Code: "MD06", Result: c.result, Reason: "AC03",
		})
		h.now += c.later
		d := h.step(RequestRefund{Original: p.EndToEnd, Amount: 100, Reason: "MD06", Claim: claim})
		if d.Repeat != c.repeats || len(d.Launch) == 1 == c.repeats {
			t.Errorf("%v, %d ms later: repeats %v, %d sent", c.result, c.later, d.Repeat, len(d.Launch))
		}
	}
}

// TestRenewalAfterAnEarlierPayout checks that a payout from before a restore goes out under a new id where the equal one that
// has the old id was requested before it, and its repeat window is over.
func TestRenewalAfterAnEarlierPayout(t *testing.T) {
	h := newHarness(t)
	s := DefaultSettings()
	s.RepeatWindow = MinRepeatWindow
	h.open(s, 1_000)
	ask := RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}
	first := h.step(ask).Launch[0].Tx
	s.ApprovalThreshold = new(pix.Amount)
	h.step(ChangeSettings{Settings: s})
	h.now++
	waits := h.step(ask).Tx
	h.step(ResolveTransfer{ID: first.ID, EndToEnd: first.EndToEnd, Result: TransferIsSettled})
	h.now += 12*hour + h.ahead
	h.terms.RestoredAt = h.now + h.ahead
	d := h.step(DecideApproval{ID: waits.ID, Word: Approved, Operator: "ana"})
	if waits.EndToEnd != first.EndToEnd || d.Tx == nil || d.Tx.EndToEnd == first.EndToEnd {
		t.Errorf("it has %s and then %+v, the first %s", waits.EndToEnd, d.Tx, first.EndToEnd)
	}
}

// TestCountedRefundLeavesWhatIsLacked checks that a refund of an agreed case which the journal lacked takes from what the case
// holds, and what the case lacks stays as it is.
func TestCountedRefundLeavesWhatIsLacked(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	p := h.paid("a", 10_000)
	h.step(RequestRefund{Original: p.EndToEnd, Amount: 5_000, Reason: "MD06"})
	h.step(RequestPayout{Amount: 5_000, Key: emailKey(t, "a@example.com")})
	k := h.reported("a", 8_000)
	k = h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Case
	if k.Held != 5_000 || k.Short != 3_000 {
		t.Fatalf("%+v", k)
	}
	h.step(FindRefund{
		ID: pix.NewTxID(h.now, [10]byte{9}), ReturnID: h.returned(k, 1), Original: p.EndToEnd, Amount: 1_000, Code: fraudCode,
		Result: TransferIsSettled,
	})
	for i := range h.records {
		if c := h.records[i].Case; c != nil {
			k = c
		}
	}
	if k.Refunded != 1_000 || k.Held != 4_000 || k.Short != 3_000 {
		t.Errorf("refunded %d, held %d, short %d", k.Refunded, k.Held, k.Short)
	}
}

// TestTrial checks that a payout which is decided for a trial is refused as it would be, and changes nothing where it is not.
func TestTrial(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	trial := RequestPayout{Amount: 5_000, Key: emailKey(t, "a@example.com"), EndToEnd: endToEnd("x"), Trial: true}
	if d := h.step(trial); d.Refusal != nil || len(d.Records)+len(d.Launch) != 0 || d.Await || d.Answer != (Answer{}) {
		t.Errorf("%+v", d)
	}
	trial.Amount = 10_001
	if d := h.step(trial); d.Refusal == nil || d.Refusal.Code != RefuseBalance {
		t.Errorf("%+v", d)
	}
}
