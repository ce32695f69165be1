package account

import (
	"errors"
	"fmt"
	"sync"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Feed routes the scheme's notices to accounts. It finds the account of a received payment
// by the PIX key that was paid to, and the account of a payout by our transaction id, never
// by the end-to-end id alone. A notice may also name the account. An engine of several
// machines would route by that name; here the name must only not contradict the account
// that was found.
type Feed struct {
	// Get reads a row of the store.
	Get func(key []byte) (value []byte, ok bool, err error)
	// Key returns the account that a PIX key belongs to; false: no account here has the
	// key.
	Key func(key string) (ledger.AccountID, bool)
	// Recent is the same table of recent payouts that the accounts use; may be nil.
	Recent *Recent
	// Notice hands the command that a notice means to its account; see Host.Notice.
	Notice func(id ledger.AccountID, c ledger.Command, done func(error))

	// returning has the ids of returns that an account is working on now, so that two
	// accounts never credit the same return.
	returning sync.Map
}

// The errors of notices that cannot be routed. The scheme must send such a notice again,
// perhaps to a newer version of the engine.
var (
	errNotOurs = errors.New("names a payout that is not ours")
	errAccount = errors.New("names another account than the payout's")
	errKind    = errors.New("a kind that is not taken")
	errInWork  = errors.New("another notice of this return is being worked on")
)

// Take implements scheme.Feed.
func (f *Feed) Take(n scheme.Notice, done func(error)) {
	if n.Kind == scheme.PaymentArrived {
		id, ok := f.Key(n.Arrived.Key)
		if !ok {
			done(fmt.Errorf("notice of %s: key %s is not ours", n.EndToEnd, n.Arrived.Key))
			return
		}
		f.Notice(id, n.Arrived, done)
		return
	}
	c, err := about(n)
	if err != nil {
		done(err)
		return
	}
	id, err := f.owner(n)
	if err == nil && n.Account != 0 && n.Account != id {
		err = errAccount
	}
	if err != nil {
		done(fmt.Errorf("notice of %v: %w", n.Tx, err))
		return
	}
	if n.Kind == scheme.ReturnReceived {
		if _, busy := f.returning.LoadOrStore(n.ReturnID, true); busy {
			done(fmt.Errorf("notice of %v: %w", n.Tx, errInWork))
			return
		}
		taken := done
		done = func(err error) {
			f.returning.Delete(n.ReturnID)
			taken(err)
		}
	}
	f.Notice(id, c, done)
}

// about makes the account's command from a notice that is about a payout.
func about(n scheme.Notice) (ledger.Command, error) {
	switch n.Kind {
	case scheme.PaymentSettled:
		return ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Notice: true, Result: ledger.PayoutIsSettled}, nil
	case scheme.PaymentRejected:
		return ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Notice: true, Result: ledger.PayoutIsRejected, Reason: n.Reason}, nil
	case scheme.ReturnReceived:
		return ledger.ReceiveReturn{ID: n.Tx, EndToEnd: n.EndToEnd, ReturnID: n.ReturnID, Amount: n.Amount, Reason: n.Reason}, nil
	}
	return nil, fmt.Errorf("notice of %s: %w", n.EndToEnd, errKind)
}

// owner returns the account of the payout that a notice names. It looks in the table of
// recent payouts; then reads the payout's id row, which exists from the record that first
// shows the payout to the merchant; then the end-to-end rows, which find a payout that is
// only held.
func (f *Feed) owner(n scheme.Notice) (ledger.AccountID, error) {
	if f.Recent != nil {
		if p := f.Recent.get(n.Tx); p != nil {
			return p.account, nil
		}
	}
	b, ok, err := f.Get(ledger.IDKey(n.Tx.Short()))
	if err != nil {
		return 0, err
	}
	if ok {
		row, err := ledger.DecodeIDRow(b)
		if err == nil && row.ID != n.Tx {
			err = errNotOurs
		}
		return row.Account, err
	}
	for _, key := range ledger.EndToEndKeys(n.EndToEnd) {
		b, ok, err := f.Get(key)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		row, err := ledger.DecodeEndToEndRow(b)
		if err != nil {
			return 0, err
		}
		if _, ours := row.Find(n.Tx); ours {
			return row.Account, nil
		}
	}
	return 0, errNotOurs
}
