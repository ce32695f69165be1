package account

import (
	"fmt"
	"maps"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// moved returns the moves that are not 0, by their names.
func moved(m *Moves) map[string]uint64 {
	all := map[string]uint64{}
	m.Each(func(is ledger.Move, n uint64) {
		if kind, outcome := is.Names(); n > 0 {
			all[kind+" "+outcome] = n
		}
	})
	return all
}

// TestMovesCount checks that a credit, a payment, payouts and a refund are counted once for each outcome,
// once they are durable, and that neither reads, nor charges, nor another start count.
func TestMovesCount(t *testing.T) {
	w := newHarness(t, Limits{})
	want := map[string]uint64{}
	expect := func(what string, more ...string) {
		t.Helper()
		for _, name := range more {
			want[name]++
		}
		if got := moved(w.Moves()); !maps.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
	expect("nothing yet")
	w.fund(1, 1_000_000)
	expect("credit", "credit settled")
	e2e := endToEnd("a")
	for range 2 {
		w.must(1, ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	}
	expect("a payment that came twice", "payment settled")
	w.totals(1)
	w.must(1, ledger.CreateCharge{Amount: 500, Key: pix.Key{Type: pix.KeyEmail, Value: "k@example.com"}})
	expect("a read and a charge")
	settled := w.must(1, payoutTo(1, under(1))).Tx
	if a := w.must(1, payoutTo(1, under(1))); !a.Replay {
		t.Errorf("%+v", a)
	}
	expect("a payout that was asked for twice", "payout asked")
	outcome := func(of *ledger.Transaction, r ledger.TransferResult) {
		t.Helper()
		for range 2 { // the scheme may say it again
			w.must(1, ledger.ResolveTransfer{ID: of.ID, EndToEnd: of.EndToEnd, Notice: true, Result: r})
		}
	}
	outcome(settled, ledger.TransferIsSettled)
	expect("settled", "payout settled")
	outcome(w.must(1, payoutTo(2, nil)).Tx, ledger.TransferIsRejected)
	expect("rejected", "payout asked", "payout rejected")
	w.scheme.refuse.Store(true)
	if a, err := w.Do(1, payoutTo(3, nil)); err != nil || a.Refusal == nil {
		t.Errorf("%+v, %v", a, err)
	}
	w.scheme.refuse.Store(false)
	expect("refused", "payout asked", "payout refused")
	outcome(w.must(1, refundOf(e2e, nil)).Tx, ledger.TransferIsSettled)
	expect("refund", "refund asked", "refund settled")
	again := NewHost(w.options(Limits{}))
	if _, err := again.Do(1, ledger.ReadAccount{}); err != nil || len(moved(again.Moves())) > 0 {
		t.Errorf("after another start: %v, %v", moved(again.Moves()), err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestMovesCountWhenDurable checks that what is written is counted once it is durable, and that an
// entry which the journal refuses is never counted.
func TestMovesCountWhenDurable(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 1000)
	w.gate.shutIt()
	done := w.begin(1, ledger.Credit{Kind: pix.TxTED, Amount: 5})
	w.eventually("the entry", func() bool { return w.gate.passed() == 1 })
	if got := moved(w.Moves())["credit settled"]; got != 1 {
		t.Errorf("%d before it is durable", got)
	}
	w.gate.open()
	if r := <-done; r.err != nil || moved(w.Moves())["credit settled"] != 2 {
		t.Errorf("%+v, %v", r, moved(w.Moves()))
	}
	m := new(Moves)
	for _, out := range m.of([]ledger.Record{{Kind: ledger.Credited}, {Kind: ledger.AnswerKept}}, nil) {
		out.Release(wal.ErrSequence)
	}
	if got := moved(m); len(got) > 0 {
		t.Errorf("a refused entry counts %v", got)
	}
}

// TestMovesAllocateNothing checks that counting a record takes no memory of its own.
func TestMovesAllocateNothing(t *testing.T) {
	m, records, outs := new(Moves), []ledger.Record{{Kind: ledger.PayoutHeld}, {Kind: ledger.AnswerKept}, {Kind: ledger.PayoutSettled}}, make([]wal.Out, 0, 3)
	if n := testing.AllocsPerRun(100, func() {
		for _, out := range m.of(records, outs) {
			out.Release(nil)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := fmt.Sprint(moved(m)); got != "map[payout asked:101 payout settled:101]" {
		t.Error(got)
	}
}
