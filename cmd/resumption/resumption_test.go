package resumption

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestMayAwait checks which cases from before an accepted gap may come to wait again although they do not now.
func TestMayAwait(t *testing.T) {
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := &Cases{Options: Options{Rows: s, Terms: &ledger.Terms{Epoch: 2}}}
	back, over, none := pix.TxID{1}, pix.TxID{2}, pix.TxID{3}
	for original, inFlight := range map[pix.TxID]pix.Amount{back: 5, over: 0} {
		sums := layout.RefundSums{Original: original, Amount: 10, Settled: 5, InFlight: inFlight}
		if err := s.WriteRows(wal.Shared, wal.Op{Kind: wal.OpSet, Key: layout.RefundSumsKey(7, original), Value: sums.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		original pix.TxID
		result   pix.CaseResult
		epoch    uint64
		want     bool
	}{
		"a refund is in flight":       {back, pix.Agreed, 1, true},
		"from after the acceptance":   {back, pix.Agreed, 2, false},
		"decided for the merchant":    {back, pix.Disagreed, 1, false},
		"none is in flight":           {over, pix.Agreed, 1, false},
		"nothing was refunded so far": {none, pix.Agreed, 1, false},
	} {
		if got := r.mayAwait(ledger.OwnedCase{Account: 7, Case: &ledger.Case{Original: c.original, Result: c.result, Epoch: c.epoch}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRoundOfCases checks the order in which cases are tried, and when a round ends.
func TestRoundOfCases(t *testing.T) {
	a, b, c := pix.FirstCaseID(1), pix.FirstCaseID(2), pix.FirstCaseID(3)
	for last, want := range map[pix.CaseID][]pix.CaseID{{}: {a, b, c}, a: {b, c, a}, b: {c, a, b}, c: {a, b, c}, pix.FirstCaseID(9): {a, b, c}} {
		if got := behind([]pix.CaseID{c, a, b}, last); !slices.Equal(got, want) {
			t.Errorf("behind %v: %v, want %v", last, got, want)
		}
	}
	var r answers
	for range unheardAtMost - 1 {
		r.add(a, false, "no answer")
	}
	r.add(b, true, "it is under way")
	r.add(c, true, "")
	for range unheardAtMost {
		if r.isOver() {
			t.Error("it has ended although the scheme answers")
		}
		r.add(a, false, "no answer")
	}
	if !r.isOver() || !slices.Equal(r.gone, []pix.CaseID{c}) || r.why != "no answer" {
		t.Errorf("over %v, gone on %v, because %s", r.isOver(), r.gone, r.why)
	}
}
