package account

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestModest checks who has less than an equal share of the requests in work.
func TestModest(t *testing.T) {
	w := newHarness(t, Limits{})
	enter := func(id pix.AccountID, n int) {
		for range n {
			w.enter(&w.entry(id).inWork)
		}
	}
	modest := func(id pix.AccountID, most int, want bool) {
		t.Helper()
		if got := w.Modest(id, most); got != want {
			t.Errorf("account %d of %d in work, most %d: %v", id, w.Host.inWork.Load(), most, got)
		}
	}
	modest(1, 1, true) // nothing is in work, and the account is not known yet
	modest(1, 0, false)
	enter(1, 100)
	modest(1, 100, false)
	modest(1, 101, true)
	modest(2, 100, true)
	modest(2, 1, false)
	enter(2, 49)
	modest(2, 100, true)
	enter(2, 1)
	modest(2, 100, false)
	enter(3, 1)
	modest(3, 6, true)
	modest(3, 3, false)
	for range 50 {
		w.leave(&w.entry(2).inWork)
	}
	modest(3, 3, false)
	modest(3, 4, true)
	modest(2, 2, false) // with it three accounts would be at work
	modest(2, 3, true)
	for id, n := range map[pix.AccountID]int{1: 100, 3: 1} {
		for range n {
			w.leave(&w.entry(id).inWork)
		}
	}
	if n := w.Host.inWork.Load(); n != 0 {
		t.Errorf("%d accounts are left in work", n)
	}
}

// TestTransfersOfAModestAccount checks that payouts of one account which wait do not keep
// another's from being taken, though so many wait that the first gets no further one.
func TestTransfersOfAModestAccount(t *testing.T) {
	w := newHarness(t, Limits{Transfers: 4})
	w.fund(1, 100_000)
	w.fund(2, 100_000)
	w.scheme.hold(false)
	var all []<-chan response
	for n := range 4 {
		all = append(all, w.begin(1, payoutTo(n, nil)))
	}
	w.eventually("four submits", func() bool { return w.scheme.submits.Load() == 4 })
	if _, err := w.Do(1, payoutTo(10, nil)); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("a fifth of the first account: %v", err)
	}
	for n := range 2 {
		all = append(all, w.begin(2, payoutTo(20+n, nil)))
		w.eventually("the other's submit", func() bool { return w.scheme.submits.Load() == int64(5+n) })
	}
	if _, err := w.Do(2, payoutTo(30, nil)); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("more than the other's share: %v", err)
	}
	if got := w.Figures(); got != (Figures{Transfers: 6, RefusedTransfers: 2}) || w.MostInWork() != 4 {
		t.Errorf("%+v, %d of one account", got, w.MostInWork())
	}
	w.scheme.release()
	for _, done := range all {
		if r := <-done; r.err != nil {
			t.Error(r.err)
		}
	}
}

// TestReadsHaveFigures checks that reads of the head beyond an account's bound are refused and counted,
// apart from its other requests, and that reads in work count towards the account that has the most.
func TestReadsHaveFigures(t *testing.T) {
	w := newHarness(t, Limits{PerAccount: 3})
	w.fund(1, 100)
	for range 3 {
		w.enter(&w.entry(1).reads)
	}
	w.enter(&w.entry(2).inWork)
	if _, err := w.Do(1, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("a fourth read: %v", err)
	}
	if got := w.Figures(); got != (Figures{RefusedRequests: 1}) || w.MostInWork() != 3 {
		t.Errorf("%+v, %d of one account", got, w.MostInWork())
	}
	w.fund(1, 100) // another request is taken all the same
	for range 3 {
		w.leave(&w.entry(1).reads)
	}
	w.leave(&w.entry(2).inWork)
	if w.head(1); w.MostInWork() != 0 || w.Host.inWork.Load() != 0 {
		t.Errorf("at rest %d of one account, %d accounts", w.MostInWork(), w.Host.inWork.Load())
	}
}

// TestEqualsHaveFigures checks that a payout which its account refuses, because too many are under way
// under its end-to-end id, is counted as such and not as refused at a bound of all accounts.
func TestEqualsHaveFigures(t *testing.T) {
	w := newHarness(t, Limits{})
	w.entry(1).pid = w.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if asked, ok := c.Message().(*call); ok {
			asked.from.failed(ledger.ErrBusy)
		}
	}))
	if _, err := w.Do(1, payoutTo(1, nil)); !errors.Is(err, ledger.ErrBusy) {
		t.Error(err)
	}
	if got := w.Figures(); got != (Figures{RefusedEquals: 1}) {
		t.Errorf("%+v", got)
	}
	w.root.Stop(w.entry(1).pid)
	w.entry(1).pid = nil
}
