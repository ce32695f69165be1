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
// that is held already is refunded.
func (d *draft) requestRefund(c RequestRefund, f Facts) Decision {
	if f.Refunded == nil {
		return Decision{Refusal: refuse(RefuseUnknownOriginal, "transaction not found")}
	}
	amount := c.Amount
	if amount == 0 {
		amount = f.Refunded.Amount
	}
	if amount > f.Sums.Left() {
		return Decision{Refusal: refuse(RefuseOverRefund, "the refunds would exceed the original amount")}
	}
	if amount > min(d.totals.Available(), f.Durable.Available()) {
		return Decision{Refusal: refuse(RefuseSafeBalance, "insufficient balance")}
	}
	t := d.refundOf(d.stamp.ID, f.Refunded, amount)
	t.Description, t.Refund.Code, t.Transfer.Claim = c.Description, c.Reason, c.Claim
	d.holdRefund(&t, c.Claim)
	out := d.done(&t)
	out.Await = true
	return out
}

// refundOf makes the transaction of a refund of the received payment o.
func (d *draft) refundOf(id TxID, o *Original, amount Amount) Transaction {
	return Transaction{
		ID: id, Kind: TxRefund, Status: StatusHeld, Amount: amount, Description: DefaultRefundDescription,
		EndToEnd:     ReturnID(d.stamp.Terms.OwnISPB, d.stamp.Clock, base62Of(sha256.Sum256(id[:]))),
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
// scheme's word does.
func (d *draft) refundOutcome(c ResolveTransfer, f Facts) Decision {
	t := *f.Tx
	if c.Notice && d.namesAnother(&t, c.EndToEnd) {
		return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
	}
	if !t.Status.InFlight() {
		return d.refundAfterwards(t, c)
	}
	switch c.Result {
	case TransferIsAccepted, TransferIsOpen:
		return d.refundOpen(t, c)
	case TransferIsNotHeard:
		return Decision{Tx: f.Tx, Repeat: true}
	case TransferIsSettled:
		t = d.settleRefund(d.shown(t))
	case TransferIsRejected:
		t = d.failRefund(d.shown(t), c.Reason)
	case TransferIsRefused:
		// Only of a refund that was still held is it certain that no submit came before.
		t.Transfer.Unsure = t.Status == StatusAccepted
		t = d.failRefund(d.shown(t), c.Refusal.String())
	default:
		panic("ledger: a refund cannot have this result")
	}
	return d.done(&t)
}

// refundOpen handles a refund without a final status: the scheme has it, or may have it.
// Where the scheme has reported no outcome for Terms.OrphanAfter, an alert is raised once,
// and the scheme is asked again every Terms.OrphanAfter.
func (d *draft) refundOpen(t Transaction, c ResolveTransfer) Decision {
	overdue := t.Status == StatusAccepted && !d.stamp.Doubted && d.stamp.Clock >= t.OrphanAt(d.stamp.Reading, &d.stamp.Terms) &&
		(!t.Transfer.Overdue || d.stamp.Clock >= t.Transfer.DueAt)
	switch {
	case t.Status == StatusHeld && c.Result == TransferIsAccepted:
		t = *d.accept(t, c.Doubt)
	case overdue:
		if !t.Transfer.Overdue {
			d.alert(AlertUnanswered, &t, "the scheme has reported no outcome of a refund: it is asked again, and the refund sent again where the scheme does not know it")
		}
		t.Transfer.Overdue = true
		t.Transfer.Doubt = t.Transfer.Doubt && (c.Result == TransferIsOpen || c.Doubt)
		d.wait(RefundSent, &t, d.stamp.Terms.OrphanAfter, Body{})
	case t.Transfer.Doubt && c.Result == TransferIsAccepted && !c.Doubt:
		t.Transfer.Doubt = false
		d.wait(RefundSent, &t, d.untilDue(&t), Body{})
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}

// settleRefund debits a refund and releases its hold.
func (d *draft) settleRefund(t Transaction) Transaction {
	sums := d.sumsOf(t.Refund.Original)
	sums.InFlight -= t.Amount
	sums.Settled += t.Amount
	t.Refund.Refunded, t.Transfer.Doubt = sums.Settled, false
	d.book(&t, StatusSettled)
	d.mustAdd(RefundSettled, Body{Tx: &t, Sums: &sums, Events: []EventKind{EventRefundCompleted}})
	if k := d.caseOf(&t); k != nil {
		k.Refunded += t.Amount
		d.addCase(CaseRefunded, k, nil)
	}
	return t
}

// reasonTooOld is the scheme's reason code for an id whose minute is not within 12 h of its
// time. Source: SPI catalogue.
const reasonTooOld = "FF08"

// failRefund releases the hold of a refund that the scheme refused or rejected, and gives its
// part of the original back. A refund for a special-return case goes back to the case's hold,
// as far as the payment did not go back otherwise. The engine makes no further refund for that
// case, except where only the id had become too old: the next refund has a new id. While it is
// in doubt whether the scheme has an earlier submit of the refund, that submit may still settle.
func (d *draft) failRefund(t Transaction, reason string) Transaction {
	sums := d.sumsOf(t.Refund.Original)
	tooOld := reason == reasonTooOld && d.stamp.Clock >= ExpiryOf(t.EndToEnd)
	again := tooOld && !t.Transfer.Doubt && !d.stamp.Doubted
	t.Transfer.Unsure = t.Transfer.Unsure || reason == reasonTooOld && t.Transfer.Doubt
	sums.InFlight -= t.Amount
	t.ReasonCode, t.Transfer.Doubt = reason, false
	d.book(&t, StatusFailed)
	d.mustAdd(RefundFailed, Body{Tx: &t, Sums: &sums, Events: []EventKind{EventRefundFailed}})
	if k := d.caseOf(&t); k != nil {
		back := min(t.Amount, sums.Left())
		sums.Held += back
		k.Held += back
		k.Stopped = k.Stopped || !again
		if k.Held > 0 {
			k.DueAt = k.ReleaseAt
		}
		d.mustAddCase(CaseRestored, k, Body{Sums: &sums})
		if k.Stopped {
			d.alert(AlertCaseRefund, &t, "a refund for "+k.ID.String()+" failed with "+printable(reason)+", and the engine makes no other: the case holds what is left of the money")
		}
	}
	return t
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
	case c.Result == TransferIsRejected && t.Status == StatusSettled:
		d.contradicts(&t, "the scheme says that it was rejected: "+printable(c.Reason))
	}
	return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
}

// settleRefundLate debits a refund that had failed, even where the balance falls below zero
// or more goes back than was received: the books follow the scheme. What cases hold of the
// payment becomes smaller, so that no more of it is refunded.
func (d *draft) settleRefundLate(t Transaction) (Transaction, *Refusal) {
	sums := d.sumsOf(t.Refund.Original)
	if k := d.caseOf(&t); k != nil {
		k.Refunded += t.Amount
		d.shrink(CaseRefunded, k, &sums, t.Amount)
	}
	for _, rival := range slices.Backward(d.facts.Rivals) { // the oldest case keeps its hold longest
		k := *rival
		if changed := d.cases[k.Ordinal]; changed != nil {
			k = *changed
		}
		excess := t.Amount - (sums.Amount - sums.Settled - sums.InFlight - sums.Held)
		if excess > 0 && k.Held > 0 {
			d.shrink(CaseReduced, &k, &sums, excess)
		}
	}
	sums.Settled += t.Amount
	sums.Excess = max(sums.Excess, sums.Settled+sums.InFlight+sums.Held-sums.Amount)
	t.Status, t.ReasonCode, t.Transfer.LateAt, t.Refund.Refunded = StatusSettled, "", d.stamp.Time, sums.Settled
	if r := d.add(RefundSettledLate, Body{Tx: &t, Sums: &sums, Events: []EventKind{EventRefundCompleted}}); r != nil {
		return t, r
	}
	d.alert(AlertLate, &t, "a refund settled after it had failed: its amount is debited")
	return t, nil
}

// shrink takes at most part off what a case holds. A decided case that holds nothing any more
// waits for nothing.
func (d *draft) shrink(kind RecordKind, k *Case, sums *RefundSums, part Amount) {
	part = min(part, k.Held)
	k.Held -= part
	sums.Held -= part
	if k.Held == 0 && k.Status.Decided() {
		k.DueAt = 0
	}
	d.mustAddCase(kind, k, Body{Sums: sums})
}
