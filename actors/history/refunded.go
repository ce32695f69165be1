package history

import (
	"bytes"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// refunded sets what was refunded of the received payments among an account's transactions. It puts
// copies in the place of those of which something was, because others may hold the transactions.
func refunded(v View, a pix.AccountID, all []*ledger.Transaction) error {
	var first, last pix.TxID // of the received payments, in the order of their ids, which is that of their making
	paid := 0
	for _, t := range all {
		if !t.ReceivedPayment() {
			continue
		}
		if paid++; paid == 1 || bytes.Compare(t.ID[:], first[:]) < 0 {
			first = t.ID
		}
		if bytes.Compare(t.ID[:], last[:]) > 0 {
			last = t.ID
		}
	}
	if paid == 0 {
		return nil
	}
	sums, err := readSums(v, a, first, last, 4*paid)
	if err != nil {
		return err
	}
	for i, t := range all {
		if !t.ReceivedPayment() {
			continue
		}
		sum, err := sums.find(v, a, t.ID)
		if err != nil {
			return err
		}
		if sum != 0 {
			with := *t
			with.Refunded = sum
			all[i] = &with
		}
	}
	return nil
}

// settledSums are what was refunded of an account's received payments, up to one of them.
type settledSums struct {
	of map[pix.TxID]pix.Amount
	to pix.TxID // those of payments beyond this one were not read
}

// readSums reads the refund sums of the payments first to last, at most so many.
func readSums(v View, a pix.AccountID, first, last pix.TxID, most int) (s settledSums, err error) {
	s = settledSums{map[pix.TxID]pix.Amount{}, last}
	err = v.Scan(layout.RefundSumsKey(a, first), append(layout.RefundSumsKey(a, last), 0), func(k, b []byte) (bool, error) {
		id, err := layout.RefundSumsOriginal(k)
		if err != nil {
			return false, err
		}
		row, err := layout.DecodeRefundSums(id, b)
		s.of[id] = row.Settled
		if len(s.of) == most {
			s.to = id
			return false, err
		}
		return err == nil, err
	})
	return s, err
}

// find returns what was refunded of one payment; where it lies beyond those that were read, from its row.
func (s *settledSums) find(v View, a pix.AccountID, id pix.TxID) (pix.Amount, error) {
	if bytes.Compare(id[:], s.to[:]) <= 0 {
		return s.of[id], nil
	}
	row, _, err := layout.Find(v, layout.RefundSumsKey(a, id), func(b []byte) (layout.RefundSums, error) { return layout.DecodeRefundSums(id, b) })
	return row.Settled, err
}

// withRefunds is refunded for one transaction, which may be nil.
func withRefunds(v View, a pix.AccountID, t *ledger.Transaction) (*ledger.Transaction, error) {
	if t == nil || !t.ReceivedPayment() {
		return t, nil
	}
	sum, err := new(settledSums).find(v, a, t.ID)
	if err != nil || sum == 0 {
		return t, err
	}
	with := *t
	with.Refunded = sum
	return &with, nil
}
