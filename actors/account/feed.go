package account

import (
	"errors"
	"fmt"
	"sync"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Feed routes the scheme's notices to accounts: an arrival by the key it was
// paid to, word of a payout by our transaction id, never by its end-to-end id
// alone. The account that a notice may name is for an engine of several machines, which
// routes by it; here it must only not contradict.
type Feed struct {
	// Get reads a row of the journal.
	Get func(key []byte) (value []byte, ok bool, err error)
	// Key is whose one of our PIX keys is.
	Key func(key string) (ledger.AccountID, bool)
	// Recent is the accounts' own; may be nil.
	Recent *Recent
	// Notice hands an account its part; see Host.Notice.
	Notice func(id ledger.AccountID, c ledger.Command, done func(error))

	returning sync.Map // ids of returns on their way to an account, so that two accounts do not credit one
}

// What a feed cannot route. It must come again, perhaps to a newer version.
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

// about is what a notice of a payout tells its account.
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

// owner is the account of the payout that a notice names: by its id row once
// it was shown, by its end-to-end row while it is only held.
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
