package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// ofPayout decides about the result of a payout. A result that was applied before changes
// nothing; a result that contradicts a final status raises an alert.
func (c *outcome) ofPayout(d *draft) Decision {
	if c.Restored {
		if out, decided := c.restoredPayout(d); decided {
			return out
		}
	}
	if c.Notice && d.namesAnother(c.tx, c.EndToEnd) {
		return d.unchanged(c.tx)
	}
	t := *c.tx
	if !t.Status.InFlight() {
		return d.applyResultAfterFinal(t, &c.ResolveTransfer)
	}
	if c.Owner != (pix.Party{}) {
		t.Counterparty = c.Owner
	}
	switch c.Result {
	case TransferIsAccepted:
		return d.applyAcceptance(t, c.Doubt)
	case TransferIsSettled:
		return d.done(d.settle(t))
	case TransferIsRejected:
		t = d.acceptHeld(t)
		t.Payout.DuplicateOf = c.holder
		return d.done(d.finish(t, PayoutRejected, pix.StatusRejected, c.Reason, pix.EventPayoutRejected))
	case TransferIsRefused:
		return d.applyRefusal(t, c.Refusal, c.row)
	case TransferIsLimited:
		return d.queueLimited(t, c.Refusal.Limit())
	case TransferIsSending:
		return d.sendQueued(t, &c.chain)
	case TransferIsVoided:
		if !d.mayVoid(&t) {
			return d.unchanged(c.tx)
		}
		return d.done(d.fail(d.acceptHeld(t), ReasonVoided))
	case TransferIsNotHeard, TransferIsOpen:
		return d.unchanged(c.tx)
	}
	panic("ledger: a payout result that does not exist")
}

// mayVoid tells whether a payout is voided that the scheme has not settled or rejected: as an orphan, or because it
// was sent before a restore and the scheme has never said that it has it.
func (d *draft) mayVoid(t *Transaction) bool {
	switch t.Status {
	case pix.StatusHeld, pix.StatusSending:
		return d.stamp.Terms.sentBefore(t)
	case pix.StatusAccepted:
		return d.orphaned(t) || t.Transfer.Doubt && d.stamp.Terms.sentBefore(t)
	}
	return false
}

// orphaned tells whether an accepted payout may be voided: the scheme has reported no
// outcome for Terms.OrphanAfter, and engine time is not doubted.
func (d *draft) orphaned(t *Transaction) bool {
	return !d.stamp.Doubted && d.stamp.Clock >= t.OrphanAt(d.stamp.Reading, &d.stamp.Terms)
}

// applyAcceptance records that the scheme has the payout or, with doubt, that the scheme may have
// it.
func (d *draft) applyAcceptance(t Transaction, doubt bool) Decision {
	if t.Status == pix.StatusHeld {
		return d.done(d.accept(t, doubt))
	}
	return d.acceptedAgain(t, doubt)
}

// acceptedAgain is accept for a payout that the merchant has seen already.
func (d *draft) acceptedAgain(t Transaction, doubt bool) Decision {
	switch {
	case t.Status == pix.StatusSending:
		t.Status, t.Transfer.Doubt, t.Transfer.AcceptedAt, t.ReasonCode = pix.StatusAccepted, doubt, d.stamp.Clock, ""
		d.addWaiting(PayoutSent, &t, d.untilDue(&t), Body{})
	case t.Status == pix.StatusAccepted && t.Transfer.Doubt && !doubt:
		t.Transfer.Doubt = false
		d.addWaiting(PayoutSent, &t, d.untilDue(&t), Body{})
	default:
		return d.unchanged(&t)
	}
	return d.done(&t)
}

func (d *draft) settle(t Transaction) *Transaction {
	return d.finish(d.acceptHeld(t), PayoutSettled, pix.StatusSettled, "", settledEvents()...)
}

// settledEvents are the events of a payout that settles, in this order.
func settledEvents() []pix.EventKind {
	return []pix.EventKind{pix.EventPayoutConfirmed, pix.EventCompleted}
}

func (d *draft) fail(t Transaction, reason string) *Transaction {
	return d.finish(t, PayoutFailed, pix.StatusFailed, reason, pix.EventPayoutFailed)
}

// applyRefusal applies a refusal by the directory or the provider. A payout that is still held
// is never shown to the merchant. A payout that had left a queue and hits a directory limit
// again goes back to the queue. Any other payout fails.
func (d *draft) applyRefusal(t Transaction, code RefusalCode, row *layout.EndToEndRow) Decision {
	bucket := code.Limit()
	switch {
	case t.Status == pix.StatusHeld:
		return d.refusedInCall(&t, code, row)
	case t.Status == pix.StatusSending && t.Payout.QueueEnds != 0 && bucket != 0:
		t = d.requeue(t, bucket)
	case t.Status == pix.StatusAccepted && !t.Transfer.Doubt || t.Status == pix.StatusPending:
		return d.unchanged(&t) // nothing to do: since then the scheme has accepted the payout, or the payout was never sent
	default:
		t.Transfer.Unsure = t.Transfer.Doubt
		return d.done(d.fail(t, code.String()))
	}
	return d.done(&t)
}

// queueLimited puts a payout into the queue of a directory limit (bucket), because that limit
// refused the lookup of its key.
func (d *draft) queueLimited(t Transaction, bucket pix.Bucket) Decision {
	if bucket == 0 {
		panic("ledger: a limit of no bucket")
	}
	switch t.Status {
	case pix.StatusHeld:
		claim := t.Transfer.Claim
		t.Transfer.Claim = nil
		d.show(&t)
		d.queue(&t, bucket)
		d.addWaiting(PayoutQueued, &t, d.stamp.Terms.QueueTTL, Body{Claim: claim, Events: []pix.EventKind{pix.EventPayoutQueued}})
	case pix.StatusSending:
		if t.Payout.QueueEnds != 0 {
			t = d.requeue(t, bucket)
			break
		}
		d.queue(&t, bucket)
		d.addWaiting(PayoutRequeued, &t, d.stamp.Terms.QueueTTL, Body{Events: []pix.EventKind{pix.EventPayoutQueued}})
	default:
		return d.unchanged(&t)
	}
	return d.done(&t)
}

// queue puts a payout into a bucket's queue for the first time, which sets its time limit.
func (d *draft) queue(t *Transaction, b pix.Bucket) {
	t.Status, t.Payout.Bucket, t.ReasonCode = pix.StatusQueued, b, b.Reason()
	t.Payout.QueueEnds = d.stamp.Clock + d.stamp.Terms.QueueTTL
}

// requeue puts a payout back into a bucket's queue. The time limit from its first queueing
// still applies.
func (d *draft) requeue(t Transaction, b pix.Bucket) Transaction {
	t.Status, t.Payout.Bucket, t.ReasonCode = pix.StatusQueued, b, b.Reason()
	d.addWaiting(PayoutRequeued, &t, max(0, t.Payout.QueueEnds-d.stamp.Clock), Body{})
	return t
}

// sendQueued takes a queued payout out of its queue, just before it is submitted, under a new
// end-to-end id where the present one is too old. A payout of an inactive account stays
// queued.
func (d *draft) sendQueued(t Transaction, c *Chain) Decision {
	if t.Status != pix.StatusQueued || d.stamp.Inactive {
		return d.unchanged(&t)
	}
	var b Body
	d.renew(&t, c, &b)
	d.letGo(&t)
	t.Status, t.ReasonCode = pix.StatusSending, ""
	d.addWaiting(PayoutSending, &t, d.stamp.Terms.OrphanAfter, b)
	d.launch = []Launch{{&t, GoalSend}}
	return d.done(&t)
}

// refusedInCall refuses a payout that is still held: it releases the hold and drops the
// idempotency claim. The merchant never sees the payout, only the refusal.
func (d *draft) refusedInCall(t *Transaction, code RefusalCode, row *layout.EndToEndRow) Decision {
	if row == nil {
		panic("ledger: a held payout without an end-to-end row")
	}
	claim, after := t.Transfer.Claim, row.Refused(t.ID, d.account.Seq+1)
	t.Status, t.Transfer.Claim, t.ReasonCode, t.Payout.DuplicateOf = pix.StatusRefused, nil, code.String(), nil
	d.mustAdd(PayoutRefused, Body{Tx: t, Claim: claim, Row: &after})
	out := d.done(t)
	out.Refusal = &Refusal{Code: code, Message: "the payment was refused", AfterHold: true}
	return out
}

func (d *draft) finish(t Transaction, kind RecordKind, s pix.TxStatus, reason string, events ...pix.EventKind) *Transaction {
	d.bookAs(&t, s)
	t.ReasonCode, t.Transfer.Doubt = reason, false
	if reason != ReasonDuplicate {
		t.Payout.DuplicateOf = nil
	}
	d.mustAdd(kind, Body{Tx: &t, Events: events})
	return &t
}

// applyResultAfterFinal handles a result that is reported for a payout whose status is final already.
// Only two results change something, both after a void: the scheme settled the payout,
// which is then debited; or the scheme rejected the payout, which then can settle no more.
// Any other result that contradicts the status raises an alert and changes nothing.
func (d *draft) applyResultAfterFinal(t Transaction, c *ResolveTransfer) Decision {
	settled := c.Result == TransferIsSettled
	switch {
	case settled && t.Voided():
		late, r := d.settleLate(t)
		if r != nil {
			return refuseWith(r)
		}
		return d.done(&late)
	case c.Result == TransferIsRejected && t.Voided() && c.Reason != ReasonDuplicate:
		// The rejection proves that no money moved under this id, so an equal request later
		// gets a new id.
		t.Transfer.RejectedAfterVoid = true
		d.mustAdd(PayoutRejectedAfterVoid, Body{Tx: &t})
		return d.done(&t)
	case settled && t.Status != pix.StatusSettled:
		d.contradicts(&t, "the scheme says that it settled")
	case c.Result == TransferIsRejected && t.Status == pix.StatusSettled:
		d.contradicts(&t, "the scheme says that it was rejected: "+printable(c.Reason))
	}
	return d.unchanged(&t)
}

// settleLate debits a payout that was voided, even where the balance falls below zero. The
// payout keeps its place in the statement, so that the statement of a past day does not
// change.
func (d *draft) settleLate(t Transaction) (Transaction, *Refusal) {
	t.Status, t.ReasonCode, t.Transfer.LateAt = pix.StatusSettled, "", d.stamp.Time
	if r := d.add(PayoutSettledLate, Body{Tx: &t, Events: settledEvents()}); r != nil {
		return t, r
	}
	d.alert(AlertLate, &t, "a payout settled after it had been voided: amount and fee are debited")
	return t, nil
}
