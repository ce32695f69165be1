package audit

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// checkCases compares the account's special-return cases with the holding rows and due rows,
// and its refunds in flight and cases with the refund sums of each payment. due counts the due
// rows that belong to a case.
func (a *Account) checkCases(r layout.Rows, due *int) error {
	for _, ordinal := range slices.Sorted(maps.Keys(a.cases)) {
		k := a.cases[ordinal]
		if k.DueAt == 0 {
			continue
		}
		_, ok, err := r.Get(layout.DueKey(layout.DueCase, k.DueAt, a.ID, layout.EntityID(k.ID)))
		if err != nil {
			return err
		}
		if ok {
			*due++
		} else {
			a.tell(KindDue, k.Payment(), "%v, which is %v, has none", k.ID, k.Status)
		}
	}
	if err := a.checkHoldings(r); err != nil {
		return err
	}
	return a.checkRefunds(r)
}

func (a *Account) strayCaseDue(d *layout.Due) {
	for _, k := range a.cases {
		if k.ID == pix.CaseID(d.ID) && k.DueAt == d.At {
			return
		}
	}
	if d.Account == a.ID {
		a.tell(KindDue, "", "%v: at %v nothing is due", pix.CaseID(d.ID), d.At)
	}
}

// checkHoldings compares the cases that hold money with the holding rows.
func (a *Account) checkHoldings(r layout.Rows) error {
	seen := map[uint64]bool{}
	lo, hi := layout.HoldingsOf(a.ID)
	err := r.Scan(lo, hi, func(k, v []byte) (bool, error) {
		h, err := layout.DecodeHolding(k, v)
		if err != nil {
			return false, err
		}
		seen[h.Ordinal] = true
		if c := a.cases[h.Ordinal]; c == nil || c.Held != h.Held || (c.Owed() > 0) != h.Owed {
			a.tell(KindCase, "", "case %d holds %d by its row and not by its records", h.Ordinal, h.Held)
		}
		return true, nil
	})
	for _, ordinal := range slices.Sorted(maps.Keys(a.cases)) {
		if k := a.cases[ordinal]; err == nil && k.Held > 0 && !seen[ordinal] {
			a.tell(KindCase, k.Payment(), "%v holds %d and has none", k.ID, k.Held)
		}
	}
	return err
}

// checkRefunds compares the refund sums of each payment with the refunds in flight and the
// cases, and all settled refunds of the account with the sums of its rows.
func (a *Account) checkRefunds(r layout.Rows) error {
	inFlight, held := map[pix.TxID]pix.Amount{}, map[pix.TxID]pix.Amount{}
	for _, w := range a.open {
		if w.is == pix.TxRefund {
			inFlight[w.of] += w.gross
		}
	}
	for _, k := range a.cases {
		held[k.Original] += k.Held
	}
	var settled pix.Amount
	var sums uint64
	lo, hi := layout.RefundSumsOf(a.ID)
	err := r.Scan(lo, hi, func(k, v []byte) (bool, error) {
		original, err := layout.RefundSumsOriginal(k)
		if err != nil {
			return false, err
		}
		s, err := layout.DecodeRefundSums(original, v)
		if err != nil {
			return false, err
		}
		a.move(&settled, s.Settled)
		sums += fingerprint(&s)
		if s.InFlight != inFlight[original] || s.Held != held[original] || s.Settled+s.InFlight+s.Held > s.Amount+s.Excess {
			a.tell(KindRefunds, original.Public(pix.TxReceipt), "%d in flight and %d held of %d by its row, %d and %d by refunds and cases",
				s.InFlight, s.Held, s.Amount, inFlight[original], held[original])
		}
		delete(inFlight, original)
		delete(held, original)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, original := range slices.SortedFunc(maps.Keys(union(inFlight, held)), func(x, y pix.TxID) int { return bytes.Compare(x[:], y[:]) }) {
		if inFlight[original]+held[original] > 0 {
			a.tell(KindRefunds, original.Public(pix.TxReceipt), "%d in flight and %d held of it, and it has no row", inFlight[original], held[original])
		}
	}
	if settled != a.Sums.ReturnedBy {
		a.tell(KindRefunds, "", "%d refunded by all rows, %d by the records", settled, a.Sums.ReturnedBy)
	}
	if sums != a.sums {
		a.tell(KindRefunds, "", "the refund sums in the records do not follow from each other, or not all lead to the rows")
	}
	return nil
}

// takeSums takes the refund sums of a record out of a fingerprint of all sums as they were
// before the record, and in as they are after it. After the newest record the fingerprint is
// that of all rows if the sums of each payment follow from those in the record before, and if
// the last ones are in its row. That takes no memory for each payment.
func (a *Account) takeSums(r *ledger.Record) {
	before := r.SumsBefore()
	a.sums += fingerprint(r.Sums) - fingerprint(&before)
}

// fingerprint is a hash of the refund sums of one payment; 0 where nothing of it was refunded
// or is held.
func fingerprint(s *layout.RefundSums) uint64 {
	if s.Settled == 0 && s.InFlight == 0 && s.Held == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write(s.Original[:])
	for _, n := range [...]pix.Amount{s.Amount, s.Settled, s.InFlight, s.Held} {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	return h.Sum64()
}
