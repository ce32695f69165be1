package engine

import (
	"errors"
	"fmt"
	"log/slog"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/wal"
)

// feed routes the scheme's notices to accounts: an arrival by the key it was
// paid to, word of a payout by our transaction id, never by its end-to-end id
// alone.
type feed struct {
	directory *account.Directory
	registry  *registry.Registry
	store     *wal.Store
	log       *slog.Logger
}

var errUnknownPayout = errors.New("names a payout that is not ours")

// take implements scheme.Feed.
func (f *feed) take(n scheme.Notice, done func(error)) {
	if n.Kind == scheme.PaymentArrived {
		key, ok := f.registry.PixKey(n.Arrived.Key)
		if !ok {
			done(fmt.Errorf("notice of %s: key %s is not ours", n.EndToEnd, n.Arrived.Key))
			return
		}
		f.directory.Notice(key.Account, n.Arrived, done)
		return
	}
	c, err := about(n)
	if err != nil {
		done(err)
		return
	}
	id, err := f.owner(n)
	if err != nil {
		done(fmt.Errorf("notice of %v: %w", n.Tx, err))
		return
	}
	f.directory.Notice(id, c, done)
}

// about is what a notice of a payout tells its account.
func about(n scheme.Notice) (ledger.Command, error) {
	switch n.Kind {
	case scheme.PaymentSettled:
		return ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Result: ledger.PayoutIsSettled}, nil
	case scheme.PaymentRejected:
		return ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Result: ledger.PayoutIsRejected, Reason: n.Reason}, nil
	case scheme.ReturnReceived:
		return ledger.ReceiveReturn{ID: n.Tx, EndToEnd: n.EndToEnd, ReturnID: n.ReturnID, Amount: n.Amount, Reason: n.Reason}, nil
	}
	return nil, fmt.Errorf("notice of %s: %w", n.EndToEnd, errKind)
}

// errKind is of notices that this version does not take: they must come again,
// perhaps to a newer one.
var errKind = errors.New("a kind that is not taken")

// owner is the account of the payout that a notice names: by its id row once
// it was shown, by its end-to-end row while it is only held.
func (f *feed) owner(n scheme.Notice) (ledger.AccountID, error) {
	if id, ok := f.directory.Owner(n.Tx); ok {
		return id, nil
	}
	b, ok, err := f.store.Get(ledger.IDKey(n.Tx.Short()))
	if err != nil {
		return 0, err
	}
	if ok {
		row, err := ledger.DecodeIDRow(b)
		if err == nil && row.ID != n.Tx {
			err = errUnknownPayout
		}
		return row.Account, err
	}
	for _, key := range ledger.EndToEndKeys(n.EndToEnd) {
		b, ok, err := f.store.Get(key)
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
	return 0, errUnknownPayout
}
