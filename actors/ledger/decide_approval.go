package ledger

import "time"

// renewAfter is the age, from its minute, at which an end-to-end id is renewed when
// its payout is approved: an hour before the scheme would refuse it (FF08).
const renewAfter = Millis(11 * time.Hour / time.Millisecond)

// NeedsRenewal tells an end-to-end id too old to go out now.
func NeedsRenewal(t *Transaction, now Millis) bool {
	return now > minuteOf(t.EndToEnd)+renewAfter
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
	case t.Decision == c.Word:
		return Decision{Tx: &t, Repeat: true}
	case t.Decision == Approved:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout was approved already")}
	case t.Decision == Declined:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout was declined already")}
	case t.Status != StatusPending:
		return Decision{Refusal: refuse(RefuseNotPending, "the payout does not wait for approval")}
	case c.Word == Approved && f.Inactive:
		return Decision{Refusal: refuse(RefuseInactive, "the account is not active")}
	}
	expired := NeedsRenewal(&t, d.stamp.Time) && t.OwnEndToEnd
	if c.Word == Approved && expired {
		t = d.fail(t, ReasonExpired)
		refusal := refuse(RefuseExpired, "the payout's own end_to_end_id is too old to go out: it has failed with approval_expired")
		return Decision{Records: d.records, Tx: &t, Refusal: refusal}
	}
	t.Decision, t.Operator = c.Word, c.Operator
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
	if NeedsRenewal(&t, d.stamp.Time) {
		fresh := c.EndToEnd
		if fresh == "" {
			fresh = EndToEnd(d.stamp.Terms.OwnISPB, d.stamp.Time, c.Suffix)
		} else {
			t.Repeat, t.DuplicateOf = true, &c.Holder
		}
		if fresh != t.EndToEnd {
			t.Former, t.EndToEnd, b.Moved = t.EndToEnd, fresh, c.Moved
		}
	}
	t.Status = StatusSending
	d.wait(PayoutApproved, &t, d.stamp.Terms.OrphanAfter, b)
	return t
}

// expirePayout fails a payout that has waited for too long; one that has not, or no
// longer waits, is left as it is.
func (d *draft) expirePayout(f Facts) Decision {
	if f.Tx == nil || d.stamp.Time < f.Tx.DueAt {
		return Decision{Tx: f.Tx, Repeat: true}
	}
	t := *f.Tx
	switch t.Status {
	case StatusQueued:
		t = d.fail(t, ReasonQueueTimeout)
	case StatusPending:
		t = d.fail(t, ReasonExpired)
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}
