package ledger

import (
	"slices"
	"time"
)

// renewAfter is the age of an end-to-end id, counted from the minute in the id, above which
// it is replaced by a new id when its payout leaves a queue or is approved. It is an hour
// less than the age at which the scheme refuses the id (FF08).
const renewAfter = Millis(11 * time.Hour / time.Millisecond)

// NeedsRenewal tells whether a payout's end-to-end id is too old to be sent or, because the
// clock was ahead when the id was made, too far in the future. While engine time is doubted
// it is false: otherwise, of two equal payouts with the same id, one would be sent under a
// new id and the other, later, under the old one, and the scheme would pay both.
func NeedsRenewal(t *Transaction, now Reading) bool {
	age := now.Clock - minuteOf(t.EndToEnd)
	return !now.Doubted && (age > renewAfter || age < -renewAfter)
}

// ExpiryOf is the instant from which the scheme refuses an end-to-end id (FF08, SPI
// catalogue): 12 h after the minute in the id.
func ExpiryOf(endToEnd string) Millis { return minuteOf(endToEnd) + MaxRepeatWindow }

// minuteOf is the minute in an end-to-end id, whose form must be valid.
func minuteOf(endToEnd string) Millis {
	at, err := time.Parse("200601021504", endToEnd[9:21])
	if err != nil {
		panic("ledger: end-to-end id " + endToEnd + " without its minute")
	}
	return Millis(at.UnixMilli())
}

// decideApproval sends a payout that waits for an operator's approval, or fails it, as the
// operator decided. Refusals: unknown payout, payout not pending (or decided otherwise
// before), inactive account, expired id.
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
		t = *d.fail(t, ReasonExpired)
		refusal := refuse(RefuseExpired, "the payout's own end_to_end_id is too old to go out: it has failed with approval_expired")
		return Decision{Records: d.records, Tx: &t, Refusal: refusal}
	}
	t.Payout.Decision, t.Payout.Operator = c.Word, c.Operator
	if c.Word == Declined {
		t = *d.fail(t, ReasonDeclined)
	} else {
		t = d.approve(t, &f.Chain)
	}
	return d.done(&t)
}

// approve sends the payout, under a new end-to-end id where the present one is too old.
// Look-ups by the old id still find the payout.
func (d *draft) approve(t Transaction, c *Chain) Transaction {
	var b Body
	d.renew(&t, c, &b)
	t.Status = StatusSending
	d.wait(PayoutApproved, &t, d.stamp.Terms.OrphanAfter, b)
	d.launch = []Launch{{&t, GoalPay}}
	return t
}

// renew may change the end-to-end id of a payout that leaves a queue or is approved. If an
// equal payout was sent meanwhile under another id, this payout takes that id. Otherwise,
// if its own id is too old, it gets a new one. An id that the merchant chose is never
// changed, even if it is too old: the scheme then refuses it.
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
