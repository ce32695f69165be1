package ledger

import (
	"fmt"
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
		if f.Beside, err = g.beside(f); err != nil {
			return err
		}
	}
	if f.Tx.Refund.Case == nil {
		return nil
	}
	f.Case = f.Counted[0]
	return g.payment(f)
}

// beside sums up what the payment's other refunds in flight count towards each case towards which
// a refund counts; nil where nothing was refunded for any of the cases yet: without a late settlement
// a case has room for all of its refunds. It does not find one that was not accepted yet.
func (g *gathering) beside(f *Facts) ([]Amount, error) {
	left := f.Sums.InFlight - f.Tx.Amount
	if left <= 0 || !slices.ContainsFunc(f.Counted, func(k *Case) bool { return k.Refunded > 0 }) {
		return nil, nil
	}
	all := make([]Amount, len(f.Counted))
	lo, hi := OpenOf(g.account.ID)
	err := g.accepted(lo, hi, f.Sums.Original, func(t *Transaction) bool {
		if t.ID == f.Tx.ID {
			return true
		}
		for _, share := range t.Shares() {
			if i := slices.IndexFunc(f.Counted, func(k *Case) bool { return k.ID == share.Case }); i >= 0 {
				all[i] += share.Amount
			}
		}
		left -= t.Amount
		return left > 0
	})
	return all, err
}

// accepted visits the refunds of a payment that the scheme has or may have and that are in flight, of a
// range of the account's open rows, until visit returns false. It reads each transaction of the range.
func (g *gathering) accepted(lo, hi []byte, original TxID, visit func(*Transaction) bool) error {
	return g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		_, id, err := DecodeOpenKey(k)
		if err != nil {
			return false, err
		}
		t, err := g.transfer(id, "")
		if err != nil || t == nil || t.Kind != TxRefund || t.Refund.Original != original || !t.Status.InFlight() {
			return err == nil, err
		}
		return visit(t), nil
	})
}

// mayBeBack tells whether the money of a refund in flight may have gone back by another refund. So
// it is where more of the payment, or of what a case disputes towards which it counts, went back than
// leaves room for it; and where it counts towards a case and was made before a restore whose gap was
// accepted, whatever was counted since.
func (g *gathering) mayBeBack(t *Transaction) (bool, error) {
	sums, err := g.sums(t.Refund.Original, t.Refund.OriginalAmount)
	if tooMuch := sums.Settled+sums.InFlight > sums.Amount; err != nil || tooMuch {
		return tooMuch, err
	}
	all, err := g.counted(t)
	for i, k := range all {
		if t.ID.Time() <= g.stamp.Terms.GapEnd || k.Refunded+t.Shares()[i].Amount > k.Amount {
			return true, nil
		}
	}
	return false, err
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
