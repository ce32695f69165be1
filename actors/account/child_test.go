package account

import (
	"testing"
	"time"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestChildPanics checks that a payout whose child actor panics, during the lookup or during
// the submit, is in doubt: the merchant gets 202, the hold stays, a due task asks the scheme
// later, and the account's next payout gets a child actor as ever.
func TestChildPanics(t *testing.T) {
	for name, during := range map[string]bool{"lookup": true, "submit": false} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, Limits{})
			w.fund(1, 1000)
			w.scheme.hold(during)
			done := w.begin(1, payoutTo(1, under(1)))
			w.eventually("the call", func() bool {
				return w.scheme.lookups.Load()+w.scheme.submits.Load() > 0 && (during || w.scheme.submits.Load() == 1)
			})
			w.scheme.panics.Store(true)
			w.scheme.release()
			r := <-done
			if r.err != nil || r.answer.Tx == nil || r.answer.Tx.Status != pix.StatusAccepted || !r.answer.Tx.Transfer.Doubt {
				t.Fatalf("answered %+v", r)
			}
			if got := w.totals(1); got.Held != 100 || got.Balance != 1000 {
				t.Errorf("totals %+v", got)
			}
			results := make(chan due.Result, 1)
			w.clock.Add(10_000)
			w.due(due.Task{Account: 1, ID: layout.EntityID(r.answer.Tx.ID)}, func(r due.Result) { results <- r })
			if r := <-results; r.Err != nil || w.scheme.asks.Load() != 1 {
				t.Errorf("looked after: %+v, %d asks", r, w.scheme.asks.Load())
			}
			if a := w.must(1, payoutTo(2, nil)); a.Tx.Status != pix.StatusAccepted || a.Tx.Transfer.Doubt {
				t.Errorf("the next payout: %+v", a.Tx)
			}
		})
	}
}

// TestTaskOfPanickedChild checks that a due task whose child actor panics ends, and counts
// as one that could not reach the scheme.
func TestTaskOfPanickedChild(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	a := w.must(1, payoutTo(1, nil))
	w.clock.Add(int64(testTerms.OrphanAfter))
	w.scheme.panics.Store(true)
	results := make(chan due.Result, 1)
	w.due(due.Task{Account: 1, ID: layout.EntityID(a.Tx.ID)}, func(r due.Result) { results <- r })
	select {
	case r := <-results:
		if r.Err != nil || !r.Unheard {
			t.Errorf("came back with %+v", r)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the task never ended")
	}
	if got := w.totals(1); got.Held != 100 {
		t.Errorf("the hold is gone: %+v", got)
	}
}

// TestChildPanicsUnderPassivation checks that the account's actor goes on while somebody
// holds the lock of its entry, as Passivate does while it waits for that actor.
func TestChildPanicsUnderPassivation(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(true)
	done := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the lookup", func() bool { return w.scheme.lookups.Load() == 1 })
	e := w.entry(1)
	e.mu.Lock()
	w.scheme.panics.Store(true)
	w.scheme.release()
	w.eventually("the panic", func() bool { return !w.scheme.panics.Load() })
	time.Sleep(20 * time.Millisecond) // the supervisor has the failure by now
	passivated := make(chan bool, 1)
	w.root.Send(e.pid, PassivateMessage(passivated))
	select {
	case gone := <-passivated:
		if gone {
			t.Error("passivated with a payout in hand")
		}
	case <-time.After(5 * time.Second):
		t.Error("the account's actor waits for the lock of its entry")
	}
	e.mu.Unlock()
	if r := <-done; r.err != nil || r.answer.Tx == nil || !r.answer.Tx.Transfer.Doubt {
		t.Errorf("answered %+v", r)
	}
}
