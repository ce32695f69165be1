package ledger

import (
	"testing"
)

// TestNeedsActive: what an inactive account does not take: approvals, and a queued payout
// that would go out now. Everything else goes on.
func TestNeedsActive(t *testing.T) {
	for result := PayoutIsAccepted; result <= PayoutIsOpen; result++ {
		if got := NeedsActive(ResolvePayout{Result: result}); got != (result == PayoutIsSending) {
			t.Errorf("result %d: %v", result, got)
		}
	}
	for _, c := range []Command{ReceivePayment{}, ReceiveReturn{}, ReadAccount{}} {
		if NeedsActive(c) {
			t.Errorf("%T", c)
		}
	}
	if !NeedsActive(DecideApproval{}) || !NeedsActive(Attend{Retry: true}) || NeedsActive(Attend{}) {
		t.Error("an approval, or a retry")
	}
}
