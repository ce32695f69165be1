package ledger

import (
	"testing"
)

// TestNeedsActive checks that NeedsActive is true only for commands that would send a
// payout of an inactive account: approvals, a queued payout that would be submitted now,
// and a retry of a queued payout.
func TestNeedsActive(t *testing.T) {
	for result := TransferIsAccepted; result <= TransferIsOpen; result++ {
		if got := NeedsActive(ResolveTransfer{Result: result}); got != (result == TransferIsSending) {
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
