package ledger

import (
	"testing"
)

// TestNeedsActive checks that Traits.NeedsActive is true only for commands that would send a
// payout of an inactive account: approvals, a queued payout that would be submitted now,
// and a retry of a queued payout.
func TestNeedsActive(t *testing.T) {
	for result := TransferIsAccepted; result <= TransferIsOpen; result++ {
		if got := TraitsOf(ResolveTransfer{Result: result}).NeedsActive; got != (result == TransferIsSending) {
			t.Errorf("result %d: %v", result, got)
		}
	}
	for _, c := range []Command{ReceivePayment{}, ReceiveReturn{}, ReadAccount{}} {
		if TraitsOf(c).NeedsActive {
			t.Errorf("%T", c)
		}
	}
	if !TraitsOf(DecideApproval{}).NeedsActive || !TraitsOf(Attend{Retry: true}).NeedsActive || TraitsOf(Attend{}).NeedsActive {
		t.Error("an approval, or a retry")
	}
}
