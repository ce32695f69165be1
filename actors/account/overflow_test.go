package account

import (
	"math"
	"testing"

	"pixd/actors/ledger"
)

// TestOverflowComesAgain checks that a received payment which would overflow the balance is
// not acknowledged, so that the scheme sends its notice again later.
func TestOverflowComesAgain(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, math.MaxInt64-10)
	notice := func() error {
		done := make(chan error, 1)
		w.Notice(1, ledger.ReceivePayment{EndToEnd: endToEnd("1"), Amount: 500, Key: "k"}, func(err error) { done <- err })
		return <-done
	}
	if notice() == nil {
		t.Fatal("acknowledged what was not booked")
	}
	w.Notice(1, ledger.ReceivePayment{EndToEnd: endToEnd("2"), Amount: 5, Key: "k"}, func(err error) {
		if err != nil {
			t.Errorf("what fits was not taken: %v", err)
		}
	})
	if got := w.totals(1); got.Balance != math.MaxInt64-5 {
		t.Errorf("balance %d", got.Balance)
	}
}
