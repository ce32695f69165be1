package ledger

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// FindRefund is a refund as the scheme has it, told to an engine whose journal was restored: the
// journal may lack every trace of it, or have it in an earlier state. No rule about refunds refuses it. It
// fails where the account did not receive the payment, or its ids are those of something else here.
type FindRefund struct {
	ID          pix.TxID
	ReturnID    string // its own id, D…, in the scheme's form
	Original    string // end-to-end id of the payment that it returns
	Amount      pix.Amount
	Code        string         // the return code
	Description string         // may be empty
	Result      TransferResult // TransferIsAccepted, TransferIsSettled or TransferIsRejected
	Reason      string         // the scheme's reason code, with TransferIsRejected
}

func (FindRefund) traits() Traits { return Traits{IsNotice: true} }

// gather reads the payment, which the account must have received.
func (c FindRefund) gather(g *gathering) (decider, error) {
	t, err := g.transfer(c.ID, c.ReturnID)
	if err != nil {
		return nil, err
	}
	if t != nil && (t.Kind != pix.TxRefund || t.Amount != c.Amount) {
		return nil, errAnother
	}
	if t != nil {
		return ResolveTransfer{ID: c.ID, EndToEnd: c.ReturnID, Notice: true, Restored: true, Result: c.Result, Reason: c.Reason}.gather(g)
	}
	original, err := g.received(c.Original)
	if err == nil && originalOf(original) == nil {
		err = ErrUnknownTransfer
	}
	if err != nil {
		return nil, err
	}
	if err := g.originalIs(original); err != nil {
		return nil, err
	}
	g.stakes.frees, g.stakes.finds = true, true
	g.cases.Rivals, err = g.holdersOf(&g.cases.Sums)
	if err == nil && c.Code == fraudCode && c.Result != TransferIsRejected {
		g.cases.Refunding, err = g.refundingOf(&g.cases.Sums)
	}
	return c, err
}

// refundingOf finds the cases towards which refunds of a payment count that are in flight. One of these may hold
// nothing of the payment: what the scheme has may be instead of the refund that is in flight here.
func (g *gathering) refundingOf(s *layout.RefundSums) (all []*Case, err error) {
	if s.InFlight == 0 {
		return nil, nil
	}
	var refunds []*Transaction
	if err := g.onTheirWay(s, func(t *Transaction) { refunds = append(refunds, t) }); err != nil {
		return nil, err
	}
	for _, t := range refunds {
		cases, err := g.readCounted(t)
		if err != nil {
			return nil, err
		}
		for _, k := range cases {
			if !slices.ContainsFunc(all, func(had *Case) bool { return had.ID == k.ID }) {
				all = append(all, k)
			}
		}
	}
	return all, nil
}

// decide books a refund that the journal lacks. One that has settled counts towards the case that it
// was made for.
func (c FindRefund) decide(d *draft) Decision {
	if c.Result == TransferIsSettled {
		t, r := d.findRefund(FoundReturn{Returned: Returned{ID: c.ID, ReturnID: c.ReturnID, Amount: c.Amount, Reason: c.Code}}, c.Description)
		if r != nil {
			return refuseWith(r)
		}
		return d.done(t)
	}
	rejected := c.Result == TransferIsRejected
	if rejected && c.Amount > d.facts.Sums.Left() {
		return d.unchanged(nil) // it moves no money, and what cases hold must not make room for it
	}
	t, r := d.findOpenRefund(&c, rejected)
	if r != nil {
		return refuseWith(r)
	}
	if rejected {
		failed := d.failRefund(*t, c.Reason)
		t = &failed
	}
	return d.done(t)
}

// findOpenRefund holds the amount of a refund that the scheme has and the journal lacks, even where
// the balance is lower. Unless the scheme has rejected it, it counts towards the case that it was made
// for, and what cases hold of the payment makes room for it, so that nobody gives the money back again.
func (d *draft) findOpenRefund(c *FindRefund, rejected bool) (*Transaction, *Refusal) {
	t := d.refundOf(c.ID, "", originalOf(d.facts.Original), c.Amount)
	t.EndToEnd, t.Refund.Code, t.Status = c.ReturnID, c.Code, pix.StatusAccepted
	if c.Description != "" {
		t.Description = c.Description
	}
	sums := d.sumsOf(t.Refund.Original)
	if !rejected {
		d.countTowardsCase(&t)
		t.Refund.Counted = len(t.Shares()) > 0
		d.takeOff(&t, CaseCounted, &sums)
	}
	sums.InFlight += t.Amount
	sums.Excess = max(sums.Excess, sums.Settled+sums.InFlight+sums.Held-sums.Amount)
	d.show(&t)
	return &t, d.add(RefundFoundOpen, Body{Tx: &t, Sums: &sums, Suffixes: suffixOf(&t)})
}

// suffixOf is the suffix by which a request finds the refund that an earlier request with the same
// Idempotency-Key made.
func suffixOf(t *Transaction) []string { return []string{t.EndToEnd[len(t.EndToEnd)-pix.SuffixChars:]} }

// foundUnder finds the refund that an earlier request made under the same Idempotency-Key, within the time
// for which a key counts, and that the journal has from the scheme alone: nil where there is none, or it
// has failed.
func (g *gathering) foundUnder(suffix string) (*Transaction, error) {
	row, ok, err := layout.Find(g, layout.SuffixKey(suffix), layout.DecodeEndToEndRow)
	if err != nil || !ok || row.Account != g.account.ID {
		return nil, err
	}
	t, err := g.state(row.ID, row.Seq)
	if err != nil || t.Kind != pix.TxRefund || t.Status == pix.StatusFailed {
		return nil, err
	}
	if now := g.stamp.Reading; !now.Doubted && now.Clock-minuteOf(t.EndToEnd) >= day {
		return nil, nil
	}
	return t, nil
}

// repeated answers a request that repeats one whose refund the journal has from the scheme. As with any
// key that was used before, the rest of the request does not count.
func (c *refundFacts) repeated(d *draft) Decision {
	d.mustAdd(AnswerKept, Body{Claim: c.Claim})
	out := d.done(c.found)
	out.Repeat = true
	return out
}
