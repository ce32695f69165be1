package ledger

import (
	"cmp"
	"encoding/binary"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Owing is a case for which the engine still has to make refunds, with what a refund needs.
type Owing struct {
	Case     *Case
	Original *layout.Original
	Sums     layout.RefundSums
}

// maxRefunds is how many refunds one decision makes for special-return cases. The outcome of
// each is a command of its own, which makes the next ones.
const maxRefunds = 64

// completeCases completes a decision: cases hold what the decision has freed of their payment,
// and what agreed cases still owe is refunded, as far as there is money. The money, which is what
// balance minus holds of transfers leaves, covers the oldest case first, each from what is left.
func (d *draft) completeCases(out Decision) Decision {
	if out.Refusal != nil && len(out.Records) == 0 {
		return out // what the draft has collected is dropped
	}
	if len(d.records) > 0 {
		d.raiseHolds()
		if d.totals.Owed > 0 {
			d.refundCases()
			if d.releaseLate(out.Case) {
				d.raiseHolds()
				d.refundCases()
			}
		}
		out.Records, out.Launch, out.Alerts = d.records, d.launch, d.alerts
	}
	if k := out.Case; k != nil {
		shown := *k
		if changed := d.cases[k.Ordinal]; changed != nil {
			shown = *changed
		}
		shown.Covered = d.covered(&shown)
		out.Case = &shown
	}
	return out
}

// mayTakeFreed returns the cases that may take what is freed, the oldest first. The decision's own
// case is one of them: an earlier version of the engine wrote no row of what a case lacks.
func (d *draft) mayTakeFreed() []*Case {
	k := d.facts.Case
	if k == nil {
		return d.facts.Lacking
	}
	at, there := slices.BinarySearchFunc(d.facts.Lacking, k.Ordinal, func(l *Case, ordinal uint64) int { return cmp.Compare(l.Ordinal, ordinal) })
	if there {
		return d.facts.Lacking
	}
	return slices.Insert(slices.Clone(d.facts.Lacking), at, k)
}

// releaseLate releases what a case still holds after its refunds, if the scheme takes no more
// returns of its payment by the time at which the case is closed as agreed. It returns whether
// anything was released.
func (d *draft) releaseLate(closed *Case) bool {
	if closed == nil {
		return false
	}
	k := d.cases[closed.Ordinal]
	if k == nil || k.Owed() == 0 || !k.over(d.stamp.Reading) {
		return false
	}
	late := *k
	d.releaseUnrefunded(&late)
	return true
}

// raiseHolds lets the cases that dispute more of a payment than they hold take what the decision
// has freed of it, the oldest first. Beyond the time for returns an agreed case takes no more.
func (d *draft) raiseHolds() {
	for _, k := range d.mayTakeFreed() {
		now, sums := d.newest(k), d.sumsOf(k.Original)
		more := min(now.Lacks(), sums.Left())
		if more <= 0 || now.Status.Decided() && now.over(d.stamp.Reading) {
			continue
		}
		now.Held += more
		sums.Held += more
		if now.Status.Decided() {
			now.Short -= more
			now.settle(&sums)
		}
		if r := d.addCase(CaseRaised, now, &sums); r != nil {
			return // the sum of all holds would not fit 64 bits
		}
	}
}

// refundCases refunds what agreed cases are owed. The part of a case for which there is money
// is rounded down to whole centavos.
func (d *draft) refundCases() {
	left := d.totals.Balance - d.totals.Held
	for _, h := range d.holding() {
		part := min(h.Held, left)
		if part <= 0 || d.made == maxRefunds {
			return
		}
		left -= part
		if part < h.Held {
			part -= part % pix.UnitsPerCentavo // the scheme moves whole centavos
		}
		o := d.owing(h.Ordinal)
		switch {
		case o == nil || !h.Owed || part <= 0:
			continue
		case o.Case.AwaitsOperator(&d.stamp.Terms): // the journal was restored since its newest record
			d.mustAddCase(CaseAwaits, o.Case, Body{})
			d.alertAwaits(o.Case)
		default:
			d.refundCase(o, part)
		}
		d.made++
	}
}

// holding returns the cases that hold money, as they are after the decision's records so far,
// the oldest first. Where caseFacts.Holding was not gathered there is money for all of them, and
// it returns those that the decision changed.
func (d *draft) holding() []layout.Holding {
	var all []layout.Holding
	for _, h := range d.facts.Holding {
		if d.cases[h.Ordinal] == nil {
			all = append(all, h)
		}
	}
	for ordinal, k := range d.cases {
		if k.Held > 0 {
			all = append(all, layout.Holding{Ordinal: ordinal, Held: k.Held, Owed: k.Owed() > 0})
		}
	}
	slices.SortFunc(all, func(a, b layout.Holding) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return all
}

// owing finds the case with that ordinal among those for which refunds are made.
func (d *draft) owing(ordinal uint64) *Owing {
	changed := d.cases[ordinal]
	for i := range d.facts.Owing {
		if o := d.facts.Owing[i]; o.Case.Ordinal == ordinal {
			if changed != nil {
				o.Case = changed
			}
			return &o
		}
	}
	if changed != nil && d.facts.Original != nil && d.facts.Original.ID == changed.Original {
		return &Owing{Case: changed, Original: originalOf(d.facts.Original)}
	}
	return nil
}

// refundCase refunds a part of what an agreed case holds: the part leaves the case's hold
// and becomes a refund in flight.
func (d *draft) refundCase(o *Owing, part pix.Amount) {
	k, sums := *o.Case, d.sumsOf(o.Case.Original)
	k.Held -= part
	sums.Held -= part
	k.Parts++
	k.settle(&sums)
	d.mustAddCase(CaseRefunding, &k, Body{Sums: &sums})
	t := d.refundOf(d.drawID(), d.partSuffix(&k, k.Parts), o.Original, part)
	t.Refund.Code, t.Refund.Case = fraudCode, &k.ID
	d.holdRefund(&t, nil)
}

// partSuffix is the end of the id of the refund that is the given part of a case, from 1.
func (d *draft) partSuffix(k *Case, part uint64) string {
	return pix.RefundSuffix(d.stamp.Terms.Secret, d.account.ID, k.ID[:], binary.BigEndian.AppendUint64(nil, part))
}

// covered is the part of a case's hold for which there is money: what balance minus holds of
// transfers leaves after all older cases have taken theirs.
func (d *draft) covered(k *Case) pix.Amount {
	left := d.totals.Balance - d.totals.Held
	switch {
	case k.Ordinal >= d.totals.Cases: // the newest case: all others are older
		left -= d.totals.MEDHeld - k.was.held
	case d.facts.Holding != nil:
		for _, h := range d.holding() {
			if h.Ordinal < k.Ordinal {
				left -= h.Held
			}
		}
	}
	return max(0, min(k.Held, left))
}
