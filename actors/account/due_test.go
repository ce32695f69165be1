package account

import (
	"testing"
	"time"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestTaskOfQuarantined checks that a due task ends with an error when its account is
// quarantined while the task's child actor is at work, so that the scanner can start other
// tasks.
func TestTaskOfQuarantined(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	a := w.must(1, payoutTo(1, nil))
	w.clock.Add(int64(testTerms.OrphanAfter) + 60_000)
	w.scheme.hold(false)
	results := make(chan due.Result, 2)
	w.due(due.Task{Account: 1, ID: layout.EntityID(a.Tx.ID)}, func(r due.Result) { results <- r })
	w.eventually("the question", func() bool { return w.scheme.asks.Load() == 1 })
	for range 3 {
		if _, err := w.Do(1, poison); err == nil {
			t.Fatal("the poison did not work")
		}
	}
	w.scheme.release()
	select {
	case r := <-results:
		if r.Err == nil {
			t.Errorf("came back with %+v", r)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the task never ended")
	}
	if _, err := w.Do(1, ledger.ReadAccount{}); err == nil {
		t.Error("the account is not closed off")
	}
}

// TestTaskVoids checks that a due task of an accepted payout does nothing before the due
// time, and voids the payout after it when the scheme does not know the payout.
func TestTaskVoids(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	a := w.must(1, payoutTo(1, nil))
	results := make(chan due.Result, 1)
	then := func(r due.Result) { results <- r }
	w.due(due.Task{Account: 1, ID: layout.EntityID(a.Tx.ID)}, then)
	if r := <-results; r.Again < pix.Millis(w.clock.Load()) || w.scheme.asks.Load() != 0 {
		t.Errorf("before its time: %+v, %d asks", r, w.scheme.asks.Load())
	}
	w.clock.Add(int64(testTerms.OrphanAfter))
	w.due(due.Task{Account: 1, ID: layout.EntityID(a.Tx.ID)}, then)
	if r := <-results; r != (due.Result{}) || w.totals(1).Held != 0 {
		t.Errorf("at its time: %+v, %+v", r, w.totals(1))
	}
	w.due(due.Task{Account: 1, ID: layout.EntityID{1}}, then)
	if r := <-results; r.Err == nil {
		t.Errorf("of a payout that is none: %+v", r)
	}
}
