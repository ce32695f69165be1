package ledger

import (
	"slices"
	"time"
)

// renewAfter is the age, from its minute, at which an end-to-end id is renewed when
// its payout goes out for the first time after waiting: an hour before the scheme
// would refuse it (FF08).
const renewAfter = Millis(11 * time.Hour / time.Millisecond)

// NeedsRenewal tells a payout whose end-to-end id is too old to go out, or, after a clock
// that was ahead, too new. By a clock that is doubted none is: of two equal payouts one
// would go out under a fresh id, and the other, later, under the one that they share.
func NeedsRenewal(t *Transaction, now Reading) bool {
	age := now.Clock - minuteOf(t.EndToEnd)
	return !now.Doubted && (age > renewAfter || age < -renewAfter)
}

// ExpiryOf is the instant from which the scheme refuses an end-to-end id (FF08,
// SPI catalogue): 12 h after its minute.
func ExpiryOf(endToEnd string) Millis { return minuteOf(endToEnd) + MaxRepeatWindow }

// minuteOf is the minute that an end-to-end id names; its form is valid.
func minuteOf(endToEnd string) Millis {
	at, err := time.Parse("200601021504", endToEnd[9:21])
	if err != nil {
		panic("ledger: end-to-end id " + endToEnd + " without its minute")
	}
	return Millis(at.UnixMilli())
}

// decideApproval lets a waiting payout go out, or fails it. Refusals: unknown
// payout, not pending (or decided otherwise), inactive account, expired id.
func (d *draft) decideApproval(c DecideApproval, f Facts) Decision {
	if f.Tx == nil || f.Tx.Kind != TxPayout {
		return Decision{Refusal: refuse(RefuseUnknownPayout, "no such payout")}
	}
	t := *f.Tx
	switch {
	case t.Payout.Decision == c.Word:
		return Decision{Tx: &t, Repeat: true}
	case t.Payout.Decision == Approved:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout was approved already")}
	case t.Payout.Decision == Declined:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout was declined already")}
	case t.Status != StatusPending:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout does not wait for approval")}
	case c.Word == Approved && f.Inactive:
		return Decision{Refusal: refuse(RefuseInactive, "the account is not active")}
	}
	expired := t.Payout.OwnEndToEnd && NeedsRenewal(&t, d.stamp.Reading)
	if c.Word == Approved && expired {
		t = d.fail(t, ReasonExpired)
		refusal := refuse(RefuseExpired, "the payout's own end_to_end_id is too old to go out: it has failed with approval_expired")
		return Decision{Records: d.records, Tx: &t, Refusal: refusal}
	}
	t.Payout.Decision, t.Payout.Operator = c.Word, c.Operator
	if c.Word == Declined {
		t = d.fail(t, ReasonDeclined)
	} else {
		t = d.approve(t, &f.Chain)
	}
	return d.done(&t)
}

// approve sends the payout on its way, under a fresh end-to-end id where its own
// has aged; the old one still leads to it.
func (d *draft) approve(t Transaction, c *Chain) Transaction {
	var b Body
	d.renew(&t, c, &b)
	t.Status = StatusSending
	d.wait(PayoutApproved, &t, d.stamp.Terms.OrphanAfter, b)
	d.launch = []Launch{{&t, GoalPay}}
	return t
}

// renew gives a payout that goes out after waiting the end-to-end id of an equal one
// that went out under another meanwhile, or, where its own has aged, a fresh one. A client's own id goes
// out unchanged: the scheme judges it.
func (d *draft) renew(t *Transaction, c *Chain, b *Body) {
	var fresh string
	switch {
	case t.Payout.OwnEndToEnd:
		return
	case c.EndToEnd != "":
		fresh = c.EndToEnd
		t.Payout.Repeat, t.Payout.DuplicateOf = true, c.holder()
	case NeedsRenewal(t, d.stamp.Reading):
		fresh = EndToEnd(d.stamp.Terms.OwnISPB, d.stamp.Clock, c.Suffix)
	default:
		return
	}
	if fresh != t.EndToEnd {
		t.Payout.Former = append(slices.Clone(t.Payout.Former), t.EndToEnd)
		t.EndToEnd, b.Moved = fresh, c.Moved
	}
}
