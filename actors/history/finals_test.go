package history

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// parts takes a page of a list apart.
func parts[T any](l layout.Listed[T], err error) (entries []T, next []byte, _ error) {
	return l.Entries, l.Next, err
}

// TestFinalPayoutsAreNoRefunds checks that refunds are not listed among the payouts.
func TestFinalPayoutsAreNoRefunds(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	p := b.do(1, ledger.ReceivePayment{EndToEnd: payment(1), Amount: 1000})
	b.refund(p, 300, "", ledger.TransferIsSettled)
	b.refund(p, 300, "", ledger.TransferIsRejected)
	for _, status := range []pix.TxStatus{pix.StatusSettled, pix.StatusFailed, pix.StatusRejected, pix.StatusCompleted} {
		if all, next, err := parts(h.FinalPayouts(0, status, nil, 9)); len(all) != 0 || next != nil || err != nil {
			t.Errorf("%v: %+v %v %v", status, all, next, err)
		}
	}
}
