package transfer

import (
	"context"
	"errors"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// pause is how long the child actor of a payout in doubt waits before it asks the scheme
// again.
const pause = 100 * time.Millisecond

// Carry carries a payout or refund to the scheme and returns the result. It returns when the scheme
// has answered, or when the context's time, which is for lookup and submit together, is
// over.
func Carry(ctx context.Context, s scheme.Scheme, j Job) ledger.ResolveTransfer {
	m := New(j)
	for act := m.Begin(); act != Report; {
		act = m.Step(Perform(ctx, s, m, act))
	}
	return m.Outcome
}

// Perform performs one act of a machine, which is not Report, and returns the reply for Step. An
// answer that is no refusal of the scheme is none: what was asked may have been done or not.
func Perform(ctx context.Context, s scheme.Scheme, m *Machine, act Act) Reply {
	var r Reply
	var err error
	switch act {
	case Lookup:
		r.Owner, err = s.Lookup(ctx, m.Query())
	case Submit:
		if m.refund() {
			r.State, err = s.Return(ctx, m.Refund())
		} else {
			r.State, err = s.Submit(ctx, m.Payment())
		}
	case Ask:
		r.State, err = s.Ask(ctx, m.job.Tx.ID, m.job.Tx.EndToEnd)
	case Pause:
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if err != nil && !errors.As(err, &r.Refused) {
		r.Failed = true
	}
	r.Expired = ctx.Err() != nil
	return r
}

// Lost returns the result of a job whose child actor panicked: it is not known whether that
// child actor submitted the payout or refund.
func Lost(j Job) ledger.ResolveTransfer {
	out := ledger.ResolveTransfer{ID: j.Tx.ID, EndToEnd: j.Tx.EndToEnd, Result: ledger.TransferIsNotHeard, Doubt: j.Goal == ledger.GoalClear}
	if s := j.Tx.Status; s == pix.StatusHeld || s == pix.StatusSending {
		out.Result, out.Doubt = ledger.TransferIsAccepted, true // a caller may wait for an answer
	}
	return out
}
