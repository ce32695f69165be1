package ledger

import (
	"pixd/actors/pix"
)

// refundOutcome reads what the outcome of a refund changes: the refund sums and the special-return
// cases towards which it counts; where the refund settles although it had failed, also the
// other cases of its payment.
func (g *gathering) refundOutcome(c *outcome) (err error) {
	if c.Result == TransferIsVoided {
		if c.mayBeBack, err = g.mayBeBack(c.tx); err != nil {
			return err
		}
	}
	if !c.Result.ends() && c.Refusal == RefuseNothing {
		return nil
	}
	f := &g.cases
	if f.Sums, err = g.readSums(c.tx.Refund.Original, c.tx.Refund.OriginalAmount); err != nil {
		return err
	}
	if c.late() && f.Sums.Held > 0 {
		if f.Rivals, err = g.holdersOf(&f.Sums); err != nil {
			return err
		}
	}
	if f.Counted, err = g.readCounted(c.tx); err != nil {
		return err
	}
	if c.Result != TransferIsSettled { // the refund may fail
		if f.Beside, err = g.otherRefundsInFlight(c.tx, &f.Sums, f.Counted); err != nil {
			return err
		}
	}
	if c.tx.Refund.Case == nil {
		return nil
	}
	f.Case = f.Counted[0]
	return g.readPayment()
}

// late tells whether the result is the settlement of a refund that had failed and may have settled all
// the same: in a restored journal any may, as it may have been sent again since.
func (c *outcome) late() bool {
	failed := c.tx.Voided() || c.Restored && c.tx.Status == pix.StatusFailed
	return failed && c.Result == TransferIsSettled
}

// ofRefund decides about the result of a refund. No time limit ends a refund: only the
// scheme's word does, also where the word is that the scheme does not know a refund which must not
// be sent again. Such a refund may still settle.
func (c *outcome) ofRefund(d *draft) Decision {
	t := *c.tx
	if c.Notice && d.namesAnother(&t, c.EndToEnd) {
		return d.unchanged(&t)
	}
	if !t.Status.InFlight() {
		return d.refundAfterwards(t, c)
	}
	switch {
	case c.Result == TransferIsAccepted || c.Result == TransferIsOpen:
		return d.refundOpen(t, &c.ResolveTransfer)
	case c.Result == TransferIsNotHeard && c.Doubt && t.Transfer.Limited:
		return d.refundInDoubt(t)
	case c.Result == TransferIsNotHeard:
		return d.unchanged(c.tx)
	case c.Result == TransferIsSettled:
		t = d.settleRefund(d.acceptHeld(t))
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate:
		return d.refundInDoubt(t)
	case c.Result == TransferIsRejected:
		t.Transfer.Doubt = t.Transfer.Doubt || c.Doubt
		t = d.failRefund(d.acceptHeld(t), c.Reason)
	case c.Result == TransferIsVoided && !c.mayBeBack:
		return d.unchanged(c.tx) // another refund of the payment has failed meanwhile
	case c.Result == TransferIsVoided:
		t.Transfer.Unsure = true
		t = d.failRefund(d.acceptHeld(t), ReasonNotResent)
	case c.Result == TransferIsRefused && t.Status == pix.StatusHeld && t.Refund.Case != nil && c.Refusal.ForNow():
		t = d.acceptForNow(t)
	case c.Result == TransferIsRefused:
		// Of a refund that was still held it is certain that the scheme has no earlier submit.
		t.Transfer.Unsure = t.Status == pix.StatusAccepted && (c.Doubt || !d.onlyLimited(&t))
		t = d.failRefund(d.acceptHeld(t), c.Refusal.String())
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
	case t.Status == pix.StatusHeld:
		t = *d.accept(t, true)
	case !t.Transfer.Doubt:
		t.Transfer.Doubt = true
		d.addWaiting(RefundSent, &t, d.untilDue(&t), Body{})
	default:
		return d.unchanged(&t)
	}
	return d.done(&t)
}

// acceptForNow shows the merchant a refund that the scheme has refused for now. It is tried
// again under the same ids.
func (d *draft) acceptForNow(t Transaction) Transaction {
	claim := t.Transfer.Claim
	t.Status, t.Transfer.Claim, t.Transfer.Limited = pix.StatusAccepted, nil, true
	d.show(&t)
	if d.stamp.Clock != t.CreatedAt {
		t.Transfer.AcceptedAt = d.stamp.Clock
	}
	d.addWaiting(RefundAccepted, &t, doubtAgain, Body{Claim: claim})
	return t
}

// refundOpen handles a refund without a final status: the scheme has it, may have it, or
// refuses it for now. Where the scheme has reported no outcome for Terms.OrphanAfter, an alert
// is raised once, and the scheme is asked again every Terms.OrphanAfter. What a restored journal
// is told while it catches up neither raises the alert nor puts the next asking off: told twice, it changes nothing more.
func (d *draft) refundOpen(t Transaction, c *ResolveTransfer) Decision {
	overdue := !c.Restored && t.Status == pix.StatusAccepted && !d.stamp.Doubted && d.stamp.Clock >= t.OrphanAt(d.stamp.Reading, &d.stamp.Terms) &&
		(!t.Transfer.Overdue || d.stamp.Clock >= t.askAt(d.stamp.Reading, &d.stamp.Terms))
	known := c.Result == TransferIsAccepted && !c.Doubt // the scheme has the refund
	limited := t.Transfer.Limited && !t.Transfer.Doubt && !known
	switch {
	case t.Status == pix.StatusHeld && c.Result == TransferIsAccepted:
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
		d.addWaiting(RefundSent, &t, d.stamp.Terms.OrphanAfter, Body{})
	case t.Transfer.Doubt && known:
		t.Transfer.Doubt, t.Transfer.Limited = false, false
		d.addWaiting(RefundSent, &t, d.untilDue(&t), Body{})
	case t.Transfer.Limited && known:
		t.Transfer.Limited, t.Transfer.AcceptedAt = false, d.stamp.Clock
		d.addWaiting(RefundSent, &t, d.untilDue(&t), Body{})
	default:
		return d.unchanged(&t)
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
	d.bookAs(&t, pix.StatusSettled)
	d.mustAdd(RefundSettled, Body{Tx: &t, Sums: &sums, Events: []pix.EventKind{pix.EventRefundCompleted}})
	for i := range t.Shares() {
		if t.Refund.Counted {
			break
		}
		k := d.newest(d.facts.Counted[i])
		k.Refunded += t.share(i)
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
	counted := t.Refund.Counted
	t.Refund.Counted = false
	d.bookAs(&t, pix.StatusFailed)
	d.mustAdd(RefundFailed, Body{Tx: &t, Sums: &sums, Events: []pix.EventKind{pix.EventRefundFailed}})
	for i, share := range t.Shares() {
		k, beside := d.newest(d.facts.Counted[i]), pix.Amount(0)
		if counted {
			k.Refunded -= share.Amount
		}
		if d.facts.Beside != nil {
			beside = d.facts.Beside[i]
		}
		own, was := t.Refund.Case != nil, k.Stopped
		k.Stopped = was || own && !again || t.Voided()
		part := min(share.Amount, max(0, k.room()-beside))
		if k.Status.Decided() && k.Result != pix.Agreed {
			part = 0 // the report was withdrawn, or the case decided for the merchant, while the refund was on its way
		}
		d.giveBack(k, part, &t)
		if k.Stopped && (own || !was) {
			d.alertStopped(k, &t, beside)
		}
	}
	return t
}

// giveBack lets a case hold again what was to be refunded.
func (d *draft) giveBack(k *Case, part pix.Amount, t *Transaction) {
	sums := d.sumsOf(k.Original)
	back := min(part, sums.Left())
	sums.Held += back
	k.Held += back
	k.Short += part - back
	if t.Voided() {
		k.Unsure = max(k.Unsure, ExpiryOf(t.EndToEnd))
	}
	if k.Status.Decided() {
		k.settle(&sums)
	}
	d.mustAddCase(CaseRestored, k, Body{Sums: &sums})
}

// alertStopped says to operators that the engine makes no further refund for a case, because the refund t
// has failed. Once the time for returns is over, it releases what the case holds. beside is on its way
// for the case all the same, and may fail, too.
func (d *draft) alertStopped(k *Case, t *Transaction, beside pix.Amount) {
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
func (d *draft) refundAfterwards(t Transaction, c *outcome) Decision {
	settled := c.Result == TransferIsSettled
	switch {
	case c.late():
		late, r := d.settleRefundLate(t)
		if r != nil {
			return refuseWith(r)
		}
		return d.done(&late)
	case settled && t.Status != pix.StatusSettled:
		d.contradicts(&t, "the scheme says that it settled")
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate: // of a submit after the one that counts
	case c.Result == TransferIsRejected && t.Status == pix.StatusSettled:
		d.contradicts(&t, "the scheme says that it was rejected: "+printable(c.Reason))
	}
	return d.unchanged(&t)
}
