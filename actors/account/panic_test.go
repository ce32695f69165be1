package account

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/transfer"
)

// poisoned sends a command on which the account panics.
func (w *harness) poisoned(id pix.AccountID) error {
	_, err := w.Do(id, poison)
	return err
}

// TestPanic checks that a request on which the account panics fails with ErrInternal and
// changes nothing, that the third panic within a minute quarantines the account, and that
// another account still works.
func TestPanic(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 100)
	w.fund(2, 100)
	before := w.must(1, ledger.ReadAccount{}).Head
	for n := range 2 {
		if err := w.poisoned(1); !errors.Is(err, ledger.ErrInternal) {
			t.Errorf("panic %d: %v", n, err)
		}
		if after := w.must(1, ledger.ReadAccount{}).Head; after.Seq != before.Seq || after.Totals != before.Totals {
			t.Errorf("rebuilt as %+v, was %+v", after, before)
		}
	}
	w.fund(1, 7)
	if err := w.poisoned(1); !errors.Is(err, ledger.ErrInternal) {
		t.Errorf("the third: %v", err)
	}
	for _, c := range []ledger.Command{ledger.ReadAccount{}, ledger.Credit{Kind: pix.TxTED, Amount: 7}, payoutTo(1, nil)} {
		if _, err := w.Do(1, c); !errors.Is(err, ledger.ErrQuarantined) {
			t.Errorf("after the third within a minute, %T: %v", c, err)
		}
	}
	reported := make(chan error, 1)
	w.Notice(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 5}, func(err error) { reported <- err })
	if err := <-reported; err == nil {
		t.Error("a notice to a quarantined account was acknowledged")
	}
	w.fund(2, 7)
	if got := w.totals(2); got.Balance != 107 {
		t.Errorf("another account has %+v", got)
	}
}

// TestPanicsFarApart checks that two panics within a minute and a third one later do not
// quarantine an account.
func TestPanicsFarApart(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 100)
	for range 6 {
		_ = w.poisoned(1)
		w.clock.Add(int64(31 * time.Second / time.Millisecond))
	}
	if got := w.totals(1); got.Balance != 100 {
		t.Errorf("totals %+v", got)
	}
}

// TestRebuildKeepsWaiters checks that a request which waits for its payout's outcome is
// answered although the account was rebuilt meanwhile.
func TestRebuildKeepsWaiters(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(false)
	done := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	if err := w.poisoned(1); !errors.Is(err, ledger.ErrInternal) {
		t.Fatal(err)
	}
	w.scheme.release()
	if r := <-done; r.err != nil || r.answer.Tx.Status != pix.StatusAccepted || r.answer.Replay {
		t.Errorf("answered %+v", r)
	}
}

// TestRebuildKeepsChildren checks that, after the account was rebuilt, a repeated request
// does not start a second child actor for a payout that a child actor already carries. The
// first child actor may still report a refusal and so release the hold, while a second one
// submits the payout.
func TestRebuildKeepsChildren(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(true)
	first := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the lookup", func() bool { return w.scheme.lookups.Load() == 1 })
	if err := w.poisoned(1); !errors.Is(err, ledger.ErrInternal) {
		t.Fatal(err)
	}
	again := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the repeat", func() bool { return w.entry(1).inWork.Load() == 2 })
	time.Sleep(20 * time.Millisecond)
	if n := w.scheme.asks.Load(); n != 0 {
		t.Errorf("a second child asked %d times", n)
	}
	w.scheme.refuse.Store(true)
	w.scheme.release()
	for _, r := range []response{<-first, <-again} {
		if r.err != nil || r.answer.Refusal == nil || r.answer.Refusal.Code != ledger.RefuseKeyNotFound {
			t.Errorf("answered %+v", r)
		}
	}
	if got := w.totals(1); got.Held != 0 || w.scheme.submits.Load() != 0 {
		t.Errorf("%d submitted, totals %+v", w.scheme.submits.Load(), got)
	}
}

// TestQuarantineCuts checks that a quarantine cuts the connections of requests that wait
// for a payout's outcome, instead of answering them: the client would read any status as an
// outcome.
func TestQuarantineCuts(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(false)
	done := w.begin(1, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	for range 3 {
		_ = w.poisoned(1)
	}
	select {
	case r := <-done:
		if !errors.Is(r.err, ledger.ErrCut) {
			t.Errorf("answered %+v", r)
		}
	case <-time.After(5 * time.Second):
		t.Error("still waits")
	}
}

// TestDamagedAccount checks that damage to one account's rows quarantines that account and
// no other.
func TestDamagedAccount(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	w.fund(1, 100)
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	w.damage(1)
	if _, err := w.Do(1, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrQuarantined) {
		t.Errorf("read with %v", err)
	}
	w.fund(2, 7)
}

// TestPanicOfAnyMessage has an account panic over a message that is no command: it is closed off, and neither the host's
// work for all accounts nor requests to it wait for it.
func TestPanicOfAnyMessage(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: time.Minute})
	w.fund(1, 100)
	w.fund(2, 100)
	w.again(1, &transfer.JobReport{}) // it has no job
	var err error
	for range 1000 {
		if _, err = w.Do(1, ledger.ReadAccount{}); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(err, ledger.ErrQuarantined) {
		t.Fatal(err)
	}
	w.fund(2, 7)
	w.clock.Add(10 * 60_000)
	ended := make(chan int, 1)
	go func() {
		w.Trim()
		ended <- w.Passivate()
	}()
	select {
	case left := <-ended:
		if left != 1 {
			t.Errorf("%d accounts are left in memory, want the one that is closed off", left)
		}
	case <-time.After(10 * time.Second):
		panic("the host waits for an account that has panicked")
	}
}

// received is the context of one message.
type received struct {
	actor.Context
	message any
}

// Message implements actor.Context.
func (r received) Message() any { return r.message }

// TestPanicIsAnswered has an account panic over each message that the host waits for: before it looks at the message, and again
// while it is closed off.
func TestPanicIsAnswered(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 100)
	put, over, asked := make(chan bool, 1), make(chan struct{}), make(chan error, 1)
	answered := map[string]func() bool{
		"passivate": func() bool { return !<-put }, "closing": func() bool { <-over; return true }, "call": func() bool { return errors.Is(<-asked, ledger.ErrCut) },
	}
	for name, message := range map[string]any{
		"passivate": &passivate{put}, "closing": &closing{over, nil}, "call": &call{from: noticeOf{func(err error) { asked <- err }}},
	} {
		s := NewShell(&w.deps, 1)
		s.undone.Store(&undo{ended: &carriedTransfer{}}) // of a transfer that it does not know
		s.running = nil
		s.waiting = map[pix.TxID][]waiter{{}: {{}}}
		s.Receive(received{message: message})
		if s.Broken() == nil {
			t.Errorf("%s: the account is not closed off", name)
		}
		right := make(chan bool, 1)
		go func() { right <- answered[name]() }()
		select {
		case is := <-right:
			if !is {
				t.Errorf("%s: another answer", name)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: no answer", name)
		}
	}
}
