package simulation

import (
	"context"
	"errors"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// wire is the scheme as the engine reaches it: over a network that loses, delays and doubles
// messages, and behind a gateway that refuses some.
type wire struct{ *outside }

var _ scheme.Scheme = wire{}

// cut reports whether a call never reaches the scheme.
func (w wire) cut() bool {
	if w.l.clock >= w.down && !w.l.odds(w.l.mood.lost) {
		return false
	}
	w.l.count("fault: unreachable")
	return true
}

// answered returns the error with which a call ends that reached the scheme: the answer may be lost.
func (w wire) answered(err error) error {
	if refused := new(scheme.Refused); err != nil && !errors.As(err, &refused) {
		w.l.fail("scheme: %v", err)
	}
	if w.l.odds(w.l.mood.lost) || w.deaf {
		w.deaf = false
		w.l.count("fault: answer lost")
		return errLost
	}
	w.l.stated()
	w.heard = true
	return err
}

// Movements implements scheme.Scheme.
func (w wire) Movements(ctx context.Context, since pix.Millis, after string, most int) (page scheme.MovementPage, err error) {
	if w.cut() {
		return page, errLost
	}
	page, err = w.sim.Movements(ctx, since, after, most)
	return page, w.answered(err)
}

// RegisterKey implements scheme.Scheme.
func (w wire) RegisterKey(ctx context.Context, k pix.Key, id pix.AccountID) error {
	if w.cut() {
		return errLost
	}
	return w.answered(w.sim.RegisterKey(ctx, k, id))
}

// DeregisterKey implements scheme.Scheme.
func (w wire) DeregisterKey(ctx context.Context, k pix.Key, id pix.AccountID) error {
	if w.cut() {
		return errLost
	}
	return w.answered(w.sim.DeregisterKey(ctx, k, id))
}

// Lookup implements scheme.Scheme.
func (w wire) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	if w.cut() {
		return pix.Party{}, errLost
	}
	if w.gone != "" && q.Key.Value == w.gone {
		w.l.count("fault: key gone")
		return pix.Party{}, &scheme.Refused{Code: ledger.RefuseKeyNotFound}
	}
	owner, err := w.sim.Lookup(ctx, q)
	return owner, w.answered(err)
}

// Submit implements scheme.Scheme. The submission may arrive, arrive later, arrive twice, or be
// refused by a gateway in front of the scheme. Earlier submissions of the same payment do not
// change these chances.
func (w wire) Submit(_ context.Context, p scheme.Payment) (state scheme.State, err error) {
	m := &w.l.mood
	switch {
	case w.cut():
		return state, errLost
	case w.l.odds(m.late):
		w.l.count("fault: submission late")
		w.late = append(w.late, p)
		return state, errLost
	case w.l.odds(m.limited):
		w.l.count("fault: submission limited")
		return state, &scheme.Refused{Code: ledger.RefuseBucket}
	case m.limited > 0 && p.Tx[15]%6 == 0: // a gateway refuses every submission of some payouts
		w.l.count("fault: submission refused")
		return state, &scheme.Refused{Code: ledger.RefuseProvider}
	}
	if state, err = w.take(p); w.l.odds(m.doubled) {
		w.l.count("fault: submission doubled")
		state, err = w.take(p)
	}
	return state, w.answered(err)
}

// unsure notes that a submission of a refund had no answer.
func (o *outside) unsure(id pix.TxID) {
	if o.unanswered == nil {
		o.unanswered = map[pix.TxID]bool{}
	}
	o.unanswered[id] = true
}

// Return implements scheme.Scheme. The refund may arrive, arrive later, arrive twice, or be
// refused, as a payment (see Submit).
func (w wire) Return(_ context.Context, p scheme.Refund) (state scheme.State, err error) {
	m := &w.l.mood
	defer func() {
		if errors.Is(err, errLost) {
			w.unsure(p.Tx)
		}
	}()
	switch {
	case w.cut():
		return state, errLost
	case w.refusing && p.Tx == w.refused:
		return state, &scheme.Refused{Code: ledger.RefuseProvider}
	case w.refusing && m.late > 0 || w.l.odds(m.late):
		w.refused = p.Tx
		w.l.count("fault: refund late")
		w.lateRefunds = append(w.lateRefunds, p)
		return state, errLost
	case m.limited > 0 && p.Tx[15]%4 == 0: // a gateway refuses every submission of some refunds
		w.l.count("fault: refund refused")
		return state, &scheme.Refused{Code: ledger.RefuseProvider}
	case m.limited > 0 && p.Tx[15]%4 == 1: // others it refuses for now, until all faults end
		return state, w.refusesForNow(p)
	}
	if state, err = w.takeRefund(p); w.l.odds(m.doubled) {
		w.l.count("fault: refund doubled")
		if state, err = w.takeRefund(p); err == nil && p.Tx[15]%2 == 0 { // some schemes call the second one a duplicate
			w.l.count("fault: refund called a duplicate of itself")
			state = scheme.State{Progress: scheme.Rejected, Reason: ledger.ReasonDuplicate}
		}
	}
	return state, w.answered(err)
}

// Ask implements scheme.Scheme.
func (w wire) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	if w.cut() {
		return scheme.State{}, errLost
	}
	if w.l.odds(w.l.mood.limited) {
		w.l.count("fault: question refused")
		return scheme.State{}, &scheme.Refused{Code: ledger.RefuseProviderOther}
	}
	state, err := w.sim.Ask(ctx, tx, endToEnd)
	return state, w.answered(err)
}

// Returns implements scheme.Scheme.
func (w wire) Returns(ctx context.Context, id pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	return w.sim.Returns(ctx, id, endToEnd)
}

// Book implements scheme.Scheme.
func (w wire) Book(ctx context.Context) (scheme.Book, error) { return w.sim.Book(ctx) }
