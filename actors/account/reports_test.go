package account

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestUnknownTransferEndsReports checks that a report of a transfer which its account does not have is not sent again.
func TestUnknownTransferEndsReports(t *testing.T) {
	w := newHarness(t, Limits{})
	r := Report{Account: 1, Outcome: ledger.ResolveTransfer{ID: pix.TxID{7}}, Again: time.Millisecond}
	w.NotTaken(&r, fmt.Errorf("taken: %w", ledger.ErrUnknownTransfer))
	time.Sleep(100 * time.Millisecond)
	if n := w.InMemory(); n != 0 {
		t.Error("the report is sent again")
	}
	w.NotTaken(&r, errors.New("not now"))
	w.eventually("the report", func() bool { return w.InMemory() == 1 })
}
