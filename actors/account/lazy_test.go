package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// laziness notes of each entry whether it is lazy, and the payout or refund that it launches.
type laziness struct {
	Journal
	lazy     chan bool
	launched chan *ledger.Transaction
}

// Append implements Journal.
func (l laziness) Append(e *wal.Entry) wal.Ticket {
	l.lazy <- e.Lazy
	for _, o := range e.Out {
		if o, is := o.(*launch); is {
			l.launched <- o.job.Tx
		}
	}
	return l.Journal.Append(e)
}

// TestLazyEntries checks which of an account's entries are lazy: the end of a payout or refund
// that the scheme reports after the request had its answer. No entry is that a client waits for,
// nor one that launches a refund.
func TestLazyEntries(t *testing.T) {
	w := newHarness(t, Limits{})
	noted := laziness{w.gate, make(chan bool, 100), make(chan *ledger.Transaction, 100)}
	w.deps.Journal = noted
	want := func(what string, all ...bool) {
		t.Helper()
		for i, lazy := range all {
			w.eventually(what, func() bool { return len(noted.lazy) > 0 })
			if got := <-noted.lazy; got != lazy {
				t.Errorf("%s: entry %d is lazy: %v", what, i, got)
			}
		}
		if len(noted.lazy) > 0 {
			t.Errorf("%s: %d more entries", what, len(noted.lazy))
		}
	}
	notice := func(id pix.AccountID, tx *ledger.Transaction, result ledger.TransferResult) {
		t.Helper()
		done := make(chan error, 1)
		w.Notice(id, ledger.ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Notice: true, Result: result}, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	e2e := endToEnd("a")
	w.must(1, ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	want("the account's opening and a payment", false, false)
	w.must(1, payoutTo(1, nil))
	want("a payout that is accepted", false, false)
	notice(1, <-noted.launched, ledger.TransferIsSettled)
	want("its settlement", true)
	w.must(1, refundOf(e2e, nil))
	want("a refund that is accepted", false, false)
	notice(1, <-noted.launched, ledger.TransferIsRejected)
	want("its rejection", true)

	w.must(1, payoutTo(3, nil))
	want("a payout of what a case claims next", false, false)
	k := w.must(1, ledger.OpenCase{Infraction: "inf-1", EndToEnd: e2e, Amount: 1000, Situation: "SCAM"}).Case
	w.must(1, ledger.CloseCase{ID: k.ID, Result: pix.Agreed})
	want("the case, its end and its refund's acceptance", false, false, false)
	notice(1, <-noted.launched, ledger.TransferIsRejected)
	want("a rejection whose money the case is owed", false, false)
	if n := w.scheme.returns.Load(); n != 3 {
		t.Errorf("%d refunds were sent", n)
	}

	for range 2 { // the two refunds of the case
		<-noted.launched
	}
	w.fund(2, 1000)
	want("another account's opening and a credit", false, false)
	w.scheme.hold(false)
	waiting := w.begin(2, payoutTo(2, under(1)))
	want("a payout that the scheme does not answer", false)
	notice(2, <-noted.launched, ledger.TransferIsSettled)
	want("its settlement, for which the client waits", false)
	if r := <-waiting; r.err != nil || r.answer.Tx.Status != pix.StatusSettled {
		t.Errorf("%+v", r)
	}
}
