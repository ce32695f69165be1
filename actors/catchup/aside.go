package catchup

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/wal"
)

// The kinds of alert about a catch-up.
const (
	AlertAside   = "movement_aside" // a movement could not be booked and is kept aside
	AlertLostKey = "key_lost"       // a customer paid to a PIX key that was made since the snapshot
)

// The errors of movements that cannot be booked yet.
var (
	errUnknownAccount = errors.New("the account is not known here")
	errForm           = errors.New("its id is not in the scheme's form")
)

// metaAside begins the names of the values that are movements which could not be booked. A name goes on
// with the account's id, the instant in hexadecimal digits, so that an account's movements stand in their
// order, and what the movement is about. The value is the movement as /v1/movements/list shows it.
const metaAside = "aside/"

// Aside are movements that could not be booked: their accounts are not known, because they were made since
// the snapshot. They are booked once an operator has made the account again.
type Aside struct {
	Scan   func(lo, hi []byte, fn func(k, v []byte) (bool, error)) error
	Write  func(...wal.Op) error
	Alerts ledger.Alerts
	Log    *slog.Logger

	mu       sync.Mutex
	accounts map[pix.AccountID]int // number of movements of each account
	payments map[string]bool       // end-to-end ids of the customers' payments among them
}

// Load reads what earlier processes have kept aside. It is called once, before anything else.
func (a *Aside) Load() error {
	a.accounts, a.payments = map[pix.AccountID]int{}, map[string]bool{}
	return a.each("", func(_ []byte, m *scheme.Movement) (bool, error) {
		a.note(m, 1)
		return true, nil
	})
}

// each calls fn with each movement whose name goes on with prefix.
func (a *Aside) each(prefix string, fn func(key []byte, m *scheme.Movement) (more bool, err error)) error {
	lo := wal.MetaKey(metaAside + prefix)
	return a.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		m, err := provider.DecodeMovement(v)
		if err != nil {
			return false, fmt.Errorf("named value %q: %w", k, err)
		}
		return fn(k, &m)
	})
}

func (a *Aside) note(m *scheme.Movement, by int) {
	n := &m.Notice
	if a.accounts[n.Account] += by; a.accounts[n.Account] <= 0 {
		delete(a.accounts, n.Account)
	}
	if n.Kind == scheme.PaymentArrived {
		if a.payments[n.EndToEnd] = by > 0; by < 0 {
			delete(a.payments, n.EndToEnd)
		}
	}
}

// nameOf is the name of the value of a movement.
func nameOf(m *scheme.Movement) string {
	n := &m.Notice
	return fmt.Sprintf("%s%v/%016x/%s/%s", metaAside, n.Account, uint64(m.At), Kind(m), n.EndToEnd+n.ReturnID+n.Infraction)
}

// keep keeps movements aside, raises an alert for each account, and returns how many are new.
func (a *Aside) keep(all []aside) (added uint64, err error) {
	var ops []wal.Op
	var fresh []aside
	for _, k := range all {
		key := wal.MetaKey(nameOf(k.movement))
		there := false
		if err := a.Scan(key, append(key, 0), func(_, _ []byte) (bool, error) { there = true; return false, nil }); err != nil {
			return 0, err
		}
		if !there {
			ops = append(ops, wal.Op{Kind: wal.OpSet, Key: key, Value: provider.EncodeMovement(k.movement)})
			fresh = append(fresh, k)
		}
	}
	if len(ops) == 0 {
		return 0, nil
	}
	if err := a.Write(ops...); err != nil {
		return 0, fmt.Errorf("keep movements aside: %w", err)
	}
	for _, k := range fresh {
		a.Log.Warn("a movement of the scheme is kept aside", append([]any{"kind", Kind(k.movement), "why", k.why}, Names(k.movement)...)...)
		a.alert(k)
	}
	return uint64(len(fresh)), nil
}

// alert raises the alert about the first movement of each account that is kept aside.
func (a *Aside) alert(k aside) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := &k.movement.Notice
	first := a.accounts[n.Account] == 0
	a.note(k.movement, 1)
	if !first {
		return
	}
	message := fmt.Sprintf("movements of %v since the snapshot are kept aside (%v): pixd account create --account-id %v makes the account again, and they are booked", n.Account, k.why, n.Account)
	if !errors.Is(k.why, errUnknownAccount) {
		message = fmt.Sprintf("a movement of %v since the snapshot cannot be booked, and is kept aside and tried again: %s of %s: %v", n.Account, Kind(k.movement), n.EndToEnd, k.why)
	}
	a.Alerts.Raise(0, ledger.Alert{Kind: AlertAside, Message: message})
}

// Has reports whether movements of an account are kept aside.
func (a *Aside) Has(id pix.AccountID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accounts[id] > 0
}

// HasPayment reports whether a customer's payment is kept aside.
func (a *Aside) HasPayment(endToEnd string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.payments[endToEnd]
}

// Count is how many movements are kept aside.
func (a *Aside) Count() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.accounts {
		n += of
	}
	return n
}

// Book books what is kept aside of accounts that are known by now, one after the other. What cannot be
// booked stays, and what comes behind it in its account. It is not called twice at once.
func (r *Runner) Book() {
	a := r.Aside
	a.mu.Lock()
	ids := make([]pix.AccountID, 0, len(a.accounts))
	for id := range a.accounts {
		ids = append(ids, id)
	}
	a.mu.Unlock()
	for _, id := range ids {
		if !r.Known(id) {
			continue
		}
		err := r.bookOf(id)
		if err == nil {
			delete(r.failed, id)
			continue
		}
		if r.failed == nil {
			r.failed = map[pix.AccountID]string{}
		}
		if r.failed[id] != err.Error() {
			r.failed[id] = err.Error()
			r.Log.Error("movements that are kept aside cannot be booked", "account", id.String(), "error", err)
		}
	}
}

func (r *Runner) bookOf(id pix.AccountID) error {
	type kept struct {
		key      []byte
		movement scheme.Movement
	}
	var all []kept
	if err := r.Aside.each(id.String()+"/", func(k []byte, m *scheme.Movement) (bool, error) {
		all = append(all, kept{append([]byte(nil), k...), *m})
		return true, nil
	}); err != nil {
		return err
	}
	for i := range all {
		m := &all[i].movement
		done := make(chan error, 1)
		r.book(m, func(m *scheme.Movement, changed bool, err error) {
			if changed {
				r.show(m)
			}
			done <- err
		})
		if err := <-done; err != nil {
			return fmt.Errorf("%s of %s: %w", Kind(m), strings.TrimSpace(m.Notice.EndToEnd), err)
		}
		if err := r.Aside.Write(wal.Op{Kind: wal.OpDelete, Key: all[i].key}); err != nil {
			return err
		}
		r.Aside.mu.Lock()
		r.Aside.note(m, -1)
		r.Aside.mu.Unlock()
	}
	return nil
}
