package account

import (
	"testing"

	"pixd/actors/ledger"
)

// TestNeedsActive: what an inactive account does not take: approvals, and a queued payout
// that would go out now. Everything else goes on.
func TestNeedsActive(t *testing.T) {
	for result := ledger.PayoutIsAccepted; result <= ledger.PayoutIsOpen; result++ {
		if got := ledger.NeedsActive(ledger.ResolvePayout{Result: result}); got != (result == ledger.PayoutIsSending) {
			t.Errorf("result %d: %v", result, got)
		}
	}
	for _, c := range []ledger.Command{ledger.ReceivePayment{}, ledger.ReceiveReturn{}, ledger.ReadAccount{}} {
		if ledger.NeedsActive(c) {
			t.Errorf("%T", c)
		}
	}
	if !ledger.NeedsActive(ledger.DecideApproval{}) {
		t.Error("an approval")
	}
}
