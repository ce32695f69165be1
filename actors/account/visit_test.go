package account

import (
	"testing"
	"time"

	"pixd/actors/ledger"
)

// TestVisitOfClosedOff: a visit whose account is quarantined while its child is away
// ends, so that the scanner's places are not used up.
func TestVisitOfClosedOff(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	a := w.must(1, payoutTo(1, nil))
	w.clock.Add(int64(testTerms.OrphanAfter) + 60_000)
	w.scheme.hold(false)
	came := make(chan Visited, 2)
	w.Due(1, a.Tx.ID, 0, func(v Visited) { came <- v })
	w.eventually("the question", func() bool { return w.scheme.asks.Load() == 1 })
	for range 3 {
		if _, err := w.Do(1, poison); err == nil {
			t.Fatal("the poison did not work")
		}
	}
	w.scheme.release()
	select {
	case v := <-came:
		if v.Err == nil {
			t.Errorf("came back with %+v", v)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the visit never ended")
	}
	if _, err := w.Do(1, ledger.ReadAccount{}); err == nil {
		t.Error("the account is not closed off")
	}
}

// TestVisitVoids: the due time of an accepted payout has come, and the scheme does
// not know it.
func TestVisitVoids(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	a := w.must(1, payoutTo(1, nil))
	came := make(chan Visited, 1)
	then := func(v Visited) { came <- v }
	w.Due(1, a.Tx.ID, 0, then)
	if v := <-came; v.Again < ledger.Millis(w.clock.Load()) || w.scheme.asks.Load() != 0 {
		t.Errorf("before its time: %+v, %d asks", v, w.scheme.asks.Load())
	}
	w.clock.Add(int64(testTerms.OrphanAfter))
	w.Due(1, a.Tx.ID, 0, then)
	if v := <-came; v != (Visited{}) || w.totals(1).Pending != 0 {
		t.Errorf("at its time: %+v, %+v", v, w.totals(1))
	}
	w.Due(1, ledger.TxID{1}, 0, then)
	if v := <-came; v.Err == nil {
		t.Errorf("of a payout that is none: %+v", v)
	}
}
