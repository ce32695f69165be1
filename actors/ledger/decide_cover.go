package ledger

import (
	"cmp"
	"slices"
)

// Owing is a case for which the engine still has to make refunds, with what a refund needs.
type Owing struct {
	Case     *Case
	Original *Original
	Sums     RefundSums
}

// maxRefunds is how many refunds one decision makes for special-return cases. The outcome of
// each is a command of its own, which makes the next ones.
const maxRefunds = 64

// afterCases completes a decision: it refunds what agreed cases still owe, as far as there is
// money. The money, which is what balance minus holds of transfers leaves, covers the oldest
// case first, each from what is left.
func (d *draft) afterCases(out Decision) Decision {
	if out.Refusal != nil && len(out.Records) == 0 {
		return out // what the draft has collected is dropped
	}
	if d.totals.Owed > 0 && len(d.records) > 0 {
		d.refundCases()
		d.releaseLate(out.Case)
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

// releaseLate releases what a case still holds after its refunds, if the scheme takes no more
// returns of its payment by the time at which the case is closed as agreed.
func (d *draft) releaseLate(closed *Case) {
	if closed == nil || d.stamp.Doubted {
		return
	}
	if k := d.cases[closed.Ordinal]; k != nil && k.Owed() > 0 && d.stamp.Clock >= k.ends(k.ReleaseAt, d.stamp.Reading) {
		late := *k
		d.release(CaseReleased, &late)
	}
}

// refundCases refunds what agreed cases are owed. The part of a case for which there is money
// is rounded down to whole centavos.
func (d *draft) refundCases() {
	left, made := d.totals.Balance-d.totals.Held, 0
	for _, h := range d.holding() {
		part := min(h.Held, left)
		if part <= 0 || made == maxRefunds {
			return
		}
		left -= part
		if part < h.Held {
			part -= part % UnitsPerCentavo // the scheme moves whole centavos
		}
		if o := d.owing(h.Ordinal); o != nil && h.Owed && part > 0 {
			d.refundCase(o, part)
			made++
		}
	}
}

// holding returns the cases that hold money, as they are after the decision's records so far,
// the oldest first. Where Facts.Holding was not gathered there is money for all of them, and
// it returns those that the decision changed.
func (d *draft) holding() []Holding {
	var all []Holding
	for _, h := range d.facts.Holding {
		if d.cases[h.Ordinal] == nil {
			all = append(all, h)
		}
	}
	for ordinal, k := range d.cases {
		if k.Held > 0 {
			all = append(all, Holding{Ordinal: ordinal, Held: k.Held, Owed: k.Owed() > 0})
		}
	}
	slices.SortFunc(all, func(a, b Holding) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
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
func (d *draft) refundCase(o *Owing, part Amount) {
	k, sums := *o.Case, d.sumsOf(o.Case.Original)
	k.Held -= part
	sums.Held -= part
	if k.Held == 0 {
		k.DueAt = 0
	}
	d.mustAddCase(CaseRefunding, &k, Body{Sums: &sums})
	t := d.refundOf(d.draw(), o.Original, part)
	t.Refund.Code, t.Refund.Case = fraudCode, &k.ID
	d.holdRefund(&t, nil)
}

// covered is the part of a case's hold for which there is money: what balance minus holds of
// transfers leaves after all older cases have taken theirs.
func (d *draft) covered(k *Case) Amount {
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
