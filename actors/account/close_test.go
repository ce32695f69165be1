package account

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/transfer"
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
	for id := ledger.AccountID(1); id <= 2; id++ { // account 1 is in memory, account 2 is not
		if _, err := w.Do(id, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrCut) {
			t.Errorf("a request to %v: %v", id, err)
		}
	}
	reported := make(chan error, 2)
	w.Notice(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 5}, func(err error) { reported <- err })
	w.due(due.Task{Account: 1, ID: ledger.EntityID{1}, Seq: 1}, func(r due.Result) { reported <- r.Err })
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
