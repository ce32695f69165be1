package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/account"
	"pixd/actors/audit"
	"pixd/actors/catchup"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/wal"
)

// openAside reads the movements that were kept aside, and makes what books movements.
func (e *Engine) openAside() error {
	c := &e.Config
	aside := &catchup.Aside{Scan: e.Store.Scan, Write: e.writeLate, Alerts: c.alerts, Log: c.Log}
	if err := aside.Load(); err != nil {
		return err
	}
	began := time.Now()
	var told sync.Map // PIX keys
	e.catchup = &catchup.Runner{
		Elapsed: func() time.Duration { return time.Since(began) },
		Scheme:  e.scheme, Timeout: c.SchemeTimeout, Known: e.Registry.Has, Refused: e.refusals.Has, Tell: e.Accounts.Tell,
		Reserve: e.Registry.ReserveEndToEnd, KeyOf: e.Registry.KeyOwner, Aside: aside, Secret: e.terms.Secret, Write: e.writeLate, Log: c.Log,
		Owner: (&account.Feed{Rows: e.Store}).Owner,
		LostKey: func(n scheme.Notice) {
			if _, told := told.LoadOrStore(n.Arrived.Key, true); told {
				return
			}
			c.alerts.Raise(n.Account, ledger.Alert{Kind: catchup.AlertLostKey, Message: fmt.Sprintf(
				"a customer paid to a PIX key that was made since the snapshot (%s): the payment is booked; add the key again, or later payments to it go back", n.EndToEnd,
			)})
		},
	}
	return nil
}

// beforeRestore reports whether a payment may be from before the journal was restored, by the minute in its
// end-to-end id.
func (e *Engine) beforeRestore(endToEnd string) bool {
	until := restored.Until(e.terms.EventsAbove)
	return until != 0 && pix.ValidEndToEnd(endToEnd) && ledger.ExpiryOf(endToEnd)-ledger.MaxRepeatWindow < until
}

func (e *Engine) writeLate(ops ...wal.Op) error { return e.Store.WriteRows(wal.Shared, ops...) }

// farther are the instants, before that of a restore, since when movements are read again where the books
// still differ: notices of older movements may have come after the snapshot.
var farther = []pix.Millis{pix.Millis(24 * time.Hour / time.Millisecond), math.MaxInt64 / 2}

// notCaughtUp is the error of a start that could not catch up.
type notCaughtUp struct {
	why      error
	accepted bool // the gap is accepted: the start goes on without
}

func (n *notCaughtUp) Error() string { return n.why.Error() }
func (n *notCaughtUp) Unwrap() error { return n.why }

// catchUp brings a restored journal up to what the scheme has done since, before any merchant is served:
// it books what is missing, asks about what is in flight, and compares the books.
func (e *Engine) catchUp() error {
	if e.catching == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(e.ending)
	defer cancel()
	defer context.AfterFunc(e.Config.starting(), cancel)()
	err := e.readAll(ctx, e.catching)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &notCaughtUp{fmt.Errorf("%s: it was %v, and %w", e.Config.DataDir, e.gap, err), e.accepted || e.Config.AcceptRestoredGap}
}

// readAll reads the movements since the restore, and earlier ones as long as the books differ.
func (e *Engine) readAll(ctx context.Context, s *catchup.State) error {
	since := s.Since
	for tries := 0; ; tries++ {
		before, err := e.schemesBook(ctx) // all that stands in it is listed when the list is read on
		if err != nil {
			return err
		}
		s.Read = false
		if err := e.catchup.Run(ctx, s); err != nil {
			return err
		}
		if err := e.askInFlight(ctx); err != nil {
			return err
		}
		differ, err := e.differences(ctx, before)
		if err != nil {
			return err
		}
		if !lacks(differ) || tries == len(farther) {
			return e.caughtUp(s, differ, before.At != 0)
		}
		e.Config.Log.Warn("the books differ after the movements since the restore: movements from before it are read, too", "differences", len(differ))
		s.Since, s.After = max(1, since-farther[tries]), ""
	}
}

// schemesBook reads the scheme's book, of any number of pages, each of which has --scheme-timeout, and 30 s at least.
func (e *Engine) schemesBook(ctx context.Context) (b scheme.Book, err error) {
	err = catchup.Try(ctx, e.Config.SchemeTimeout, func(context.Context) error {
		b, err = e.scheme.Book(ctx)
		return err
	})
	if err != nil {
		err = fmt.Errorf("audit after the restore: %w", err)
	}
	return b, err
}

// errOtherScheme refuses to end a catch-up with a scheme that does not know what the journal has.
var errOtherScheme = errors.New("the scheme's book lacks what the journal has: is it this engine's scheme, or is --sim-dir missing? --accept-restored-gap serves the folder all the same")

// caughtUp ends the catch-up, and tells what it has come to.
func (e *Engine) caughtUp(s *catchup.State, differ []audit.Difference, compared bool) error {
	for _, d := range differ {
		e.Config.Log.Error("audit after the restore: a difference", "account", d.Account.String(), "field", d.Field, "engine", int64(d.Engine), "scheme", int64(d.Scheme))
	}
	if exceeds(differ) && !e.Config.AcceptRestoredGap {
		_, again := catchup.Begin(e.gap.From() - catchup.Margin) // the right scheme is asked from the beginning
		if err := e.writeShared(again); err != nil {
			return err
		}
		return errOtherScheme
	}
	changes := append(restored.Caught(), catchup.Drop())
	if compared && len(differ) == 0 && e.terms.Epoch > 0 {
		changes = append(changes, restored.SetKnown(e.terms.Epoch, 0))
	}
	if err := e.writeShared(changes...); err != nil {
		return err
	}
	names := []any{"booked", s.Booked, "kept_aside", e.catchup.Aside.Count(), "differences", len(differ)}
	if len(differ) > 0 {
		e.Config.alerts.RaiseGeneral(alertDiffers, fmt.Sprintf("the books differ from the scheme's after a restore, in %d sums: pixd audit shows them", len(differ)))
		e.Config.Log.Error("the restored journal has caught up, and its books differ from the scheme's", names...)
		return nil
	}
	if !compared {
		e.Config.Log.Warn("the restored journal has caught up with the scheme, which keeps no book: nothing was compared", names...)
		return nil
	}
	e.Config.Log.Info("the restored journal has caught up with the scheme, and the audit is clean", names...)
	return nil
}

// alertDiffers is the kind of alert about books that differ after a restore.
const alertDiffers = "restored_differs"

// lacks reports whether the scheme has moved money that the journal lacks.
func lacks(differ []audit.Difference) bool {
	for _, d := range differ {
		if d.Scheme > d.Engine {
			return true
		}
	}
	return false
}

// exceeds reports whether the journal has moved money that the scheme does not know.
func exceeds(differ []audit.Difference) bool {
	for _, d := range differ {
		if d.Engine > d.Scheme {
			return true
		}
	}
	return false
}

// differences compares the accounts' settled sums with the scheme's book. before was read before the
// movements were, so that nothing in it is on its way. Accounts that the journal does not know, of which movements
// are kept aside, are left out. A scheme that keeps no book is not compared.
func (e *Engine) differences(ctx context.Context, before scheme.Book) ([]audit.Difference, error) {
	if before.At == 0 {
		return nil, nil
	}
	b, err := e.auditor.Derive(ctx, audit.NewReport(e.Clock.Now()))
	if err != nil {
		return nil, err
	}
	after, err := e.schemesBook(ctx)
	if err != nil {
		return nil, err
	}
	var c audit.Comparison
	c.Before(&before)
	var all []audit.Difference
	for _, d := range c.Judge(b.Sums(), &after) {
		if e.Registry.Has(d.Account) || !e.catchup.Aside.Has(d.Account) {
			all = append(all, d)
		}
	}
	return all, nil
}

// askedAtOnce is how many payouts and refunds in flight the scheme is asked about at once.
const askedAtOnce = 64

// askInFlight asks the scheme about every payout and refund that it has or may have, and applies what
// has become of them. The first question without an answer ends it: there may be hundreds of thousands, and a scheme that has
// fallen silent lets each wait for its timeout.
func (e *Engine) askInFlight(ctx context.Context) error {
	all, err := e.inFlight(ctx, func(t *ledger.Transaction) bool {
		return t.Status == pix.StatusAccepted || t.Status == pix.StatusSending
	})
	if err != nil {
		return err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var work sync.WaitGroup
	var ended atomic.Int64
	room := make(chan struct{}, askedAtOnce)
	for _, o := range all {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		work.Go(func() {
			known, err := e.askAbout(ctx, o)
			if err != nil {
				giveUp(err)
			}
			if known {
				ended.Add(1)
			}
			<-room
		})
	}
	work.Wait()
	if why := context.Cause(ctx); why != nil {
		return fmt.Errorf("catch up: %w", why)
	}
	e.Config.Log.Info("asked the scheme about what is in flight", "asked", len(all), "ended", ended.Load())
	return nil
}

// inFlight finds the payouts and refunds in flight of which wanted is true.
func (e *Engine) inFlight(ctx context.Context, wanted func(*ledger.Transaction) bool) (all []ledger.Owned, err error) {
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
			return true, ctx.Err()
		}
		if wanted(r.Tx) {
			all = append(all, ledger.Owned{Account: account, Tx: r.Tx})
		}
		return true, ctx.Err()
	})
	return all, err
}
