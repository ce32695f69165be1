package account

import (
	"testing"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// refundOf is a request that refunds 100 base units of the payment under e2e.
func refundOf(e2e string, claim *ledger.Claim) ledger.RequestRefund {
	return ledger.RequestRefund{Original: e2e, Amount: 100, Reason: "MD06", Claim: claim}
}

// TestRefundChildPanics checks that a refund whose child actor panics during the submit is in
// doubt: the merchant gets 202, the hold stays, and a due task asks the scheme and, because
// the scheme does not know the refund, sends it again.
func TestRefundChildPanics(t *testing.T) {
	w := newHarness(t, Limits{})
	e2e := endToEnd("a")
	w.must(1, ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	w.scheme.hold(false)
	done := w.begin(1, refundOf(e2e, under(1)))
	w.eventually("the submit", func() bool { return w.scheme.returns.Load() == 1 })
	w.scheme.panics.Store(true)
	w.scheme.release()
	r := <-done
	if r.err != nil || r.answer.Tx == nil || r.answer.Tx.Status != pix.StatusAccepted || !r.answer.Tx.Transfer.Doubt || r.answer.Tx.Kind != pix.TxRefund {
		t.Fatalf("answered %+v", r)
	}
	if got := w.totals(1); got.Held != 100 || got.Balance != 1000 {
		t.Errorf("totals %+v", got)
	}
	if w.scheme.lookups.Load() != 0 {
		t.Errorf("%d look-ups for a refund", w.scheme.lookups.Load())
	}
	results := make(chan due.Result, 1)
	w.clock.Add(10_000)
	w.due(due.Task{Account: 1, ID: layout.EntityID(r.answer.Tx.ID)}, func(r due.Result) { results <- r })
	if got := <-results; got.Err != nil || w.scheme.asks.Load() != 1 || w.scheme.returns.Load() != 2 {
		t.Errorf("looked after: %+v, %d asks, %d returns", got, w.scheme.asks.Load(), w.scheme.returns.Load())
	}
	if a := w.must(1, refundOf(e2e, under(1))); a.Stored == nil || !a.Replay {
		t.Errorf("a repeat: %+v", a)
	}
	if a := w.must(1, refundOf(e2e, nil)); a.Tx.Status != pix.StatusAccepted || a.Tx.Transfer.Doubt {
		t.Errorf("the next refund: %+v", a.Tx)
	}
	if got := w.totals(1); got.Held != 200 {
		t.Errorf("totals %+v", got)
	}
}

// TestCaseRefundIsCarried checks that the refund which the engine makes for an agreed case is
// carried to the scheme, though no request waits for it.
func TestCaseRefundIsCarried(t *testing.T) {
	w := newHarness(t, Limits{})
	e2e := endToEnd("a")
	w.must(1, ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	opened := w.must(1, ledger.OpenCase{Infraction: "inf-1", EndToEnd: e2e, Amount: 700, Situation: "SCAM"})
	if opened.Case == nil || opened.Case.Held != 700 {
		t.Fatalf("%+v", opened.Case)
	}
	closed := w.must(1, ledger.CloseCase{ID: opened.Case.ID, Result: pix.Agreed})
	if closed.Case.Status != pix.CaseClosed || closed.Case.Held != 0 {
		t.Errorf("%+v", closed.Case)
	}
	w.eventually("the refund", func() bool { return w.scheme.returns.Load() == 1 })
	if got := w.totals(1); got.Held != 700 || got.MEDHeld != 0 || got.Owed != 0 {
		t.Errorf("totals %+v", got)
	}
}

// TestDueCaseReportsOnce checks that a due task which closes a case ends once: the child actor
// of the refund that follows does not report it again.
func TestDueCaseReportsOnce(t *testing.T) {
	w := newHarness(t, Limits{})
	e2e := endToEnd("a")
	w.must(1, ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	k := w.must(1, ledger.OpenCase{Infraction: "inf-1", EndToEnd: e2e, Amount: 700, Situation: "SCAM"}).Case
	w.clock.Store(int64(k.DeadlineAt))
	task := due.Task{Account: 1, ID: layout.EntityID(k.ID)}
	m := DueMessage(&w.tasks, task)
	m.(*call).command = ledger.Attend{Kind: layout.DueCase, ID: task.ID}
	results := make(chan due.Result, 2)
	w.tasks.waiting[task] = []func(due.Result){
		func(r due.Result) { results <- r },
		func(r due.Result) { results <- r },
	}
	w.send(1, w.entry(1), m)
	if got := <-results; got != (due.Result{}) {
		t.Errorf("%+v", got)
	}
	w.eventually("the refund", func() bool { return w.scheme.returns.Load() == 1 })
	w.eventually("its acceptance", func() bool {
		a, err := w.Do(1, ledger.ReadAccount{})
		return err == nil && a.Head.Totals.Items == 2
	})
	if len(results) > 0 {
		t.Errorf("the task ended again: %+v", <-results)
	}
}

// TestRefundBesideUnsynced checks which money a refund may take while entries are not durable: what the account had
// before the first of them, and not what they brought.
func TestRefundBesideUnsynced(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.ReceivePayment{EndToEnd: endToEnd("1"), Amount: 1000, Key: "k"})
	b.step(ledger.RequestPayout{Amount: 1000, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}})
	b.step(ledger.ReceivePayment{EndToEnd: endToEnd("2"), Amount: 400, Key: "k"})
	b.store.durable, b.durable = b.store.ticket, false
	restored, err := Restore(b.machine.config, testAccount, b.store) // a machine that has seen no entry yet
	if err != nil {
		t.Fatal(err)
	}
	b.machine = restored
	b.step(ledger.ReceivePayment{EndToEnd: endToEnd("3"), Amount: 1000, Key: "k"})
	for amount, refused := range map[pix.Amount]bool{401: true, 400: false} {
		c := refundOf(endToEnd("1"), nil)
		c.Amount = amount
		out := b.step(c)
		if got := out.Answer != nil && out.Answer.Refusal != nil; got != refused || len(out.Start) > 0 == refused {
			t.Errorf("a refund of %d beside a payment that is not durable: refused %v, %d on their way", amount, got, len(out.Start))
		}
	}
}

// TestReturnAnswersPayout checks that whoever waits for a payout hears of the payout where the scheme tells first that it
// was returned.
func TestReturnAnswersPayout(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.ReceivePayment{EndToEnd: endToEnd("1"), Amount: 1000, Key: "k"})
	p := b.step(payoutTo(1, under(1))).Start[0].Tx
	out := b.step(ledger.ReceiveReturn{ID: p.ID, EndToEnd: p.EndToEnd, ReturnID: "D" + endToEnd("r")[1:], Amount: 40, Reason: "MD06"})
	if o := out.Outcome; o == nil || o.Tx.ID != p.ID || o.Tx.Status != pix.StatusSettled || o.Stored == nil || string(o.Stored.Body) != "settled style 0" {
		t.Errorf("the payout's outcome is %+v", o)
	}
	if out.Answer == nil || out.Answer.Tx.Kind != pix.TxReturn {
		t.Errorf("the notice is answered with %+v", out.Answer)
	}
}
