package engine

import (
	"context"
	"time"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/webhook"
	"pixd/cmd/resumption"
	"pixd/wal"
)

// start begins the background work.
func (e *Engine) start() (err error) {
	ctx := e.ending
	e.feed = &account.Feed{
		Rows: e.Store, Key: e.Registry.KeyOwner, Moved: e.Registry.Moved, Recent: e.Accounts.Recent(), Notice: e.Accounts.Notice,
		Refused: e.refusals.Has, Refuse: e.refusals.Refuse, Aside: e.catchup.Aside.HasPayment,
		Before: e.beforeRestore,
	}
	if e.Sim != nil {
		if err := e.Sim.Start(e.feed.Take); err != nil {
			return err
		}
	}
	if err := e.makeSnapshots(); err != nil {
		return err
	}
	for _, run := range []func(context.Context){
		e.load.Run, e.webhooks.Run, e.registrar.Run, e.fill,
		func(ctx context.Context) { e.scanner.Run(ctx, e.Accounts) },
	} {
		e.work.Go(func() { run(ctx) })
	}
	known, until, err := restored.Known(webhookRows{e.Store})
	if err != nil {
		return err
	}
	if known {
		e.work.Go(func() { e.heldCases(until).Run(ctx) })
	}
	if e.terms.RestoredAt != 0 || e.terms.GapOpen {
		e.work.Go(func() { e.tellHeld(ctx) })
	}
	e.work.Go(e.keepClock)
	e.runLoops()
	return nil
}

// heldCases are the special-return cases that an accepted gap held and that go on by themselves now.
func (e *Engine) heldCases(until pix.Millis) *resumption.Cases {
	return &resumption.Cases{Until: until, Options: resumption.Options{
		Rows: e.Store, Case: e.History.CaseRecord, Returns: e.returnsOf, Clock: e.Clock.Read, Write: e.writeLate, Terms: &e.terms, Every: e.Config.resumeEvery, Log: e.Config.Log,
		Do: func(a pix.AccountID, c ledger.Command) (*ledger.Refusal, error) {
			answer, err := e.Accounts.Do(a, c)
			return answer.Refusal, err
		},
	}}
}

// The times between two rounds of work that comes back.
const (
	asideEvery     = time.Second      // movements that are kept aside are booked, if their accounts are known by now
	trimEvery      = 2 * time.Second  // accounts give up what they need no more
	passivateEvery = 10 * time.Second // idle accounts are passivated
	dropEvery      = time.Hour        // what is too old to be kept is dropped
	usesEvery      = time.Minute      // times of use of API keys are written; a killed process loses those of so long
)

// runLoops begins the work that comes back at intervals.
func (e *Engine) runLoops() {
	always := func(fn func()) func() error { return func() error { fn(); return nil } }
	e.every(asideEvery, "", always(e.catchup.Book))
	e.every(trimEvery, "", always(e.Accounts.Trim))
	e.every(passivateEvery, "", func() error { e.Accounts.Passivate(); return nil })
	e.every(webhook.WatchEvery, "", always(e.webhooks.Watch)) // not at once, so that after a long stop deliveries are attempted first
	e.every(dropEvery, "claims of past days not dropped", e.dropClaims)
	e.every(dropEvery, "old refusals of payments not dropped", func() error { return e.refusals.Drop(e.Clock.Read(), e.drop) })
	e.every(dropEvery, "old alerts not dropped", e.Config.alerts.DropOld)
	e.every(dropEvery, "first approvals of payouts that wait no more not forgotten", e.forgetApprovals)
	e.every(usesEvery, "last uses of keys not written", func() error { return e.Registry.WriteUses(e.Store) })
	e.work.Go(func() {
		const what = "webhook: sweep"
		e.logError(what, e.webhooks.Sweep())
		e.repeat(dropEvery, what, e.webhooks.Sweep)
	})
}

// every begins work that is done at intervals. what is logged with an error of fn.
func (e *Engine) every(interval time.Duration, what string, fn func() error) {
	e.work.Go(func() { e.repeat(interval, what, fn) })
}

// repeat calls fn at intervals until the engine's end begins.
func (e *Engine) repeat(interval time.Duration, what string, fn func() error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-e.ending.Done():
			return
		case <-ticker.C:
			e.logError(what, fn())
		}
	}
}

// logError logs an error, unless the engine's end is the reason.
func (e *Engine) logError(what string, err error) {
	if err != nil && e.ending.Err() == nil {
		e.Config.Log.Error(what, "error", err)
	}
}

// presentFilter is the size, in bytes, of the filter over the rows that are mostly absent. It is enough for
// thirteen million rows; with more rows, more lookups read the store in vain.
const presentFilter = 16 << 20

// fill fills the filters over rows that are mostly absent.
func (e *Engine) fill(ctx context.Context) {
	if err := account.FillPresent(ctx, e.present, e.Store.Scan); err != nil {
		e.Config.Log.Error("filter not filled: every payout and refund asks the store", "error", err)
	}
	if err := e.Registry.FillReservations(e.Store.Scan, func() bool { return ctx.Err() != nil }); err != nil {
		e.Config.Log.Error("filter not filled: every end-to-end id that a merchant chose asks the store", "error", err)
	}
}

// claimsFilter is the size, in bytes, of the filter over one hour's idempotency claims. There
// are at most 26 such filters, each made with the first claim of its hour: 104 MiB at most.
// For a new key 25 filters are asked. With a million claims in each hour one new key in a
// hundred is looked up in the store in vain, with three million one in four, with 5.4 million
// (1,500 a second, around the clock) three in four. The filters of the store's tables answer
// all but one in fifty of these lookups from memory.
const claimsFilter = 4 << 20

// dropClaims removes idempotency claims that are too old to be kept. Claims older than 24 h are
// dropped by whole days: the claims of a day are dropped within an hour after that day has become
// the third before today. A claim that was stamped under doubt by an earlier process stays until
// this process is 24 h old.
func (e *Engine) dropClaims() error {
	_, newest, _ := e.Store.Head()
	return account.DropClaims(e.Store.Scan, e.Clock.Read(), pix.Millis(newest), e.drop)
}

// forgetApprovals forgets the first approvals of payouts that have ended without an operator: their time ran out, or
// their account was closed.
func (e *Engine) forgetApprovals() error {
	return e.Operators.ForgetApprovals(func(payout pix.TxID) (bool, error) {
		o, err := e.History.Anyone(payout.String())
		return o != nil && (o.Tx.Status == pix.StatusPending || e.terms.Holds(o.Tx)), err
	})
}

// drop makes deletions of rows durable that every machine decides for itself.
func (e *Engine) drop(ops ...wal.Op) error { return e.Store.WriteRows(wal.Local, ops...) }
