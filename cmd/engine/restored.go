package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pixd/actors/catchup"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// heldAtOnce is how many open deliveries of webhooks are held at most with one write.
const heldAtOnce = 500

// takeRestored takes a restored journal into use: it is to catch up where the scheme can be asked what
// it has done since. Where it cannot, the journal is refused, unless the operator accepts the gap.
func (e *Engine) takeRestored() error {
	rows := webhookRows{e.Store}
	m, err := restored.Find(rows)
	if err != nil {
		return err
	}
	if e.gap = m; m == nil {
		return e.catchUpLater()
	}
	if err := e.take(m, e.canCatchUp(m)); err != nil {
		return fmt.Errorf("%s: %w", e.Config.DataDir, err)
	}
	return nil
}

// take takes a restored journal into use, or goes on where an earlier start has ended. unasked is why the
// scheme cannot be asked; nil: it can.
func (e *Engine) take(m *restored.Mark, unasked error) error {
	if err := e.Config.goesOn(); err != nil {
		return err
	}
	state, err := catchup.Find(e.Store)
	if err != nil {
		return err
	}
	if state != nil && unasked == nil {
		e.catching = state
		e.Config.Log.Info("a restored journal goes on catching up with the scheme", "since", m.Since().String(), "read", state.Done, "of", state.Total)
		return nil
	}
	state, begin := catchup.Begin(m.From() - catchup.Margin)
	u, err := e.use().Take(m, unasked, e.Config.AcceptRestoredGap, begin)
	if err != nil {
		return err
	}
	names := []any{"since", u.Since().String(), "newest", u.Newest.String(), "position", u.Position, "epoch", u.Epoch, "deliveries_held", u.Held}
	if e.unasked = unasked; unasked == nil {
		e.catching = state
		e.Config.Log.Info("a restored journal catches up with the scheme", names...)
		return nil
	}
	e.Config.Log.Warn("a restored journal is served, and its gap is accepted: payments and refunds since then are missing, and those that merchants repeat are paid twice; "+
		"special-return cases wait for an operator (pixd med resume)", append(names, "error", unasked)...)
	return nil
}

// catchUpLater lets a journal catch up whose gap was accepted, if the scheme can be asked by now.
func (e *Engine) catchUpLater() error {
	m, err := restored.Uncaught(e.Store)
	if e.gap, e.accepted = m, true; err != nil || m == nil {
		return err
	}
	if e.unasked = e.canCatchUp(m); e.unasked != nil {
		e.Config.Log.Warn("a restored journal whose gap was accepted still cannot catch up with the scheme", "since", m.Since().String(), "error", e.unasked)
		return e.Config.goesOn()
	}
	if e.catching, err = catchup.Find(e.Store); err == nil && e.catching == nil {
		var begin wal.Op
		e.catching, begin = catchup.Begin(m.From() - catchup.Margin)
		err = e.writeShared(begin)
	}
	return err
}

// Unasked returns why the scheme could not be asked for the movements since a restore, so that the journal is served without
// them; nil: it could, or there was no need. Asked again at once, it may take as long again.
func (e *Engine) Unasked() error { return e.unasked }

// canCatchUp returns an error where the scheme cannot be asked for movements. It is asked several times
// before a gap is accepted.
func (e *Engine) canCatchUp(m *restored.Mark) error {
	if e.Config.Uncaught != nil {
		return e.Config.Uncaught
	}
	ctx := e.Config.starting()
	ask := func(ctx context.Context) error {
		_, err := e.scheme.Movements(ctx, max(1, m.From()), "", 1)
		return err
	}
	if e.Config.AcceptRestoredGap && !e.accepted {
		return catchup.Try(ctx, e.Config.SchemeTimeout, ask)
	}
	within, cancel := context.WithTimeout(ctx, e.Config.SchemeTimeout)
	defer cancel()
	return ask(within)
}

// toldHeld is how many payouts tellHeld names.
const toldHeld = 20

// tellHeld logs which payouts wait for an operator because the journal was restored.
func (e *Engine) tellHeld(ctx context.Context) {
	held, err := e.inFlight(ctx, e.terms.Holds)
	e.logError("payouts that wait since the restore not looked for", err)
	for _, o := range held[:min(len(held), toldHeld)] {
		e.Config.Log.Warn("a payout waits for an operator since the restore", "account", o.Account.String(), "transaction", o.Tx.Public(), "status", o.Tx.Status.String(), "amount", int64(o.Tx.Amount))
	}
	if len(held) > 0 {
		e.Config.Log.Warn("payouts wait for an operator since the restore: pixd approve lets one go on, pixd decline fails it", "payouts", len(held))
	}
}

func (e *Engine) use() *restored.Use {
	return &restored.Use{Rows: webhookRows{e.Store}, Elsewhere: e.epochElsewhere(), Now: e.Clock.Stamp(), Most: heldAtOnce, Write: func(ops []wal.Op) error {
		return e.writeShared(ops...)
	}}
}

// writeShared makes changes of named values and rows durable, unless the start is to end.
func (e *Engine) writeShared(ops ...wal.Op) error {
	if err := e.Config.goesOn(); err != nil {
		return err
	}
	return e.Store.WriteRows(wal.Shared, ops...)
}

// folderWithin is how long the start of a restored journal waits for the folder of snapshots.
const folderWithin = 10 * time.Second

// epochElsewhere returns the largest epoch in the folder of snapshots: another journal may have been
// restored from the same snapshot. The folder may be on another machine, which does not answer.
func (e *Engine) epochElsewhere() uint64 {
	ctx, cancel := context.WithTimeout(e.Config.starting(), folderWithin)
	defer cancel()
	type reading struct {
		epoch uint64
		err   error
	}
	read := make(chan reading, 1)
	go func() {
		epoch, err := snapshot.LastEpoch(e.Config.files(), e.Config.snapshotDir())
		read <- reading{epoch, err}
	}()
	got := reading{err: errors.New("their folder does not answer")}
	select {
	case got = <-read:
	case <-ctx.Done():
	}
	if got.err != nil {
		e.Config.Log.Warn("epochs of earlier snapshots not read", "error", got.err)
	}
	return got.epoch
}

// returnsOf asks the scheme which returns it has of a payment that an account received.
func (e *Engine) returnsOf(account pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	ctx, cancel := context.WithTimeout(e.ending, e.Config.SchemeTimeout)
	defer cancel()
	return e.scheme.Returns(ctx, account, endToEnd)
}
