package account

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// arrival is a received payment whose end-to-end id is unique for each n.
func arrival(n int) ledger.ReceivePayment {
	return ledger.ReceivePayment{EndToEnd: fmt.Sprintf("E60701190202603011200%011d", n), Amount: 5}
}

// once counts the results that one notice or task got. The correct count is one.
type once struct{ reported atomic.Int64 }

// all returns the sum of the results, and fails the test where a notice or task got more
// than one.
func all(t *testing.T, what string, reported []once) (n int64) {
	for i := range reported {
		got := reported[i].reported.Load()
		if n += got; got > 1 {
			t.Errorf("%s %d was reported %d times", what, i, got)
		}
	}
	return n
}

// TestEveryMessageAgainstPassivate checks that no message is lost when accounts are
// passivated and restored while commands, notices, tasks, trims and reloads arrive: each
// notice and task gets exactly one result, and no money is lost or booked twice.
func TestEveryMessageAgainstPassivate(t *testing.T) {
	const accounts, each = 4, 120
	w := newHarness(t, Limits{IdleAfter: 1, SchemeTimeout: time.Second, JoinGrace: time.Second, LastGrace: time.Second})
	var notices, tasks [accounts * each]once
	var stop atomic.Bool
	var maintenance, work sync.WaitGroup
	maintenance.Go(func() {
		for !stop.Load() {
			w.Passivate()
		}
	})
	for a := range accounts {
		id := pix.AccountID(a + 1)
		work.Go(func() {
			for range each {
				w.fund(id, 7)
			}
		})
		work.Go(func() {
			for i := range each {
				n := a*each + i
				w.Notice(id, arrival(n), func(err error) {
					if err != nil {
						t.Error(err)
					}
					notices[n].reported.Add(1)
				})
				w.due(due.Task{Account: id, ID: layout.EntityID{1}}, func(r due.Result) {
					if !errors.Is(r.Err, ledger.ErrUnknownTransfer) && !errors.Is(r.Err, ledger.ErrInternal) {
						t.Errorf("a due task of what is not there: %v", r.Err)
					}
					tasks[n].reported.Add(1)
				})
				w.again(id, reload{})
				if i%10 == 0 {
					w.Trim()
				}
			}
		})
	}
	work.Wait()
	w.eventually("everybody's answer", func() bool {
		return all(t, "notice", notices[:]) == accounts*each && all(t, "due task", tasks[:]) == accounts*each
	})
	stop.Store(true)
	maintenance.Wait()
	for id := pix.AccountID(1); id <= accounts; id++ {
		if got := w.totals(id); got.Balance != each*(7+5) || got.Items != 2*each {
			t.Errorf("%v ended with %+v", id, got)
		}
	}
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
}

// TestMessageWhilePassivate checks that a message which comes while an account is being
// passivated, before the account's last entry is durable, waits and is then answered by the
// restored account.
func TestMessageWhilePassivate(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1, SchemeTimeout: time.Second, LastGrace: time.Second})
	w.fund(1, 100)
	w.clock.Add(1000)
	w.eventually("rest", func() bool { w.gate.shutIt(); return w.store.Durable() == w.store.Submitted() })
	away := make(chan int, 1)
	go func() { away <- w.Passivate() }()
	w.eventually("the last entry", func() bool { return w.gate.passed() == 1 })
	reported := make(chan error, 2)
	var sent sync.WaitGroup
	sent.Go(func() { w.Notice(1, arrival(1), func(err error) { reported <- err }) })
	w.again(1, reload{})
	sent.Go(func() { w.due(due.Task{Account: 1, ID: layout.EntityID{1}}, func(r due.Result) { reported <- r.Err }) })
	credit := w.begin(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	w.eventually("the command", func() bool { return w.entry(1).inWork.Load() == 1 })
	select {
	case err := <-reported:
		t.Errorf("answered by an account that is being passivated: %v", err)
	case r := <-credit:
		t.Errorf("answered by an account that is being passivated: %+v", r)
	case <-time.After(20 * time.Millisecond):
	}
	w.gate.open()
	if left := <-away; left != 0 {
		t.Errorf("%d stayed in memory", left)
	}
	sent.Wait()
	if r := <-credit; r.err != nil || r.answer.Refusal != nil {
		t.Errorf("the command: %+v", r)
	}
	for range 2 {
		if err := <-reported; err != nil && !errors.Is(err, ledger.ErrUnknownTransfer) && !errors.Is(err, ledger.ErrInternal) {
			t.Error(err)
		}
	}
	if got := w.totals(1); got.Balance != 112 {
		t.Errorf("%+v", got)
	}
}

// slowRows makes reads of rows wait while mu is locked.
type slowRows struct {
	Rows
	mu      sync.RWMutex
	waiting atomic.Int64
}

// Get implements Rows.
func (s *slowRows) Get(key []byte) ([]byte, bool, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.Rows.Get(key)
}

// TestPassivateDrains checks that messages which are in an account's mailbox before the
// message to passivate are handled before the account leaves memory.
func TestPassivateDrains(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	rows := &slowRows{Rows: w.deps.Rows}
	w.deps.Rows = rows
	w.fund(1, 100)
	rows.mu.Lock()
	reported := make(chan error, 3)
	for n := range 3 {
		w.Notice(1, arrival(n), func(err error) { reported <- err })
	}
	w.eventually("a read", func() bool { return rows.waiting.Load() == 1 })
	w.clock.Add(1000)
	away := make(chan int, 1)
	go func() { away <- w.Passivate() }()
	select {
	case left := <-away:
		t.Errorf("%d in memory, and a message is being worked on", left)
	case <-time.After(20 * time.Millisecond):
	}
	rows.mu.Unlock()
	for range 3 {
		select {
		case err := <-reported:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("a notice was lost")
		}
	}
	<-away
	if got := w.totals(1); got.Balance != 115 {
		t.Errorf("%+v", got)
	}
}

// TestChildKeepsItsAccount checks that an account stays in memory while a child actor
// carries one of its payouts, even though no request waits for that payout.
func TestChildKeepsItsAccount(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	w.fund(1, 10_000)
	w.must(1, ledger.ChangeSettings{Settings: approvedFrom(100)})
	tx := w.must(1, payoutTo(1, nil)).Tx
	w.scheme.hold(true)
	w.must(1, ledger.DecideApproval{ID: tx.ID, Word: ledger.Approved, Operator: "ana"})
	w.eventually("the lookup", func() bool { return w.scheme.lookups.Load() == 1 })
	w.clock.Add(1000)
	for range 3 {
		if left := w.Passivate(); left != 1 {
			t.Fatalf("%d in memory while a child carries a payout", left)
		}
	}
	then := make(chan due.Result, 1)
	w.due(due.Task{Account: 1, ID: layout.EntityID(tx.ID)}, func(r due.Result) { then <- r })
	if r := <-then; !r.Skipped || r.Again == 0 {
		t.Errorf("a due task of a payout whose child is on its way: %+v", r)
	}
	w.scheme.release()
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	if n := w.scheme.submits.Load() + w.scheme.asks.Load(); n != 1 {
		t.Errorf("%d submits and asks", n)
	}
}
