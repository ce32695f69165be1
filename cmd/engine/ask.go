package engine

import (
	"context"
	"slices"

	"pixd/actors/catchup"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// askAbout asks the scheme about one payout or refund; true: it has ended.
func (e *Engine) askAbout(ctx context.Context, o ledger.Owned) (bool, error) {
	var state scheme.State
	err := catchup.Try(ctx, e.Config.SchemeTimeout, func(ctx context.Context) (err error) {
		state, err = e.scheme.Ask(ctx, o.Tx.ID, o.Tx.EndToEnd)
		return err
	})
	if err != nil || state.Progress != scheme.Settled && state.Progress != scheme.Rejected {
		return false, err
	}
	if err := e.bookState(o, o.Tx.EndToEnd, state); err != nil {
		e.Config.Log.Error("what has become of a payout or refund cannot be booked", "account", o.Account.String(), "transaction", o.Tx.Public(), "error", err)
		return false, nil
	}
	return true, nil
}

// bookState books what the scheme has said of a payout or refund that it knows under an end-to-end id.
func (e *Engine) bookState(o ledger.Owned, endToEnd string, state scheme.State) error {
	c := ledger.ResolveTransfer{ID: o.Tx.ID, EndToEnd: endToEnd, Notice: true, Restored: true, Reason: state.Reason}
	switch state.Progress {
	case scheme.Settled:
		c.Result = ledger.TransferIsSettled
	case scheme.Rejected:
		c.Result = ledger.TransferIsRejected
	default:
		c.Result = ledger.TransferIsAccepted
	}
	done := make(chan error, 1)
	e.Accounts.Tell(o.Account, c, func(_ bool, err error) { done <- err })
	return <-done
}

// askHeld asks the scheme about a payout that waits for an operator since a restore, under each id that it has here or
// had. Where the scheme knows one, what it says is booked, and the payout must not be sent.
func (e *Engine) askHeld(o ledger.Owned) (known bool, err error) {
	ctx, cancel := context.WithTimeout(e.ending, e.Config.SchemeTimeout)
	defer cancel()
	for _, endToEnd := range slices.Concat([]string{o.Tx.EndToEnd}, o.Tx.Payout.Former) {
		state, err := e.scheme.Ask(ctx, o.Tx.ID, endToEnd)
		if err != nil {
			return false, err
		}
		if state.Progress != scheme.Unknown {
			return true, e.bookState(o, endToEnd, state)
		}
	}
	return false, nil
}
