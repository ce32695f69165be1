package ledger

import (
	"fmt"
	"math"
	"slices"
)

// original reads the received payment that a refund request names by id, transaction_id or
// end-to-end id, and its refund sums. Any other transaction counts as unknown.
func (g *gathering) original(f *Facts, name string) error {
	o, err := g.named(name)
	if err != nil || o == nil {
		return err
	}
	f.Refunded = o
	if f.Sums, err = g.sums(o.ID, o.Amount); err == nil && f.Sums.Held > 0 {
		f.Rivals, err = g.holdersOf(&f.Sums)
	}
	return err
}

// named finds a received payment by its id, transaction_id or end-to-end id; nil where there
// is none.
func (g *gathering) named(name string) (*Original, error) {
	if id, ok := ParseTxID(name); ok {
		t, err := g.shown(id.Short())
		if t != nil && t.ID != id {
			t = nil
		}
		return originalOf(t), err
	}
	if short, ok := ParsePublic(name); ok {
		t, err := g.shown(short)
		if t != nil && t.Public() != name {
			t = nil
		}
		return originalOf(t), err
	}
	if !ValidEndToEnd(name) {
		return nil, nil
	}
	row, _, err := g.receivedRow(name)
	return row.Payment, err
}

// sums reads the refund sums of a received payment; all are zero where nothing of it was
// refunded or held yet.
func (g *gathering) sums(original TxID, amount Amount) (RefundSums, error) {
	if s := g.RecentSums(original); s != nil {
		return *s, nil
	}
	row, ok, err := g.Row(RefundSumsKey(g.account.ID, original))
	if err != nil || !ok {
		return RefundSums{Original: original, Amount: amount}, err
	}
	return DecodeRefundSums(original, row)
}

// refund reads what the outcome of a refund changes: the refund sums and the special-return
// cases towards which it counts; where the refund settles although it had failed, also the
// other cases of its payment.
func (g *gathering) refund(f *Facts, result TransferResult) (err error) {
	if f.Sums, err = g.sums(f.Tx.Refund.Original, f.Tx.Refund.OriginalAmount); err != nil {
		return err
	}
	if late := f.Tx.Voided() && result == TransferIsSettled; late && f.Sums.Held > 0 {
		if f.Rivals, err = g.holdersOf(&f.Sums); err != nil {
			return err
		}
	}
	if f.Counted, err = g.counted(f.Tx); err != nil {
		return err
	}
	if result != TransferIsSettled { // the refund may fail
		if f.Beside, err = g.beside(f.Tx, &f.Sums, f.Counted); err != nil {
			return err
		}
	}
	if f.Tx.Refund.Case == nil {
		return nil
	}
	f.Case = f.Counted[0]
	return g.payment(f)
}

// beside sums up what other refunds in flight count towards each case of the facts towards which a
// refund counts; nil where each case has room for all that is in flight of the payment, as it has but
// for a refund that settled late.
func (g *gathering) beside(t *Transaction, sums *RefundSums, cases []*Case) ([]Amount, error) {
	if !slices.ContainsFunc(cases, func(k *Case) bool { return sums.InFlight > k.room() }) {
		return nil, nil
	}
	all := make([]Amount, len(cases))
	err := g.onTheirWay(sums, func(other *Transaction) {
		if other.ID == t.ID {
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

// onTheirWay visits all refunds of a payment that are in flight. Those that child actors carry are in
// memory, and those that the scheme has or may have are among the account's open rows. To one that the
// scheme may not have, and that no child carries since a restart or since the scheme was not heard, only
// its due row leads, among those of all accounts.
func (g *gathering) onTheirWay(sums *RefundSums, visit func(*Transaction)) error {
	left, seen := sums.InFlight, map[TxID]bool{}
	take := func(t *Transaction) bool {
		if t != nil && t.Kind == TxRefund && t.Refund.Original == sums.Original && t.Status.InFlight() && !seen[t.ID] {
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
	lo, hi := OpenOf(g.account.ID)
	err := g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		_, id, err := DecodeOpenKey(k)
		if err != nil {
			return false, err
		}
		t, err := g.transfer(id, "")
		return err == nil && take(t), err
	})
	if err != nil || left <= 0 {
		return err
	}
	lo, hi = DueRange(DueTransfer, 0, math.MaxInt64)
	return g.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := DecodeDue(k, v)
		if err != nil || d.Account != g.account.ID {
			return err == nil, err
		}
		t, err := g.state(TxID(d.ID), d.Seq)
		return err == nil && take(t), err
	})
}

// mayBeBack tells whether the money of a refund in flight may have gone back by another refund. So
// it is where more of the payment, or of what a case disputes towards which it counts, went back or is
// on its way than leaves room for it; and where it counts towards a case and was made before a restore
// whose gap was accepted, whatever was counted since.
func (g *gathering) mayBeBack(t *Transaction) (bool, error) {
	sums, err := g.sums(t.Refund.Original, t.Refund.OriginalAmount)
	if tooMuch := sums.Settled+sums.InFlight > sums.Amount; err != nil || tooMuch {
		return tooMuch, err
	}
	cases, err := g.counted(t)
	if err != nil {
		return false, err
	}
	if len(cases) > 0 && t.ID.Time() <= g.stamp.Terms.GapEnd {
		return true, nil
	}
	beside, err := g.beside(t, &sums, cases)
	if err != nil || beside == nil {
		return false, err
	}
	for i, k := range cases {
		if k.Refunded+beside[i]+t.Shares()[i].Amount > k.Amount {
			return true, nil
		}
	}
	return false, nil
}

// counted reads the cases towards which a refund counts.
func (g *gathering) counted(t *Transaction) (all []*Case, err error) {
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
