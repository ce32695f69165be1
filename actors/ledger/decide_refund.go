package ledger

import (
	"crypto/sha256"
	"slices"
)

// DefaultReturnCode is the return code of a refund whose request names none: agreement
// between the parties.
const DefaultReturnCode = "MD06"

// fraudCode is the return code of the engine's own refunds, for special-return cases.
const fraudCode = "FR01"

// DefaultRefundDescription is the description of a refund whose request has none.
const DefaultRefundDescription = "Devolução PIX"

// requestRefund holds the amount of a refund in one step with the checks. The caller has
// checked the raw fields in RefundForm.Parse. The refusals here are, in order: unknown
// payment, more than is left of it, balance. Neither money that is not durable yet nor money
// that is held already is refunded. The exception is what a case holds whose refunds have
// failed for good: the merchant may give it back, which counts towards the case.
func (d *draft) requestRefund(c RequestRefund, f Facts) Decision {
	if f.Refunded == nil {
		return Decision{Refusal: refuse(RefuseUnknownOriginal, "transaction not found")}
	}
	amount := c.Amount
	if amount == 0 {
		amount = f.Refunded.Amount
	}
	counts, counted := d.countTowards(amount)
	if amount > f.Sums.Left()+counted {
		return Decision{Refusal: refuse(RefuseOverRefund, "the refunds would exceed the original amount")}
	}
	if amount > min(d.totals.free(), f.Durable.free())+counted {
		return Decision{Refusal: refuse(RefuseSafeBalance, "insufficient balance")}
	}
	suffix := base62Of(sha256.Sum256(d.stamp.ID[:]))
	if c.Claim != nil {
		suffix = refundSuffix(d.stamp.Terms.Secret, d.account.ID, f.Refunded.ID[:], c.Claim.Scope[:])
	}
	t := d.refundOf(d.stamp.ID, suffix, f.Refunded, amount)
	t.Description, t.Refund.Code, t.Transfer.Claim, t.Refund.Counts = c.Description, c.Reason, c.Claim, counts
	for _, share := range counts {
		d.countShare(share)
	}
	d.holdRefund(&t, c.Claim)
	out := d.done(&t)
	out.Await = true
	return out
}

// countTowards returns what of the merchant's refund counts towards cases of the payment that
// hold money although their refunds have failed for good, the oldest first, and the sum of it. A
// case whose failed refund may still settle, or that waits since a restore, keeps its hold.
func (d *draft) countTowards(amount Amount) (counts []CaseShare, counted Amount) {
	for _, k := range d.facts.Rivals {
		waits := d.mayStillSettle(k) || k.AwaitsOperator(&d.stamp.Terms)
		if part := min(k.Held, amount-counted); part > 0 && k.Stopped && !waits {
			counts = append(counts, CaseShare{k.ID, part})
			counted += part
		}
	}
	return counts, counted
}

// countShare takes off the hold of a case what becomes part of the merchant's refund.
func (d *draft) countShare(share CaseShare) {
	i := slices.IndexFunc(d.facts.Rivals, func(k *Case) bool { return k.ID == share.Case })
	k, sums := d.newest(d.facts.Rivals[i]), d.sumsOf(d.facts.Sums.Original)
	k.Held -= share.Amount
	sums.Held -= share.Amount
	k.settle(&sums)
	d.mustAddCase(CaseRefunding, k, Body{Sums: &sums})
}

// refundOf makes the transaction of a refund of the received payment o. The suffix is the end
// of its id at the scheme.
func (d *draft) refundOf(id TxID, suffix string, o *Original, amount Amount) Transaction {
	return Transaction{
		ID: id, Kind: TxRefund, Status: StatusHeld, Amount: amount, Description: DefaultRefundDescription,
		EndToEnd:     ReturnID(d.stamp.Terms.OwnISPB, d.stamp.Clock, suffix),
		Counterparty: o.Counterparty,
		Refund:       RefundPart{Original: o.ID, OriginalEndToEnd: o.EndToEnd, OriginalAmount: o.Amount},
		Transfer:     TransferPart{DueAt: d.stamp.Clock + d.stamp.Terms.OrphanAfter, DueKind: DueTransfer},
	}
}

// draw returns an id for a transaction beside the one that has the stamp's id; it is made
// from the stamp's id.
func (d *draft) draw() TxID {
	d.drawn++
	sum := sha256.Sum256(append(d.stamp.ID[:], d.drawn))
	return NewTxID(d.stamp.ID.Time(), [10]byte(sum[:10]))
}

// holdRefund adds the record that holds a refund's amount, and starts its child actor.
func (d *draft) holdRefund(t *Transaction, c *Claim) {
	sums := d.sumsOf(t.Refund.Original)
	sums.InFlight += t.Amount
	d.mustAdd(RefundHeld, Body{Tx: t, Claim: c, Sums: &sums})
	d.launch = append(d.launch, Launch{t, GoalPay})
}

// sumsOf returns the refund sums of a received payment as they are after the decision's
// records so far.
func (d *draft) sumsOf(original TxID) RefundSums {
	if s, changed := d.sums[original]; changed {
		return s
	}
	if d.facts.Sums.Original == original {
		return d.facts.Sums
	}
	for i := range d.facts.Owing {
		if s := d.facts.Owing[i].Sums; s.Original == original {
			return s
		}
	}
	panic("ledger: refund sums that were not gathered")
}

// refundOutcome decides about the result of a refund. No time limit ends a refund: only the
// scheme's word does, also where the word is that the scheme does not know a refund which must not
// be sent again. Such a refund may still settle.
func (d *draft) refundOutcome(c ResolveTransfer, f Facts) Decision {
	t := *f.Tx
	if c.Notice && d.namesAnother(&t, c.EndToEnd) {
		return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
	}
	if !t.Status.InFlight() {
		return d.refundAfterwards(t, c)
	}
	switch {
	case c.Result == TransferIsAccepted || c.Result == TransferIsOpen:
		return d.refundOpen(t, c)
	case c.Result == TransferIsNotHeard && c.Doubt && t.Transfer.Limited:
		return d.refundInDoubt(t)
	case c.Result == TransferIsNotHeard:
		return Decision{Tx: f.Tx, Repeat: true}
	case c.Result == TransferIsSettled:
		t = d.settleRefund(d.shown(t))
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate:
		return d.refundInDoubt(t)
	case c.Result == TransferIsRejected:
		t.Transfer.Doubt = t.Transfer.Doubt || c.Doubt
		t = d.failRefund(d.shown(t), c.Reason)
	case c.Result == TransferIsVoided && !f.MayBeBack:
		return Decision{Tx: f.Tx, Repeat: true} // another refund of the payment has failed meanwhile
	case c.Result == TransferIsVoided:
		t.Transfer.Unsure = true
		t = d.failRefund(d.shown(t), ReasonNotResent)
	case c.Result == TransferIsRefused && t.Status == StatusHeld && t.Refund.Case != nil && c.Refusal.ForNow():
		t = d.acceptForNow(t)
	case c.Result == TransferIsRefused:
		// Of a refund that was still held it is certain that the scheme has no earlier submit.
		t.Transfer.Unsure = t.Status == StatusAccepted && (c.Doubt || !d.onlyLimited(&t))
		t = d.failRefund(d.shown(t), c.Refusal.String())
	default:
		panic("ledger: a refund cannot have this result")
	}
	return d.done(&t)
}

// onlyLimited tells whether every submit of an accepted refund was refused for now, so that the
// scheme cannot have it. A process that has ended may have submitted it once more without a
// record of that, so it must have been accepted by this one.
func (d *draft) onlyLimited(t *Transaction) bool {
	sent := t.SentAt()
	return t.Transfer.Limited && !t.Transfer.Doubt && !t.Doubted && sent >= d.stamp.Start && sent <= d.stamp.Clock
}

// refundInDoubt keeps a refund of which the scheme may have an earlier submit: one whose child
// actor heard nothing after a submit, or that the scheme calls a duplicate. An id that begins
// with D belongs to one refund, so it was this refund that arrived before. The scheme is
// asked; until it says more the refund stays as it is.
func (d *draft) refundInDoubt(t Transaction) Decision {
	switch {
	case t.Status == StatusHeld:
		t = *d.accept(t, true)
	case !t.Transfer.Doubt:
		t.Transfer.Doubt = true
		d.wait(RefundSent, &t, d.untilDue(&t), Body{})
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}

// acceptForNow shows the merchant a refund that the scheme has refused for now. It is tried
// again under the same ids.
func (d *draft) acceptForNow(t Transaction) Transaction {
	claim := t.Transfer.Claim
	t.Status, t.Transfer.Claim, t.Transfer.Limited = StatusAccepted, nil, true
	d.show(&t)
	if d.stamp.Clock != t.CreatedAt {
		t.Transfer.AcceptedAt = d.stamp.Clock
	}
	d.wait(RefundAccepted, &t, doubtAgain, Body{Claim: claim})
	return t
}

// refundOpen handles a refund without a final status: the scheme has it, may have it, or
// refuses it for now. Where the scheme has reported no outcome for Terms.OrphanAfter, an alert
// is raised once, and the scheme is asked again every Terms.OrphanAfter.
func (d *draft) refundOpen(t Transaction, c ResolveTransfer) Decision {
	overdue := t.Status == StatusAccepted && !d.stamp.Doubted && d.stamp.Clock >= t.OrphanAt(d.stamp.Reading, &d.stamp.Terms) &&
		(!t.Transfer.Overdue || d.stamp.Clock >= t.askAt(d.stamp.Reading, &d.stamp.Terms))
	known := c.Result == TransferIsAccepted && !c.Doubt // the scheme has the refund
	limited := t.Transfer.Limited && !t.Transfer.Doubt && !known
	switch {
	case t.Status == StatusHeld && c.Result == TransferIsAccepted:
		t = *d.accept(t, c.Doubt)
	case limited && c.Doubt:
		return d.refundInDoubt(t)
	case limited && c.Refusal != RefuseNothing && d.facts.Case.over(d.stamp.Reading) && !d.facts.Case.AwaitsOperator(&d.stamp.Terms):
		t.Transfer.Unsure = !d.onlyLimited(&t)
		t = d.failRefund(t, c.Refusal.String())
	case overdue:
		if !t.Transfer.Overdue {
			d.alert(AlertUnanswered, &t, unanswered(limited, c.Refusal))
		}
		t.Transfer.Overdue = true
		t.Transfer.Doubt = t.Transfer.Doubt && (c.Result == TransferIsOpen || c.Doubt)
		t.Transfer.Limited = t.Transfer.Limited && !known
		d.wait(RefundSent, &t, d.stamp.Terms.OrphanAfter, Body{})
	case t.Transfer.Doubt && known:
		t.Transfer.Doubt, t.Transfer.Limited = false, false
		d.wait(RefundSent, &t, d.untilDue(&t), Body{})
	case t.Transfer.Limited && known:
		t.Transfer.Limited, t.Transfer.AcceptedAt = false, d.stamp.Clock
		d.wait(RefundSent, &t, d.untilDue(&t), Body{})
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}

// unanswered is the alert about a refund that has no outcome in time.
func unanswered(limited bool, refusal RefusalCode) string {
	if limited && refusal != RefuseNothing {
		return "the scheme still refuses a refund for now (" + refusal.String() + "): it is tried again"
	}
	return "the scheme has reported no outcome of a refund: it is asked again; where the scheme does not know the refund, it is sent again or fails"
}

// settleRefund debits a refund and releases its hold.
func (d *draft) settleRefund(t Transaction) Transaction {
	sums := d.sumsOf(t.Refund.Original)
	sums.InFlight -= t.Amount
	sums.Settled += t.Amount
	t.Refund.Refunded, t.Transfer.Doubt = sums.Settled, false
	d.book(&t, StatusSettled)
	d.mustAdd(RefundSettled, Body{Tx: &t, Sums: &sums, Events: []EventKind{EventRefundCompleted}})
	for i, share := range t.Shares() {
		k := d.newest(d.facts.Counted[i])
		k.Refunded += share.Amount
		d.mustAddCase(CaseRefunded, k, Body{})
	}
	return t
}

// reasonTooOld is the scheme's reason code for an id whose minute is not within 12 h of its
// time. Source: SPI catalogue.
const reasonTooOld = "FF08"

// failRefund releases the hold of a refund that the scheme refused or rejected, and gives its
// part of the original back. What counts towards a special-return case goes back to the case's
// hold, as far as neither a refund that settled late nor one on its way is in its place. After a
// refund that it made itself the engine makes no further one for that case, except where only the
// id had become too old: the next refund has a new id. While it is in doubt whether the scheme has
// an earlier submit of the refund, that submit may still settle: then no further one is made
// either, whoever requested the refund.
func (d *draft) failRefund(t Transaction, reason string) Transaction {
	sums := d.sumsOf(t.Refund.Original)
	tooOld := reason == reasonTooOld && d.stamp.Clock >= ExpiryOf(t.EndToEnd)
	again := tooOld && !t.Transfer.Doubt && !d.stamp.Doubted
	t.Transfer.Unsure = t.Transfer.Unsure || reason == reasonTooOld && t.Transfer.Doubt
	sums.InFlight -= t.Amount
	t.ReasonCode, t.Transfer.Doubt, t.Transfer.Limited = reason, false, false
	d.book(&t, StatusFailed)
	d.mustAdd(RefundFailed, Body{Tx: &t, Sums: &sums, Events: []EventKind{EventRefundFailed}})
	for i, share := range t.Shares() {
		k, beside := d.newest(d.facts.Counted[i]), Amount(0)
		if d.facts.Beside != nil {
			beside = d.facts.Beside[i]
		}
		own, was := t.Refund.Case != nil, k.Stopped
		k.Stopped = was || own && !again || t.Voided()
		d.giveBack(k, min(share.Amount, max(0, k.room()-beside)), &t)
		if k.Stopped && (own || !was) {
			d.stopped(k, &t, beside)
		}
	}
	return t
}

// giveBack lets a case hold again what was to be refunded.
func (d *draft) giveBack(k *Case, part Amount, t *Transaction) {
	sums := d.sumsOf(k.Original)
	back := min(part, sums.Left())
	sums.Held += back
	k.Held += back
	k.Short += part - back
	if t.Voided() {
		k.Unsure = max(k.Unsure, ExpiryOf(t.EndToEnd))
	}
	k.settle(&sums)
	d.mustAddCase(CaseRestored, k, Body{Sums: &sums})
}

// stopped says to operators that the engine makes no further refund for a case, because the refund t
// has failed. Once the time for returns is over, it releases what the case holds. beside is on its way
// for the case all the same, and may fail, too.
func (d *draft) stopped(k *Case, t *Transaction, beside Amount) {
	switch {
	case k.over(d.stamp.Reading) && !k.Awaits:
		d.releaseUnrefunded(k)
	case k.Held+k.Short+beside > 0:
		d.alert(AlertCaseRefund, t, "a refund for "+k.ID.String()+" failed with "+printable(t.ReasonCode)+
			", and the engine makes no other before an operator says so: the case holds what is left of the money")
	}
}

// refundAfterwards handles a result that is reported for a refund whose status is final
// already. Only a settlement of a refund that failed in doubt changes something: the refund
// is debited. Any other result that contradicts the status raises an alert.
func (d *draft) refundAfterwards(t Transaction, c ResolveTransfer) Decision {
	settled := c.Result == TransferIsSettled
	switch {
	case settled && t.Voided():
		late, r := d.settleRefundLate(t)
		if r != nil {
			return Decision{Refusal: r}
		}
		return d.done(&late)
	case settled && t.Status != StatusSettled:
		d.contradicts(&t, "the scheme says that it settled")
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate: // of a submit after the one that counts
	case c.Result == TransferIsRejected && t.Status == StatusSettled:
		d.contradicts(&t, "the scheme says that it was rejected: "+printable(c.Reason))
	}
	return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
}

// settleRefundLate debits a refund that had failed, even where the balance falls below zero
// or more goes back than was received: the books follow the scheme.
func (d *draft) settleRefundLate(t Transaction) (Transaction, *Refusal) {
	sums := d.countBack(&t, CaseRefunded)
	t.Status, t.ReasonCode, t.Transfer.LateAt = StatusSettled, "", d.stamp.Time
	if r := d.add(RefundSettledLate, Body{Tx: &t, Sums: sums, Events: []EventKind{EventRefundCompleted}}); r != nil {
		return t, r
	}
	d.alert(AlertLate, &t, "a refund settled after it had failed: its amount is debited")
	return t, nil
}

// countBack counts a refund that no hold was made for. What cases hold of the payment becomes
// smaller, so that no more of it is refunded: first what the refund counts towards, then the
// newest case's. kind is that of the record about the former. It returns the refund sums.
func (d *draft) countBack(t *Transaction, kind RecordKind) *RefundSums {
	sums := d.sumsOf(t.Refund.Original)
	for i, share := range t.Shares() {
		k := d.newest(d.facts.Counted[i])
		k.Refunded += share.Amount
		k.Short = max(0, k.Short-max(0, share.Amount-k.Held))
		d.shrink(kind, k, &sums, share.Amount)
	}
	for _, rival := range slices.Backward(d.facts.Rivals) { // the oldest case keeps its hold longest
		k := d.newest(rival)
		excess := t.Amount - (sums.Amount - sums.Settled - sums.InFlight - sums.Held)
		if excess > 0 && k.Held > 0 {
			k.Short += min(excess, k.Held)
			d.shrink(CaseReduced, k, &sums, excess)
		}
	}
	sums.Settled += t.Amount
	sums.Excess = max(sums.Excess, sums.Settled+sums.InFlight+sums.Held-sums.Amount)
	t.Refund.Refunded = sums.Settled
	return &sums
}

// shrink takes at most part off what a case holds. A decided case that holds and lacks nothing
// any more waits for nothing.
func (d *draft) shrink(kind RecordKind, k *Case, sums *RefundSums, part Amount) {
	part = min(part, k.Held)
	k.Held -= part
	sums.Held -= part
	if k.Status.Decided() {
		k.settle(sums)
	}
	d.mustAddCase(kind, k, Body{Sums: sums})
}
