package history

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Tag finds an account's transaction by its transaction_id alone; nil where this account has
// no such transaction.
func (h *History) Tag(a pix.AccountID, tag string) (*ledger.Transaction, error) {
	if _, public := pix.ParsePublic(tag); !public {
		return nil, nil
	}
	return h.Transaction(a, tag)
}

// EndToEnd finds an account's transaction by its end-to-end id or, of a refund or return, its
// D id; nil where this account has no such transaction. Of several it returns one that moved
// money or, if none did, the first.
func (h *History) EndToEnd(a pix.AccountID, id string) (*ledger.Transaction, error) {
	return lookUp(h, a, func(v View) (*ledger.Transaction, error) {
		found, err := h.underEndToEnd(v, a, id)
		if err != nil || found == nil {
			return nil, err
		}
		return withRefunds(v, a, found.Tx)
	})
}

// Reference finds an account's transaction by the merchant's external id; nil where there is
// none. Of several it returns the newest that moved money, else the newest that still may,
// else the newest. It looks at the newest fewRows of them alone.
func (h *History) Reference(a pix.AccountID, external string) (*ledger.Transaction, error) {
	if external == "" || pix.CleanExternalID(external) != external {
		return nil, nil
	}
	return lookUp(h, a, func(v View) (*ledger.Transaction, error) {
		seq, err := newestByExternalID(v, a, external)
		if err != nil || seq == 0 {
			return nil, err
		}
		t, err := h.transaction(a, seq)
		if err != nil {
			return nil, err
		}
		return withRefunds(v, a, t)
	})
}

// newestByExternalID returns the sequence of the newest record about the transaction that an external id
// stands for; 0: there is none.
func newestByExternalID(v View, a pix.AccountID, external string) (uint64, error) {
	var moved, open, newest uint64
	rows := 0
	lo, hi := layout.ExternalRange(a, external)
	err := v.ScanBack(lo, hi, func(k, _ []byte) (bool, error) {
		n, err := layout.ExternalOrdinal(k)
		if err != nil {
			return false, err
		}
		row, err := itemRow(v, a, n)
		switch {
		case err != nil:
			return false, err
		case row.Status.MovedMoney():
			moved = row.Seq
			return false, nil
		case open == 0 && (row.Status.InFlight() || row.Status == pix.StatusActive):
			open = row.Seq
		case newest == 0:
			newest = row.Seq
		}
		rows++
		return rows < fewRows, nil
	})
	for _, seq := range []uint64{moved, open, newest} {
		if seq != 0 {
			return seq, err
		}
	}
	return 0, err
}
