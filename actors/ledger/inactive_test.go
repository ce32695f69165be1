package ledger

import (
	"testing"
)

// TestNeedsActive checks which commands are not carried out for an inactive account:
// approvals, and a queued payout that would be sent now.
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
