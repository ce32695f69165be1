package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/metrics"
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
