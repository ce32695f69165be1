package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/wal"
)

// alertRefused is the kind of the alert about a customer's payment that was refused.
const alertRefused = "payment_refused"

// metaRefused begins the key of the row of a refused payment. The key goes on with the
// payment's end-to-end id; the value is the time of the refusal.
const metaRefused = "refused/"

// refusals keeps the customers' payments that were refused because nobody here has the key
// that was paid to. A payment that was refused once is refused again, without another alert,
// even if an account has the key by then: the scheme may have given the money back.
type refusals struct {
	store    *wal.Store
	registry *registry.Registry
	alerts   *alerts

	mu  sync.Mutex
	ids map[string]ledger.Millis // end-to-end ids with the times of the refusals
}

// load reads the refusals of earlier processes.
func (r *refusals) load() error {
	r.ids = map[string]ledger.Millis{}
	lo := wal.MetaKey(metaRefused)
	return r.store.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return false, fmt.Errorf("refused payment %q: a value of %d bytes", k, len(v))
		}
		r.ids[strings.TrimPrefix(string(k), string(lo))] = ledger.Millis(binary.BigEndian.Uint64(v))
		return true, nil
	})
}

// refused reports whether a payment was refused.
func (r *refusals) refused(endToEnd string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.ids[endToEnd]
	return ok
}

// refuse implements account.Feed's Refuse. The refusal and its alert are one entry.
func (r *refusals) refuse(n scheme.Notice, done func(error)) {
	account := n.Account
	if _, known := r.registry.Account(account); !known {
		account = 0
	}
	at := r.alerts.book.clock.Stamp()
	form := formOf(account, ledger.Alert{Kind: alertRefused, Message: fmt.Sprintf(
		"payment %s of %d base units was refused: no account has the PIX key that was paid to; the scheme gives it back", n.EndToEnd, n.Arrived.Amount,
	)})
	r.mu.Lock()
	r.ids[n.EndToEnd] = at
	r.mu.Unlock()
	row := wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaRefused + n.EndToEnd), Value: binary.BigEndian.AppendUint64(nil, uint64(at))}
	r.store.Append(&wal.Entry{Ops: []wal.Op{form.op(at), row}, Shared: true, Out: []wal.Out{refusal{r.alerts, form, n.EndToEnd, done}}})
}

// refusal is the Out of a refused payment's entry.
type refusal struct {
	alerts   *alerts
	form     alertForm
	endToEnd string
	done     func(error)
}

// Release implements wal.Out.
func (r refusal) Release(err error) {
	if err == nil {
		r.alerts.tell(r.form)
		err = scheme.ErrNoPayee
	}
	r.done(fmt.Errorf("payment %s: %w", r.endToEnd, err))
}

// drop forgets refusals that are as old as the oldest alerts that are kept.
func (r *refusals) drop(now ledger.Millis) error {
	before := now - ledger.Millis(keptAlerts/time.Millisecond)
	var old []string
	r.mu.Lock()
	for id, at := range r.ids {
		if at < before {
			old = append(old, id)
		}
	}
	r.mu.Unlock()
	var errs []error
	for ids := range slices.Chunk(old, droppedAtOnce) {
		var ops []wal.Op
		for _, id := range ids {
			ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(metaRefused + id)})
		}
		if err := write(r.store, local, ops...); err != nil {
			errs = append(errs, err)
			continue
		}
		r.mu.Lock()
		for _, id := range ids {
			delete(r.ids, id)
		}
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}
