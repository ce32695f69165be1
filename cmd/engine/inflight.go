package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"pixd/actors/catchup"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// askedAtOnce is how many payouts and refunds in flight the scheme is asked about at once.
const askedAtOnce = 64

// askInFlight asks the scheme about every payout and refund that it has or may have, and applies what
// has become of them.
func (e *Engine) askInFlight(ctx context.Context) error {
	all, err := e.inFlight()
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	ended := 0
	room := make(chan struct{}, askedAtOnce)
	for _, o := range all {
		if ctx.Err() != nil {
			break
		}
		room <- struct{}{}
		work.Go(func() {
			known, err := e.askAbout(ctx, o)
			<-room
			mu.Lock()
			defer mu.Unlock()
			if errs = append(errs, err); known {
				ended++
			}
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	e.Config.Log.Info("asked the scheme about what is in flight", "asked", len(all), "ended", ended)
	return ctx.Err()
}

// inFlight finds the payouts and refunds that the scheme has or may have.
func (e *Engine) inFlight() (all []ledger.Owned, err error) {
	lo, hi := layout.OpenRange()
	err = e.Store.Scan(lo, hi, func(k, v []byte) (bool, error) {
		account, id, err := layout.DecodeOpenKey(k)
		if err != nil {
			return false, err
		}
		seq, err := layout.DecodeSeqRow(v)
		if err != nil {
			return false, err
		}
		r, err := rows{e.Store}.Record(account, seq)
		if err != nil || r.Tx == nil || r.Tx.ID != id { // a damaged account is closed off when it is used
			e.Config.Log.Error("what is in flight cannot be read", "account", account.String(), "record", seq, "error", err)
			return true, e.Config.goesOn()
		}
		if r.Tx.Status == pix.StatusAccepted || r.Tx.Status == pix.StatusSending {
			all = append(all, ledger.Owned{Account: account, Tx: r.Tx})
		}
		return true, e.Config.goesOn()
	})
	return all, err
}

// askAbout asks the scheme about one payout or refund; true: it has ended.
func (e *Engine) askAbout(ctx context.Context, o ledger.Owned) (bool, error) {
	var state scheme.State
	err := catchup.Try(ctx, e.Config.SchemeTimeout, func(ctx context.Context) (err error) {
		state, err = e.scheme.Ask(ctx, o.Tx.ID, o.Tx.EndToEnd)
		return err
	})
	if err != nil {
		return false, err
	}
	c := ledger.ResolveTransfer{ID: o.Tx.ID, EndToEnd: o.Tx.EndToEnd, Notice: true, Restored: true, Reason: state.Reason}
	switch state.Progress {
	case scheme.Settled:
		c.Result = ledger.TransferIsSettled
	case scheme.Rejected:
		c.Result = ledger.TransferIsRejected
	case scheme.Unknown, scheme.Pending:
		return false, nil
	}
	if err := e.do(o.Account, c); err != nil {
		e.Config.Log.Error("what has become of a payout or refund cannot be booked", "account", o.Account.String(), "transaction", o.Tx.Public(), "error", err)
		return false, nil
	}
	return true, nil
}
