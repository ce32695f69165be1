package history

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// ofOriginal returns one page of the refunds of a received payment, or of the returns of a payout, that
// the filter selects, the newest first; if external is not empty, only those with that external id. No
// row leads from a payment to them, so it reads the records of all refunds, or of all returns, from the
// newest one down to the payment, which is older than any of its own.
func (h *History) ofOriginal(v View, a pix.AccountID, external string, f *layout.Filter, p layout.Page, limit *scanLimit) (all []*ledger.Transaction, err error) {
	of, known, err := h.find(v, f.Original)
	if err != nil || !known || of.Account != a {
		return nil, err
	}
	if some, err := h.givenBack(v, of); err != nil || !some {
		return nil, err
	}
	x := itemsOf(a)
	first, last, err := x.bounds(v, f)
	skip := uint64(p.Number-1) * uint64(p.Size)
	if first = max(first, of.Ordinal+1); err != nil || first > last || skip/uint64(p.Size) != uint64(p.Number-1) {
		return nil, err
	}
	if limit.ctx == nil {
		return nil, errPlace // each refund costs a record
	}
	err = v.ScanBack(x.key(a, first), append(x.key(a, last), 0), func(_, b []byte) (bool, error) {
		e, err := x.read(b)
		if err == nil {
			err = limit.over()
		}
		if err != nil || !f.Has(e.status, e.kind) || e.kind != giving(of.Kind) {
			return err == nil, err
		}
		r, err := Record(h.journal, a, e.seq)
		switch {
		case err != nil:
			return false, err
		case r.Tx == nil:
			return false, errNoTransaction(a, e.seq)
		case r.Tx.Gives() != of.ID || external != "" && r.Tx.ExternalID != external:
		case skip > 0:
			skip--
		default:
			all = append(all, r.Tx)
		}
		return len(all) < p.Size, nil
	})
	return all, err
}

// givenBack tells whether there may be refunds of a received payment, or returns of a payout.
func (h *History) givenBack(v View, of layout.IDRow) (bool, error) {
	switch giving(of.Kind) {
	case pix.TxRefund:
		_, some, err := v.Get(layout.RefundSumsKey(of.Account, of.ID)) // the row exists from the first refund or case on
		return some, err
	case pix.TxReturn:
		t, err := h.item(v, of)
		return err == nil && t.Payout.Returned > 0, err
	}
	return false, nil
}

// giving is the kind of the transactions that give one of kind k back; 0: nothing does.
func giving(k pix.TxKind) pix.TxKind {
	switch k {
	case pix.TxCharge, pix.TxReceipt:
		return pix.TxRefund
	case pix.TxPayout:
		return pix.TxReturn
	}
	return 0
}
