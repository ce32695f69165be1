package ledger

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// DefaultReturnCode is the return code of a refund whose request names none: agreement
// between the parties.
const DefaultReturnCode = "MD06"

// fraudCode is the return code of the engine's own refunds, for special-return cases.
const fraudCode = "FR01"

// DefaultRefundDescription is the description of a refund whose request has none.
const DefaultRefundDescription = "Devolução PIX"

// RequestRefund holds the amount of a refund, which gives a received payment back to its
// payer, in full or in part.
type RequestRefund struct {
	Original    string     // id, transaction_id or end-to-end id of the received payment
	Amount      pix.Amount // base units; 0: the full amount of the payment
	Reason      string     // the return code, at most 64 characters; it is sent as it is
	Description string     // at most 140 characters
	ExternalID  string     // the merchant's own id of the refund; empty: none
	Claim       *Claim
}

// refundFacts are what the decision about a refund request needs beside its payment's refund sums
// and the cases that hold money of it.
type refundFacts struct {
	RequestRefund
	original *layout.Original // the received payment to refund; nil: the account received no such payment
	found    *Transaction     // the refund that an earlier request with the same Idempotency-Key made, where the journal has it from the scheme alone; nil: there is none
	suffix   string           // the end of the id of a refund with an Idempotency-Key
}

func (c RequestRefund) traits() Traits { return Traits{Claim: c.Claim, AwaitsScheme: true} }

// gather reads the payment and its refund sums. Any transaction but a received payment counts as unknown.
func (c RequestRefund) gather(g *gathering) (decider, error) {
	o, err := g.findPayment(c.Original)
	f := &refundFacts{RequestRefund: c, original: o}
	if err != nil || o == nil {
		return f, err
	}
	if c.Claim != nil {
		f.suffix = pix.RefundSuffix(g.stamp.Terms.Secret, g.account.ID, []byte(o.EndToEnd), c.Claim.Scope[:])
		if f.found, err = g.foundUnder(f.suffix); err != nil || f.found != nil {
			return f, err
		}
	}
	sums := &g.cases.Sums
	if *sums, err = g.readSums(o.ID, o.Amount); err != nil || sums.Held == 0 {
		return f, err
	}
	if f.amount() > sums.Left()+sums.Held {
		g.stakes.none = true // it is refused, whatever of the holds counts towards it
		return f, nil
	}
	g.cases.Rivals, err = g.holdersOf(sums)
	return f, err
}

// amount is what the request asks to refund of the payment, which must be known.
func (c *refundFacts) amount() pix.Amount { return cmp.Or(c.Amount, c.original.Amount) }

// findPayment finds a received payment by its id, transaction_id or end-to-end id; nil where there
// is none.
func (g *gathering) findPayment(name string) (*layout.Original, error) {
	if id, ok := pix.ParseTxID(name); ok {
		t, err := g.shownByID(id.Short())
		if t != nil && t.ID != id {
			t = nil
		}
		return originalOf(t), err
	}
	if short, ok := pix.ParsePublic(name); ok {
		t, err := g.shownByID(short)
		if t != nil && t.Public() != name {
			t = nil
		}
		return originalOf(t), err
	}
	if !pix.ValidEndToEnd(name) {
		return nil, nil
	}
	row, _, err := g.receivedRow(name)
	return row.Payment, err
}

// readSums reads the refund sums of a received payment; all are zero where nothing of it was
// refunded or held yet.
func (g *gathering) readSums(original pix.TxID, amount pix.Amount) (layout.RefundSums, error) {
	if s := g.RecentSums(original); s != nil {
		return *s, nil
	}
	sums, ok, err := layout.Find(g, layout.RefundSumsKey(g.account.ID, original), func(b []byte) (layout.RefundSums, error) {
		return layout.DecodeRefundSums(original, b)
	})
	if !ok {
		sums = layout.RefundSums{Original: original, Amount: amount}
	}
	return sums, err
}

// decide holds the amount of a refund in one step with the checks. The caller has
// checked the raw fields. The refusals here are, in order: unknown
// payment, more than is left of it, balance. Neither money that is not durable yet nor money
// that is held already is refunded. The exception is what a case holds whose refunds have
// failed for good: the merchant may give it back, which counts towards the case.
func (c *refundFacts) decide(d *draft) Decision {
	if c.original == nil {
		return refuseWith(refuse(RefuseUnknownOriginal, "transaction not found"))
	}
	if c.found != nil {
		return c.repeated(d)
	}
	amount := c.amount()
	counts, counted := d.countTowards(amount)
	if amount > d.facts.Sums.Left()+counted {
		return refuseWith(refuse(RefuseOverRefund, "the refunds would exceed the original amount"))
	}
	if rest := amount - counted; counted > d.covers(counts) || rest > 0 && rest > min(d.totals.free(), d.stamp.Durable.free()) {
		return refuseWith(refuse(RefuseSafeBalance, "insufficient balance"))
	}
	suffix := c.suffix
	if suffix == "" {
		suffix = pix.Base62(sha256.Sum256(d.stamp.ID[:]))
	}
	t := d.refundOf(d.stamp.ID, suffix, c.original, amount)
	t.Description, t.ExternalID = c.Description, c.ExternalID
	t.Refund.Code, t.Transfer.Claim, t.Refund.Counts = c.Reason, c.Claim, counts
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
func (d *draft) countTowards(amount pix.Amount) (counts []CaseShare, counted pix.Amount) {
	for _, k := range d.facts.Rivals {
		waits := d.mayStillSettle(k) || k.AwaitsOperator(&d.stamp.Terms)
		if part := min(k.Held, amount-counted); part > 0 && k.Stopped && !waits {
			counts = append(counts, CaseShare{k.ID, part})
			counted += part
		}
	}
	return counts, counted
}

// covers is what of the shares in holds the account has money for. As for the engine's own refunds of cases, the holds of older
// cases come first.
func (d *draft) covers(counts []CaseShare) (covered pix.Amount) {
	durable := &d.stamp.Durable
	released := max(0, durable.MEDHeld-d.totals.MEDHeld) // of cases' holds, and that is not durable
	money := min(d.totals.Balance-d.totals.Held, durable.Balance-durable.Held-released)
	for _, share := range counts {
		i := slices.IndexFunc(d.facts.Rivals, func(k *Case) bool { return k.ID == share.Case })
		covered += min(share.Amount, max(0, money-d.facts.Older[i]))
	}
	return covered
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
func (d *draft) refundOf(id pix.TxID, suffix string, o *layout.Original, amount pix.Amount) Transaction {
	return Transaction{
		ID: id, Kind: pix.TxRefund, Status: pix.StatusHeld, Amount: amount, Description: DefaultRefundDescription,
		EndToEnd:     pix.ReturnID(d.stamp.Terms.OwnISPB, d.stamp.Clock, suffix),
		Counterparty: o.Counterparty,
		Refund:       RefundPart{Original: o.ID, OriginalEndToEnd: o.EndToEnd, OriginalAmount: o.Amount},
		Transfer:     TransferPart{DueAt: d.stamp.Clock + d.stamp.Terms.OrphanAfter, DueKind: layout.DueTransfer},
	}
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
func (d *draft) sumsOf(original pix.TxID) layout.RefundSums {
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
