package account

import (
	"context"
	"errors"
	"testing"
	"time"

	"pixd/actors/ledger"
)

// TestClose: who waits for a scheme that is silent is cut, what comes later is
// refused, and no account touches the journal any more.
func TestClose(t *testing.T) {
	w := newTown(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(false)
	done := w.begin(1, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	w.Close()
	if r := <-done; !errors.Is(r.err, ledger.ErrCut) {
		t.Errorf("who waited: %+v", r)
	}
	seq := w.store.Submitted()
	for id := ledger.AccountID(1); id <= 2; id++ { // one in memory, one that is not
		if _, err := w.Do(id, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrCut) {
			t.Errorf("a request to %v: %v", id, err)
		}
	}
	told := make(chan error, 2)
	w.Notice(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 5}, func(err error) { told <- err })
	w.Due(1, ledger.TxID{1}, 1, func(v Visited) { told <- v.Err })
	for range 2 {
		if err := <-told; !errors.Is(err, context.Canceled) {
			t.Errorf("a notice or a payout to resume: %v", err)
		}
	}
	w.scheme.release()
	time.Sleep(20 * time.Millisecond)
	if w.store.Submitted() != seq {
		t.Error("written after the close")
	}
}
