package account

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/transfer"
	"pixd/wal"
)

// TestClose checks what Close does while the scheme does not answer: the connection of a
// waiting request is cut, every later request is refused, and no account writes to the
// journal any more. Close returns an error if a child actor's call to the scheme does not
// end.
func TestClose(t *testing.T) {
	w := newHarness(t, Limits{ClosePatience: 50 * time.Millisecond})
	w.fund(1, 1000)
	w.scheme.hold(false)
	done := w.begin(1, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	if err := w.Close(); !errors.Is(err, errRestless) {
		t.Errorf("closed over a child: %v", err)
	}
	if r := <-done; !errors.Is(r.err, ledger.ErrCut) {
		t.Errorf("who waited: %+v", r)
	}
	seq := w.store.Submitted()
	for id := pix.AccountID(1); id <= 2; id++ { // account 1 is in memory, account 2 is not
		if _, err := w.Do(id, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrCut) {
			t.Errorf("a request to %v: %v", id, err)
		}
	}
	reported := make(chan error, 2)
	w.Notice(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 5}, func(err error) { reported <- err })
	w.due(due.Task{Account: 1, ID: layout.EntityID{1}, Seq: 1}, func(r due.Result) { reported <- r.Err })
	for range 2 {
		if err := <-reported; !errors.Is(err, context.Canceled) {
			t.Errorf("a notice or a payout to resume: %v", err)
		}
	}
	w.scheme.release()
	time.Sleep(20 * time.Millisecond)
	if w.store.Submitted() != seq {
		t.Error("written after the close")
	}
}

// TestCloseWaits checks that Close returns only after the child actors at work have ended,
// and that no work begins on a payout that becomes durable after Close was called.
func TestCloseWaits(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.scheme.hold(false)
	first := w.begin(1, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	var back atomic.Bool
	time.AfterFunc(100*time.Millisecond, func() { back.Store(true); w.scheme.release() })
	if err := w.Close(); err != nil || !back.Load() {
		t.Errorf("closed before the child was back: %v", err)
	}
	if r := <-first; !errors.Is(r.err, ledger.ErrCut) {
		t.Errorf("who waited: %+v", r)
	}
	lookups := w.scheme.lookups.Load()
	results := make(chan due.Result, 1)
	task := due.Task{Account: 1}
	w.tasks.waiting[task] = []func(due.Result){func(r due.Result) { results <- r }}
	w.Begin(nil, &transfer.Job{Account: 1, Goal: ledger.GoalPay, Task: &task})
	if r := <-results; !errors.Is(r.Err, context.Canceled) || w.scheme.lookups.Load() != lookups {
		t.Errorf("a child began after the end: %+v", r)
	}
}

// TestEndingRefusesWhatWaits checks that a message which is still in an account's mailbox
// when the host begins to close is refused, so that Close need not wait for it.
func TestEndingRefusesWhatWaits(t *testing.T) {
	w := newHarness(t, Limits{})
	s := &Shell{Dependencies: &w.deps}
	w.stop()
	reported := make(chan error, 2)
	s.Take(&call{command: ledger.ReadAccount{}, from: noticeOf{func(err error) { reported <- err }}})
	w.tasks.waiting[due.Task{}] = []func(due.Result){func(r due.Result) { reported <- r.Err }}
	s.Take(DueMessage(&w.tasks, due.Task{}))
	for range 2 {
		if err := <-reported; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoPassivateAfterTheEnd checks that Passivate does not send to an account whose actor
// has ended.
func TestNoPassivateAfterTheEnd(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: time.Millisecond})
	w.fund(1, 1000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(60_000)
	seq := w.store.Submitted()
	if w.Passivate() == 0 || w.store.Submitted() != seq {
		t.Error("passivated after the end")
	}
}

// headRow returns where an account's head row stands, and its newest record.
func (w *harness) headRow(id pix.AccountID) (at, newest uint64) {
	w.t.Helper()
	b, ok, err := w.store.Get(layout.HeadKey(id))
	if ok {
		at, _ = HeadRowAt(b)
	}
	newest, _, lastErr := w.store.Last(wal.Stream(id))
	if err := errors.Join(err, lastErr); err != nil {
		w.t.Fatal(err)
	}
	return at, newest
}

// TestCloseKeepsHeads checks that after Close the head row of each account in memory includes its
// newest record, also where a payout of the account is in flight or the last entry is not durable
// yet, and that nothing is written for an account whose head row does so already.
func TestCloseKeepsHeads(t *testing.T) {
	w := newHarness(t, Limits{})
	for n := range 20 {
		w.fund(1, pix.Amount(n+1)) // some are behind the newest head row, which is written every 8 records
	}
	w.fund(2, 1000)
	w.scheme.hold(false)
	payout := w.begin(2, payoutTo(1, nil))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	w.fund(3, 5)
	w.clock.Add(120_000)
	w.must(1, ledger.ReadAccount{})
	w.must(2, ledger.ReadAccount{})
	if left := w.Passivate(); left != 2 {
		t.Fatalf("%d in memory", left)
	}
	w.head(3)
	w.head(3) // brings the account into memory, without a record
	if !w.entry(3).awake() {
		t.Error("not in memory")
	}
	w.gate.shutIt()
	last := w.begin(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	w.eventually("the credit's entry", func() bool { return w.gate.passed() > 0 })
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	w.eventually("the end", func() bool { return w.running.Err() != nil })
	w.scheme.release()
	w.eventually("what waits for the entry", func() bool { return w.gate.passed() == 3 }) // the credit, and for 1 and 2
	select {
	case err := <-closed:
		t.Fatalf("closed while an entry is in flight: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	before := w.store.Submitted()
	w.gate.open()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n := w.store.Submitted() - before; n != 2 {
		t.Errorf("%d entries were written for 2 head rows", n)
	}
	if err := w.write(&wal.Entry{}); err != nil { // now everything that Close has appended is written
		t.Fatal(err)
	}
	for id := pix.AccountID(1); id <= 3; id++ {
		if at, newest := w.headRow(id); at != newest {
			t.Errorf("the head row of %v stands at %d of %d records", id, at, newest)
		}
	}
	<-last
	<-payout
	for id := pix.AccountID(1); id <= 3; id++ {
		if _, err := Restore(w.deps.Config, id, w.store); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseAfterRefusal checks that Close writes no head row which includes a record that the
// journal has refused, also where the refusal is reported only after the account has handled its
// last message.
func TestCloseAfterRefusal(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10)
	reached, gate := make(chan struct{}), make(chan struct{})
	w.deps.Journal = &refuser{Journal: w.gate.Journal, kind: ledger.Credited, before: func() {
		close(reached)
		<-gate
	}}
	credit := w.begin(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	<-reached
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	select {
	case err := <-closed:
		close(gate)
		t.Fatalf("closed before the refusal was reported: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(gate)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	<-credit
	if err := w.write(&wal.Entry{}); err != nil { // now everything that Close has appended is written
		t.Fatal(err)
	}
	m, err := Restore(w.deps.Config, 1, w.store)
	if err != nil || m.head.Totals.Balance != 10 {
		t.Errorf("%+v (%v)", m, err)
	}
}

// TestCloseAfterFailure checks that Close does not wait for head rows that a store which has
// failed will never take.
func TestCloseAfterFailure(t *testing.T) {
	w := newHarness(t, Limits{ClosePatience: time.Minute})
	w.fund(1, 10)
	w.gate.shutIt()
	w.Host.look = func(wal.Stream, func(*wal.View) error) error { return errRefused }
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("Close waits")
	}
}
