package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/metrics"
	"pixd/wal"
)

// asking is a scheme that knows nothing, and notes under which ids it is asked.
type asking struct {
	scheme.Unassigned
	ids []string
}

// Ask implements scheme.Scheme.
func (a *asking) Ask(_ context.Context, _ pix.TxID, endToEnd string) (scheme.State, error) {
	a.ids = append(a.ids, endToEnd)
	return scheme.State{}, nil
}

// TestAskHeldFormer asks about a payout whose id was renewed: the scheme may have it under a former one.
func TestAskHeldFormer(t *testing.T) {
	a := &asking{}
	e := &Engine{Config: Config{SchemeTimeout: time.Second}, scheme: metrics.NewSchemeCalls(a), ending: t.Context()}
	known, err := e.askHeld(ledger.Owned{Tx: &ledger.Transaction{EndToEnd: "now", Payout: ledger.PayoutPart{Former: []string{"first", "second"}}}})
	if known || err != nil || !slices.Equal(a.ids, []string{"now", "first", "second"}) {
		t.Errorf("known %v, %v, asked under %v", known, err, a.ids)
	}
}

// TestMayAwait checks which cases from before an accepted gap may come to wait again although they do not now.
func TestMayAwait(t *testing.T) {
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	e := &Engine{Store: s, terms: ledger.Terms{Epoch: 2}}
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
		if got := e.mayAwait(ledger.OwnedCase{Account: 7, Case: &ledger.Case{Original: c.original, Result: c.result, Epoch: c.epoch}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
