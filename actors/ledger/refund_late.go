package ledger

import (
	"fmt"
	"math"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// mayBeBack tells whether the money of a refund in flight may have gone back by another refund. So
// it is where more of the payment, or of what a case disputes towards which it counts, went back or is
// on its way than leaves room for it. Where it was made before a restore, the scheme may have refused it since, and
// another may have gone out instead, or its merchant may request another: so it is always, but for one that the
// engine makes for a case. That one is looked for among the payment's other refunds, unless the gap was accepted.
func (g *gathering) mayBeBack(t *Transaction) (bool, error) {
	sums, err := g.readSums(t.Refund.Original, t.Refund.OriginalAmount)
	if tooMuch := sums.Settled+sums.InFlight > sums.Amount; err != nil || tooMuch {
		return tooMuch, err
	}
	if g.stamp.Terms.restoredSince(t) && (t.Refund.Case == nil || sums.Settled+sums.InFlight > t.Amount) {
		return true, nil
	}
	cases, err := g.readCounted(t)
	if err != nil {
		return false, err
	}
	if len(cases) > 0 && t.ID.Time() <= g.stamp.Terms.GapEnd {
		return true, nil
	}
	beside, err := g.otherRefundsInFlight(t, &sums, cases)
	if err != nil || beside == nil {
		return false, err
	}
	for i, k := range cases {
		if share := t.share(i); k.Refunded+beside[i]+share > k.Amount {
			return true, nil
		}
	}
	return false, nil
}

// otherRefundsInFlight sums up what other refunds in flight count towards each case of the facts towards which a
// refund counts; nil where each case has room for all that is in flight of the payment, as it has but
// for a refund that settled late.
func (g *gathering) otherRefundsInFlight(t *Transaction, sums *layout.RefundSums, cases []*Case) ([]pix.Amount, error) {
	if !slices.ContainsFunc(cases, func(k *Case) bool { return sums.InFlight > k.room() }) {
		return nil, nil
	}
	all := make([]pix.Amount, len(cases))
	err := g.onTheirWay(sums, func(other *Transaction) {
		if other.ID == t.ID || other.Refund.Counted {
			return
		}
		for _, share := range other.Shares() {
			if i := slices.IndexFunc(cases, func(k *Case) bool { return k.ID == share.Case }); i >= 0 {
				all[i] += share.Amount
			}
		}
	})
	return all, err
}

// share is what of a refund is to count towards one of its cases, and does not yet.
func (t *Transaction) share(i int) pix.Amount {
	if t.Refund.Counted {
		return 0
	}
	return t.Shares()[i].Amount
}

// onTheirWay visits all refunds of a payment that are in flight. Those that child actors carry are in
// memory, and those that the scheme has or may have are among the account's open rows. To one that the
// scheme may not have, and that no child carries since a restart or since the scheme was not heard, only
// its due row leads, among those of all accounts.
func (g *gathering) onTheirWay(sums *layout.RefundSums, visit func(*Transaction)) error {
	left, seen := sums.InFlight, map[pix.TxID]bool{}
	take := func(t *Transaction) bool {
		if t != nil && t.Kind == pix.TxRefund && t.Refund.Original == sums.Original && t.Status.InFlight() && !seen[t.ID] {
			seen[t.ID] = true
			left -= t.Amount
			visit(t)
		}
		return left > 0
	}
	g.EachCarried(take)
	if left <= 0 {
		return nil
	}
	lo, hi := layout.OpenOf(g.account.ID)
	err := g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		_, id, err := layout.DecodeOpenKey(k)
		if err != nil {
			return false, err
		}
		t, err := g.transfer(id, "")
		return err == nil && take(t), err
	})
	if err != nil || left <= 0 {
		return err
	}
	lo, hi = layout.DueRange(layout.DueTransfer, 0, math.MaxInt64)
	return g.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := layout.DecodeDue(k, v)
		if err != nil || d.Account != g.account.ID {
			return err == nil, err
		}
		t, err := g.state(pix.TxID(d.ID), d.Seq)
		return err == nil && take(t), err
	})
}

// readCounted reads the cases towards which a refund counts.
func (g *gathering) readCounted(t *Transaction) (all []*Case, err error) {
	for _, share := range t.Shares() {
		k, err := g.caseWith(share.Case)
		if err == nil && k == nil {
			err = fmt.Errorf("%v, towards which %v counts, has no row", share.Case, t.ID)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// settleRefundLate debits a refund that had failed, even where the balance falls below zero
// or more goes back than was received: the books follow the scheme.
func (d *draft) settleRefundLate(t Transaction) (Transaction, *Refusal) {
	sums := d.countBack(&t, CaseRefunded)
	t.Status, t.ReasonCode, t.Transfer.LateAt = pix.StatusSettled, "", d.stamp.Time
	if r := d.add(RefundSettledLate, Body{Tx: &t, Sums: sums, Events: []pix.EventKind{pix.EventRefundCompleted}}); r != nil {
		return t, r
	}
	d.alert(AlertLate, &t, "a refund settled after it had failed: its amount is debited")
	return t, nil
}

// countBack counts a refund that no hold was made for. What cases hold of the payment becomes
// smaller, so that no more of it is refunded: first what the refund counts towards, then the
// newest case's. kind is that of the record about the former. It returns the refund sums.
func (d *draft) countBack(t *Transaction, kind RecordKind) *layout.RefundSums {
	sums := d.sumsOf(t.Refund.Original)
	d.takeOff(t, kind, &sums)
	sums.Settled += t.Amount
	sums.Excess = max(sums.Excess, sums.Settled+sums.InFlight+sums.Held-sums.Amount)
	t.Refund.Refunded = sums.Settled
	return &sums
}

// takeOff counts a refund towards its cases, and takes off what cases hold of the payment what it needs.
func (d *draft) takeOff(t *Transaction, kind RecordKind, sums *layout.RefundSums) {
	for i, share := range t.Shares() {
		k := d.newest(d.facts.Counted[i])
		k.Refunded += share.Amount
		k.Short = max(0, k.Short-max(0, share.Amount-k.Held))
		d.shrink(kind, k, sums, share.Amount)
	}
	d.makeRoom(t.Amount, sums)
}

// makeRoom takes off what cases hold of the payment what a refund of the amount needs beyond what is
// left of the payment.
func (d *draft) makeRoom(amount pix.Amount, sums *layout.RefundSums) {
	for _, rival := range slices.Backward(d.facts.Rivals) { // the oldest case keeps its hold longest
		k := d.newest(rival)
		excess := amount - (sums.Amount - sums.Settled - sums.InFlight - sums.Held)
		if excess > 0 && k.Held > 0 {
			k.Short += min(excess, k.Held)
			d.shrink(CaseReduced, k, sums, excess)
		}
	}
}

// shrink takes at most part off what a case holds. A decided case that holds and lacks nothing
// any more waits for nothing.
func (d *draft) shrink(kind RecordKind, k *Case, sums *layout.RefundSums, part pix.Amount) {
	part = min(part, k.Held)
	k.Held -= part
	sums.Held -= part
	if k.Status.Decided() {
		k.settle(sums)
	}
	d.mustAddCase(kind, k, Body{Sums: sums})
}
