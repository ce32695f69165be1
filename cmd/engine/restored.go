package engine

import (
	"context"
	"errors"
	"fmt"

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
	state, begin := catchup.Begin(m.Since() - catchup.Margin)
	u, err := e.use().Take(m, unasked, e.Config.AcceptRestoredGap, begin)
	if err != nil {
		return err
	}
	names := []any{"since", u.Since().String(), "newest", u.Newest.String(), "position", u.Position, "epoch", u.Epoch, "deliveries_held", u.Held}
	if unasked == nil {
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
	if unasked := e.canCatchUp(m); unasked != nil {
		e.Config.Log.Warn("a restored journal whose gap was accepted still cannot catch up with the scheme", "since", m.Since().String(), "error", unasked)
		return e.Config.goesOn()
	}
	if e.catching, err = catchup.Find(e.Store); err == nil && e.catching == nil {
		var begin wal.Op
		e.catching, begin = catchup.Begin(m.Since() - catchup.Margin)
		err = e.writeShared(begin)
	}
	return err
}

// canCatchUp returns an error where the scheme cannot be asked for movements. It is asked several times
// before a gap is accepted.
func (e *Engine) canCatchUp(m *restored.Mark) error {
	if e.Config.uncaught != nil {
		return e.Config.uncaught
	}
	ctx := e.Config.Starting
	if ctx == nil {
		ctx = context.Background()
	}
	ask := func(ctx context.Context) error {
		_, err := e.scheme.Movements(ctx, max(1, m.Since()), "", 1)
		return err
	}
	if e.Config.AcceptRestoredGap {
		return catchup.Try(ctx, e.Config.SchemeTimeout, ask)
	}
	within, cancel := context.WithTimeout(ctx, e.Config.SchemeTimeout)
	defer cancel()
	return ask(within)
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

// epochElsewhere returns the largest epoch in the folder of snapshots: another journal may have been
// restored from the same snapshot.
func (e *Engine) epochElsewhere() uint64 {
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

// errMadeUp is the error of a start that has caught up with what an accepted gap lacks: the engine is opened
// again at once, and nothing that comes then waits for an operator because of the gap.
var errMadeUp = errors.New("the journal has caught up after its gap was accepted, and is opened again")

// caught are the changes that end a catch-up. madeUp: nothing is missing of an accepted gap either.
func (e *Engine) caught(madeUp bool) []wal.Op {
	all := restored.Caught()
	if madeUp {
		all = append(all, restored.MadeUp(e.terms.Epoch))
	}
	return all
}

// casesAtOnce is how many special-return cases are read at once, and mostUnanswered after how many
// questions in a row that the scheme does not answer no more are put to it.
const (
	casesAtOnce    = 500
	mostUnanswered = 3
)

// resumeCases lets the special-return cases go on that wait since a gap was accepted, once the journal has
// caught up. Those that cannot go on yet are tried again at the next start.
func (e *Engine) resumeCases() error {
	if e.terms.Epoch == 0 || e.terms.GapEnd != 0 {
		return nil
	}
	var r resumption
	for after, more := []byte(nil), true; more && r.unanswered < mostUnanswered; more = after != nil {
		all, next, err := e.History.AllCases(0, after, casesAtOnce)
		if err != nil {
			return fmt.Errorf("special-return cases that wait since a restore: %w", err)
		}
		if err := e.resume(all, &r); err != nil {
			return err
		}
		after = next
	}
	e.Config.Log.Info("special-return cases that waited since a restore go on: the journal has caught up", "cases", r.resumed, "still_waiting", r.waiting)
	if r.waiting > 0 {
		return nil
	}
	return e.writeShared(restored.Over())
}

// resumption counts special-return cases that waited since a restore.
type resumption struct {
	resumed, waiting int
	unanswered       int // questions in a row that the scheme has not answered
}

// resume lets those of the cases go on that wait, as an operator would.
func (e *Engine) resume(all []ledger.OwnedCase, r *resumption) error {
	for _, o := range all {
		if err := e.Config.goesOn(); err != nil {
			return err
		}
		if !o.Case.AwaitsOperator(&e.terms) {
			continue
		}
		returned, err := e.returnsOf(o.Account, o.Case.EndToEnd)
		if r.unanswered++; err == nil {
			r.unanswered = 0
			err = e.do(o.Account, ledger.ResumeCase{ID: o.Case.ID, Operator: "pixd", Returned: returned})
		}
		if err == nil {
			r.resumed++
		} else {
			r.waiting++
			e.Config.Log.Warn("a special-return case still waits since a restore: pixd med resume lets it go on", "account", o.Account.String(), "case", o.Case.ID.String(), "error", err)
		}
		if r.unanswered == mostUnanswered {
			break
		}
	}
	return nil
}

// do has an account carry out a command, and waits until its effect is durable.
func (e *Engine) do(id pix.AccountID, c ledger.Command) error {
	done := make(chan error, 1)
	e.Accounts.Tell(id, c, func(_ bool, err error) { done <- err })
	return <-done
}
