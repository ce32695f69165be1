package ledger

import (
	"fmt"
	"slices"
	"time"

	"pixd/actors/pix"
)

// renewAfter is the age of an end-to-end id, counted from the minute in the id, above which
// it is replaced by a new id when its payout leaves a queue or is approved. It is an hour
// less than the age at which the scheme refuses the id (FF08).
const renewAfter = pix.Millis(11 * time.Hour / time.Millisecond)

// NeedsRenewal tells whether a payout's end-to-end id is too old to be sent or, because the
// clock was ahead when the id was made, too far in the future. While engine time is doubted
// it is false: otherwise, of two equal payouts with the same id, one would be sent under a
// new id and the other, later, under the old one, and the scheme would pay both.
func NeedsRenewal(t *Transaction, now pix.Reading) bool {
	age := now.Clock - minuteOf(t.EndToEnd)
	return !now.Doubted && (age > renewAfter || age < -renewAfter)
}

// ExpiryOf is the instant from which the scheme refuses an end-to-end id (FF08, SPI
// catalogue): 12 h after the minute in the id.
func ExpiryOf(endToEnd string) pix.Millis { return minuteOf(endToEnd) + MaxRepeatWindow }

// minuteOf is the minute in an end-to-end id, whose form must be valid.
func minuteOf(endToEnd string) pix.Millis {
	at, err := time.Parse("200601021504", endToEnd[9:21])
	if err != nil {
		panic("ledger: end-to-end id " + endToEnd + " without its minute")
	}
	return pix.Millis(at.UnixMilli())
}

// renewal finds a new end-to-end id for a payout that leaves a queue or is approved. An
// empty Chain.EndToEnd means that the payout keeps its id or, if that is too old, gets the
// same suffix with a new minute. Otherwise Chain.EndToEnd is the id of an equal payout that
// was sent meanwhile. That is so however long ago the other one was sent, where it is from before a restore and younger: it may have
// been requested instead of this one, which had failed, and the scheme pays nothing more under its id.
func (g *gathering) renewal(t *Transaction) (Chain, error) {
	now := g.stamp.Reading
	if !t.waits() || t.Payout.OwnEndToEnd {
		return Chain{}, nil
	}
	key := EndToEndKeyOf(t)
	row, ok, err := g.endToEnd(key)
	if err == nil && !ok {
		err = fmt.Errorf("%v has no end-to-end row", t.ID)
	}
	if err != nil {
		return Chain{}, err
	}
	others, instead := use{now: now}, false
	for _, member := range row.All() {
		other, err := g.member(&row, member)
		if err != nil {
			return Chain{}, err
		}
		if member.ID == t.ID || other.waits() && (other.EndToEnd == t.EndToEnd || NeedsRenewal(other, now)) {
			continue // the other payout was not sent yet either, and gets the same id as this one when it is
		}
		matters := others.addTransaction(other)
		instead = instead || matters && g.stamp.Terms.restoredSince(other) && other.ID.Time() > t.ID.Time()
	}
	c := Chain{Suffix: string(key[1:])}
	if c.Moved, err = g.moved(t.EndToEnd, &row); err != nil {
		return Chain{}, err
	}
	if busy := instead || others.busy(g.account.Settings.RepeatWindow); !busy && NeedsRenewal(t, now) {
		c.Spent = others.endToEnd == pix.EndToEnd(g.stamp.Terms.OwnISPB, now.Clock, c.Suffix)
	} else if busy && (others.endToEnd != t.EndToEnd || NeedsRenewal(t, now)) {
		c.EndToEnd, c.Holder = others.endToEnd, others.holder
	}
	return c, nil
}

// movedBy returns the row of the present id of a payout that the scheme has under another id, as moved
// does; nil where the merchant chose the id.
func (g *gathering) movedBy(t *Transaction) (*Moved, error) {
	if t.Payout.OwnEndToEnd {
		return nil, nil
	}
	row, err := g.rowOf(t)
	if err != nil || row == nil {
		return nil, err
	}
	return g.moved(t.EndToEnd, row)
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
		fresh = pix.EndToEnd(d.stamp.Terms.OwnISPB, d.stamp.Clock, c.Suffix)
	default:
		return
	}
	if fresh != t.EndToEnd {
		t.Payout.Former = append(slices.Clone(t.Payout.Former), t.EndToEnd)
		t.EndToEnd, b.Moved = fresh, c.Moved
	}
}

// waits tells whether a payout waits to be sent: for approval or for directory capacity.
func (t *Transaction) waits() bool {
	return t.Status == pix.StatusPending || t.Status == pix.StatusQueued
}

// holder finds the transaction that has a payout's end-to-end id at the scheme, after the
// scheme rejected the payout as a duplicate: the transaction that settled, else the first
// that the scheme has or may have. Nil where no other transaction with the id was sent:
// then the scheme knows a transaction that the engine does not.
func (g *gathering) holder(t *Transaction) (*pix.TxID, error) {
	row, err := g.rowOf(t)
	if err != nil || row == nil {
		return nil, err
	}
	var best *Transaction
	for _, m := range row.All() {
		if m.ID == t.ID {
			continue
		}
		other, err := g.member(row, m)
		if err != nil {
			return nil, err
		}
		if other.EndToEnd == t.EndToEnd && (best == nil || closer(other, best)) && sent(other) {
			best = other
		}
	}
	if best == nil {
		return nil, nil
	}
	return &best.ID, nil
}

// sent tells whether the scheme may have the payout's end-to-end id from this payout.
func sent(t *Transaction) bool {
	switch t.Status {
	case pix.StatusSettled, pix.StatusAccepted, pix.StatusSending, pix.StatusHeld:
		return true
	case pix.StatusRejected:
		return t.ReasonCode != ReasonDuplicate
	}
	return t.Voided() || t.Transfer.RejectedAfterVoid
}

// closer tells whether the scheme is more likely to have payout a than payout b. A settled
// payout comes first, then a payout that the scheme has accepted, then a payout that is on
// its way. Of two equally likely payouts the one that was sent first counts.
func closer(a, b *Transaction) bool {
	if x, y := nearness(a), nearness(b); x != y {
		return x > y
	}
	return a.SentAt() < b.SentAt() || a.SentAt() == b.SentAt() && a.ID.Time() < b.ID.Time()
}

func nearness(t *Transaction) int {
	switch t.Status {
	case pix.StatusSettled:
		return 2
	case pix.StatusHeld, pix.StatusSending:
		return 0 // its child has not been heard of
	}
	return 1
}
