package account

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestOneBalance checks that exactly 50 of 500 simultaneous payouts are accepted when the
// balance is enough for 50.
func TestOneBalance(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 50*100)
	var accepted, short atomic.Int64
	var work sync.WaitGroup
	for n := range 500 {
		work.Go(func() {
			a, err := w.Do(1, payoutTo(n, nil))
			switch {
			case err != nil:
				t.Error(err)
			case a.Refusal == nil && a.Tx.Status == pix.StatusAccepted:
				accepted.Add(1)
			case a.Refusal != nil && a.Refusal.Code == ledger.RefuseBalance:
				short.Add(1)
			default:
				t.Errorf("answered %+v", a)
			}
		})
	}
	work.Wait()
	if got := w.totals(1); accepted.Load() != 50 || short.Load() != 450 || got.Balance != 5000 || got.Held != 5000 {
		t.Errorf("%d accepted, %d short, totals %+v", accepted.Load(), short.Load(), got)
	}
	if n := w.scheme.submits.Load(); n != 50 {
		t.Errorf("%d were submitted", n)
	}
}

// TestPassivateUnderLoad checks that no credit is lost when accounts are passivated and
// restored while requests arrive.
func TestPassivateUnderLoad(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	var work, away sync.WaitGroup
	var stop atomic.Bool
	var rounds atomic.Int64
	away.Go(func() {
		for !stop.Load() {
			w.Passivate()
			rounds.Add(1)
		}
	})
	const each = 150
	for id := pix.AccountID(1); id <= harnessAccounts; id++ {
		for range 2 {
			work.Go(func() {
				for n := range each {
					w.fund(id, 7)
					if n%50 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
	}
	work.Wait()
	stop.Store(true)
	away.Wait()
	for id := pix.AccountID(1); id <= harnessAccounts; id++ {
		if got := w.totals(id); got.Balance != 2*each*7 || got.Items != 2*each {
			t.Errorf("%v ended with %+v", id, got)
		}
	}
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	if rounds.Load() < 3 {
		t.Errorf("only %d rounds", rounds.Load())
	}
}

// TestStaysWhileItWorks checks that an account is not passivated while one of its payouts
// is under way.
func TestStaysWhileItWorks(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	w.fund(1, 1000)
	w.scheme.hold(false)
	done := w.begin(1, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	if left := w.Passivate(); left != 1 || w.InMemory() != 1 {
		t.Errorf("%d, %d in memory while a payout is under way", left, w.InMemory())
	}
	w.scheme.release()
	if r := <-done; r.err != nil {
		t.Error(r.err)
	}
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	if n := w.InMemory(); n != 0 {
		t.Errorf("%d in memory at rest", n)
	}
}

// begin sends a command from a goroutine of its own and does not wait for the answer.
func (w *harness) begin(id pix.AccountID, c ledger.Command) <-chan response {
	done := make(chan response, 1)
	go func() {
		a, err := w.Do(id, c)
		done <- response{answer: a, err: err}
	}()
	return done
}

// TestRefusedAtAdmission checks that a request above a limit is refused and starts no work,
// while requests that are within the limits are answered.
func TestRefusedAtAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		limits        Limits
		next          pix.AccountID // the account whose payout is refused
		other         pix.AccountID // the account for which otherCommands is accepted
		otherCommands ledger.Command
	}{
		"one account's": {Limits{PerAccount: 2}, 1, 2, payoutTo(8, nil)},
		"all transfers": {Limits{Transfers: 2}, 1, 2, ledger.Credit{Kind: pix.TxTED, Amount: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, c.limits)
			w.fund(1, 1000)
			w.fund(2, 1000)
			w.scheme.hold(false)
			first, second := w.begin(1, payoutTo(1, nil)), w.begin(1, payoutTo(2, nil))
			w.eventually("both submits", func() bool { return w.scheme.submits.Load() == 2 })
			seq := w.store.Submitted()
			for range 3 { // three tries, because a refused request must not count towards the limit
				if _, err := w.Do(c.next, payoutTo(3, nil)); !errors.Is(err, ledger.ErrBusy) || w.store.Submitted() != seq {
					t.Errorf("a third was answered %v", err)
				}
			}
			trial := payoutTo(3, nil) // it may wait for an earlier request under its key as the payout may
			trial.Trial = true
			for _, one := range []ledger.Command{ledger.RequestRefund{Original: "unknown"}, trial} {
				if _, err := w.Do(c.next, one); !errors.Is(err, ledger.ErrBusy) {
					t.Errorf("%T was answered %v", one, err)
				}
			}
			if a, err := w.Do(c.next, ledger.ReadAccount{}); err != nil || a.Head == nil { // reads of the head are counted apart from other requests
				t.Errorf("a read was answered %v", err)
			}
			other := w.begin(c.other, c.otherCommands)
			w.eventually("the other's entry", func() bool { return w.store.Submitted() > seq })
			w.scheme.release()
			for _, r := range []response{<-first, <-second, <-other} {
				if r.err != nil {
					t.Error(r.err)
				}
			}
			w.must(1, payoutTo(4, nil)) // the earlier payouts no longer count towards the limit
		})
	}
}

// TestFirstTouch checks that the first of several simultaneous requests opens an account
// that has no record yet, and that an account which the registry lacks is unknown.
func TestFirstTouch(t *testing.T) {
	w := newHarness(t, Limits{})
	if _, err := w.Do(99, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("an account nobody claimed: %v", err)
	}
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			if head := w.must(3, ledger.ReadAccount{}).Head; head.Seq != 1 || head.Settings.Name != "Loja" {
				t.Errorf("read %+v", head)
			}
		})
	}
	work.Wait()
	if seq, _, err := w.store.Last(3); seq != 1 || err != nil {
		t.Errorf("%d records, %v", seq, err)
	}
}

// TestReadsPark checks that a read of the head includes a credit that is not durable yet,
// and that the read is answered only once that credit is durable.
func TestReadsPark(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 100)
	w.gate.shutIt()
	credit := w.begin(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	w.eventually("the credit", func() bool { return w.gate.passed() == 1 })
	read := w.begin(1, ledger.ReadAccount{})
	w.eventually("the read", func() bool { return w.gate.passed() == 2 })
	select {
	case <-credit:
		t.Error("the credit was answered before it was durable")
	case r := <-read:
		t.Errorf("the read was answered before what it shows was durable: %+v", r)
	case <-time.After(20 * time.Millisecond):
	}
	w.gate.open()
	if r := <-read; r.err != nil || r.answer.Head.Totals.Balance != 107 {
		t.Errorf("read %+v", r)
	}
	<-credit
}

// TestNothingLeavesEarly checks that the scheme is not called about a payout before the
// payout's hold is durable.
func TestNothingLeavesEarly(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 100)
	w.gate.shutIt()
	done := w.begin(1, payoutTo(1, nil))
	w.eventually("the hold", func() bool { return w.gate.passed() == 1 })
	time.Sleep(20 * time.Millisecond)
	if n := w.scheme.lookups.Load() + w.scheme.submits.Load(); n != 0 {
		t.Errorf("the scheme was called %d times before the hold was durable", n)
	}
	w.gate.open()
	if r := <-done; r.err != nil || r.answer.Tx.Status != pix.StatusAccepted {
		t.Errorf("answered %+v", r)
	}
}

// TestOneKeyManyRequests checks that many simultaneous requests under one idempotency key
// make one payout, and that every answer but one is a replay.
func TestOneKeyManyRequests(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.scheme.hold(false)
	const many = 30
	answers := w.many(many, func() ledger.Command { return payoutTo(1, under(1)) })
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	w.eventually("all requests", func() bool { return w.entry(1).inWork.Load() == many })
	w.scheme.release()
	replays := replaysOf(t, answers, many)
	if got := w.totals(1); replays != many-1 || w.scheme.submits.Load() != 1 || got.Held != 100 {
		t.Errorf("%d replays, %d submits, totals %+v", replays, w.scheme.submits.Load(), got)
	}
}

// TestSilentScheme checks what happens while the scheme does not answer: the connection of
// the first request under a key is cut, because its outcome is open; a second request under
// that key ends with ErrWaited; and the payout's child actor goes on.
func TestSilentScheme(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1, SchemeTimeout: 20 * time.Millisecond, JoinGrace: 50 * time.Millisecond, LastGrace: 200 * time.Millisecond})
	w.fund(1, 1000)
	w.scheme.hold(false)
	first := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	if _, err := w.Do(1, payoutTo(1, under(1))); !errors.Is(err, ledger.ErrWaited) {
		t.Errorf("the one that joined: %v", err)
	}
	if r := <-first; !errors.Is(r.err, ledger.ErrCut) {
		t.Errorf("the first: %+v", r)
	}
	if left := w.Passivate(); left != 1 {
		t.Error("passivated although the payout is still carried")
	}
	w.scheme.release()
	w.eventually("the outcome", func() bool {
		a, err := w.Do(1, payoutTo(1, under(1)))
		return err == nil && a.Replay && string(a.Stored.Body) == "accepted style 0"
	})
	if n := w.scheme.submits.Load(); n != 1 {
		t.Errorf("submitted %d times", n)
	}
}

// TestTrimAgain checks that an account which is used again after it was trimmed is trimmed again.
func TestTrimAgain(t *testing.T) {
	d, e := new(Host), new(entry)
	for range 2 {
		for range 2 {
			d.mark(e)
		}
		if n := len(d.toTrim.entries); n != 1 {
			t.Fatalf("%d entries are to be trimmed, want 1", n)
		}
		d.Trim()
	}
}

// childActors returns the ids of the child actors that there are.
func (w *harness) childActors() (ids []string) {
	for _, pids := range w.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range pids.Keys() {
			if strings.Contains(id, "/") {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// TestTrimFrees checks what an account that has no work gives up: its child actors, and the rows and tasks that it held in
// memory.
func TestTrimFrees(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	done := w.begin(1, payoutTo(1, under(1)))
	if r := <-done; r.err != nil {
		t.Fatal(r.err)
	}
	if len(w.childActors()) != 1 {
		t.Fatalf("child actors %q, want one", w.childActors())
	}
	w.eventually("its end", func() bool { w.Trim(); return len(w.childActors()) == 0 })
	m := &Machine{work: map[pix.TxID]*ledger.Transaction{}, overlay: overlay{rows: map[string]freshRow{}}}
	if !m.Trim(0) || m.work != nil || m.overlay.rows != nil {
		t.Errorf("rows %v and tasks %v stay in memory", m.overlay.rows, m.work)
	}
}

// TestRefusalWaitsForNothing checks that a refusal is answered at once where all that it rests on is durable, whatever
// other entries wait for, and that one which rests on an entry that is not durable waits for that.
func TestRefusalWaitsForNothing(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 5)
	w.totals(1)
	w.gate.shutIt()
	defer w.gate.open()
	waits := w.begin(2, ledger.Credit{Kind: pix.TxTED, Amount: 5})
	w.eventually("the other account's entry", func() bool { return w.gate.passed() > 0 })
	select {
	case r := <-w.begin(1, payoutTo(8, nil)):
		if r.err != nil || r.answer.Refusal == nil {
			t.Errorf("%+v, %v", r.answer, r.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a refusal waits for another account's entry")
	}
	refused := w.begin(2, payoutTo(8, nil))
	select {
	case r := <-refused:
		t.Errorf("a refusal does not wait for the credit that it counts: %+v, %v", r.answer, r.err)
	case <-time.After(50 * time.Millisecond):
	}
	w.gate.open()
	if r := <-waits; r.err != nil {
		t.Error(r.err)
	}
	if r := <-refused; r.err != nil || r.answer.Refusal == nil {
		t.Errorf("%+v, %v", r.answer, r.err)
	}
}
