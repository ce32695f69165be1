package ledger

import (
	"pixd/actors/pix"
)

// DecideApproval is an operator's decision on a payout that waits for approval.
type DecideApproval struct {
	ID       pix.TxID
	Word     Approval
	Operator string // 1 to 100 characters
}

// approvalFacts are what the decision about an operator's word needs.
type approvalFacts struct {
	DecideApproval
	tx    *Transaction // nil: there is no such payout
	chain Chain        // state of the end-to-end id that the payout is to use
}

func (DecideApproval) traits() Traits { return Traits{NeedsActive: true} }

// gather returns ErrBusy where the payout would be approved under an id that the scheme has
// rejected; from the next minute on it gets another.
func (c DecideApproval) gather(g *gathering) (decider, error) {
	t, err := g.transfer(c.ID, "")
	f := &approvalFacts{DecideApproval: c, tx: t}
	if err != nil || t == nil {
		return f, err
	}
	g.stakes.released = t.Gross()
	if f.chain, err = g.renewal(t); err == nil && f.chain.Spent && c.Word == Approved {
		err = ErrBusy
	}
	return f, err
}

// mayBePaid tells whether a payout waits since before an accepted gap: nobody knows what the scheme has done in it.
func (t *Terms) mayBePaid(p *Transaction) bool {
	return t.GapOpen && p.waits() && p.ID.Time() <= t.GapEnd && p.Payout.Released <= t.GapEnd
}

// Holds tells whether a payout that waits is sent only once an operator lets it go on: it may have been paid
// in a gap, or may have failed in one. After a restore the latter holds of an id that the merchant chose: one that was
// requested instead has another id, and the scheme would pay both. Where the engine computes the ids, a later attempt that the
// scheme has tells (see FindPayout), and one that is requested now has the same id.
func (t *Terms) Holds(p *Transaction) bool {
	mayHaveFailed := p.waits() && p.Payout.OwnEndToEnd && t.restoredSince(p) && p.Payout.Released <= t.RestoredAt
	return mayHaveFailed || t.mayBePaid(p)
}

// decide sends a payout that waits for an operator's approval, or since a restore, or fails it, as the
// operator decided. Refusals: unknown payout, payout not pending (or decided otherwise
// before), inactive account, expired id.
func (c *approvalFacts) decide(d *draft) Decision {
	if c.tx == nil || c.tx.Kind != pix.TxPayout {
		return refuseWith(refuse(RefuseUnknownPayout, "no such payout"))
	}
	t := *c.tx
	held := d.stamp.Terms.Holds(&t) // an earlier approval, from before the restore, does not count
	switch {
	case !held && t.Payout.Decision == c.Word:
		return d.unchanged(&t)
	case !held && t.Payout.Decision == Approved:
		return refuseWith(refuse(RefuseNotPending, "the payout was approved already"))
	case !held && t.Payout.Decision == Declined:
		return refuseWith(refuse(RefuseNotPending, "the payout was declined already"))
	case !held && t.Status != pix.StatusPending:
		return refuseWith(refuse(RefuseNotPending, "the payout does not wait for approval"))
	case c.Word == Approved && d.stamp.Inactive:
		return refuseWith(refuse(RefuseInactive, "the account is not active"))
	}
	switch {
	case held && c.Word == Approved && t.Payout.QueueEnds != 0:
		t.Payout.QueueEnds = d.stamp.Clock + d.stamp.Terms.QueueTTL
	case c.Word == Declined && d.stamp.Terms.mayBePaid(&t):
		t.Transfer.Unsure = true // if the scheme settles it, it is debited
	}
	expired := t.Payout.OwnEndToEnd && NeedsRenewal(&t, d.stamp.Reading)
	if c.Word == Approved && expired {
		t = *d.fail(t, ReasonExpired)
		out := d.done(&t)
		out.Refusal = refuse(RefuseExpired, "the payout's own end_to_end_id is too old to go out: it has failed with approval_expired")
		return out
	}
	t.Payout.Decision, t.Payout.Operator = c.Word, c.Operator
	if c.Word == Declined {
		t = *d.fail(t, ReasonDeclined)
	} else {
		t = d.approve(t, &c.chain)
	}
	return d.done(&t)
}

// approve sends the payout, under a new end-to-end id where the present one is too old.
// Look-ups by the old id still find the payout.
func (d *draft) approve(t Transaction, c *Chain) Transaction {
	var b Body
	d.renew(&t, c, &b)
	kind := PayoutApproved
	if t.Status == pix.StatusQueued {
		kind = PayoutReleased
	}
	t.Status, t.ReasonCode = pix.StatusSending, ""
	d.letGo(&t)
	d.addWaiting(kind, &t, d.stamp.Terms.OrphanAfter, b)
	d.launch = []Launch{{&t, GoalPay}}
	return t
}

// letGo notes when a payout that waited since before a restore goes on.
func (d *draft) letGo(t *Transaction) {
	if terms := &d.stamp.Terms; terms.restoredSince(t) || t.ID.Time() <= terms.GapEnd {
		t.Payout.Released = d.stamp.Time
	}
}
