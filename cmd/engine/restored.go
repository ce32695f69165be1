package engine

import (
	"context"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// heldAtOnce is how many open deliveries of webhooks are held at most with one write.
const heldAtOnce = 500

// acceptRestored refuses a restored journal, or takes it into use where the operator has
// accepted the gap.
func (e *Engine) acceptRestored() error {
	a, err := restored.Start(webhookRows{e.Store}, e.Config.AcceptRestoredGap, e.epochElsewhere(), e.Clock.Stamp(), heldAtOnce, func(ops []wal.Op) error {
		if err := e.Config.goesOn(); err != nil {
			return err
		}
		return e.Store.WriteRows(wal.Shared, ops...)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", e.Config.DataDir, err)
	}
	if a != nil {
		e.Config.Log.Warn("a restored journal is served, and its gap is accepted: payments and refunds since then are missing, and those that merchants repeat are paid twice; "+
			"special-return cases wait for an operator (pixd med resume)",
			"since", a.Since().String(), "newest", a.Newest.String(), "position", a.Position, "epoch", a.Epoch, "deliveries_held", a.Held)
	}
	return nil
}

// epochElsewhere returns the largest epoch in the folder of snapshots, where the gap of a restored
// journal is accepted: another journal may have been restored from the same snapshot.
func (e *Engine) epochElsewhere() uint64 {
	if !e.Config.AcceptRestoredGap {
		return 0
	}
	epoch, err := snapshot.LastEpoch(e.Config.files(), e.Config.snapshotDir())
	if err != nil {
		e.Config.Log.Warn("epochs of earlier snapshots not read", "error", err)
	}
	return epoch
}

// returnsOf asks the scheme which returns it has of a payment that an account received.
func (e *Engine) returnsOf(account pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	ctx, cancel := context.WithTimeout(e.ending, e.Config.SchemeTimeout)
	defer cancel()
	return e.scheme.Returns(ctx, account, endToEnd)
}
