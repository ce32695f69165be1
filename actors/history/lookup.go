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
// else the newest; a refund, which may have its payment's external id, only where there is nothing
// else. It looks at the newest fewRows of them alone.
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
	// The newest that moved money, that may still, and that has ended otherwise; then the same of refunds.
	var found [6]uint64
	rows := 0
	lo, hi := layout.ExternalRange(a, external)
	err := v.ScanBack(lo, hi, func(k, _ []byte) (bool, error) {
		n, err := layout.ExternalOrdinal(k)
		if err != nil {
			return false, err
		}
		row, err := itemRow(v, a, n)
		if err != nil {
			return false, err
		}
		class := 2
		switch {
		case row.Status.MovedMoney():
			class = 0
		case row.Status.InFlight() || row.Status == pix.StatusActive:
			class = 1
		}
		if row.Kind == pix.TxRefund {
			class += 3
		}
		if found[class] == 0 {
			found[class] = row.Seq
		}
		rows++
		return found[0] == 0 && rows < fewRows, nil
	})
	for _, seq := range found {
		if seq != 0 {
			return seq, err
		}
	}
	return 0, err
}
