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
	id, err := f.owner(n)
	if err != nil {
		done(fmt.Errorf("notice of %v: %w", n.Tx, err))
		return
	}
	c := ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Result: ledger.PayoutIsSettled}
	if n.Kind == scheme.PaymentRejected {
		c.Result, c.Reason = ledger.PayoutIsRejected, n.Reason
	}
	f.directory.Notice(id, c, done)
}

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
