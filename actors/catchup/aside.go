package catchup

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
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

// The errors of movements that cannot be booked yet, or never.
var (
	errUnknownAccount = errors.New("the account is not known here")
	errForm           = errors.New("its id is not in the scheme's form")
	errElsewhere      = errors.New("it stands in another account here")
)

// metaAside begins the names of the values that are movements which could not be booked. A name goes on
// with the account's id and a number in 16 hexadecimal digits, in the order of the scheme's list. The
// value is the movement as /v1/movements/list shows it.
const metaAside = "aside/"

// Aside are movements that could not be booked: mostly those of accounts that were made since the snapshot.
// They are tried again, and booked once an operator has made the account again.
type Aside struct {
	Scan   func(lo, hi []byte, fn func(k, v []byte) (bool, error)) error
	Write  func(...wal.Op) error
	Alerts ledger.Alerts
	Log    *slog.Logger

	mu       sync.Mutex
	next     uint64                // number of the next movement
	known    map[string]bool       // what is kept, by identity
	accounts map[pix.AccountID]int // number of movements of each account
	payments map[string]bool       // end-to-end ids of the customers' payments among them
}

// kept is a movement that is kept aside.
type kept struct {
	key      []byte
	movement scheme.Movement
}

// Load reads what earlier processes have kept aside, and raises the alert about each account again. It is
// called once, before anything else.
func (a *Aside) Load() error {
	a.known, a.accounts, a.payments = map[string]bool{}, map[pix.AccountID]int{}, map[string]bool{}
	var numbers []error
	count := func(key []byte) {
		number, err := strconv.ParseUint(string(key[len(key)-16:]), 16, 64)
		if err != nil {
			numbers = append(numbers, fmt.Errorf("named value %q: %w", key, err))
		}
		a.next = max(a.next, number+1)
	}
	all, err := a.read("", nil, math.MaxInt, func(key []byte, why error) {
		count(key)
		a.Alerts.Raise(0, ledger.Alert{Kind: AlertAside, Message: fmt.Sprintf("a movement that is kept aside cannot be read, and is never booked: named value %q: %v", key, why)})
	})
	for i := range all {
		count(all[i].key)
		first := !a.Has(all[i].movement.Notice.Account)
		if a.note(&all[i].movement, 1); first {
			a.alert(&all[i].movement, errUnknownAccount)
		}
	}
	return errors.Join(append(numbers, err)...)
}

// read returns the movements whose name goes on with prefix, in the scheme's order: those behind a key, where it is not nil,
// and at most so many. What cannot be read is passed over.
func (a *Aside) read(prefix string, after []byte, most int, unreadable func(key []byte, why error)) (all []kept, err error) {
	lo := wal.MetaKey(metaAside + prefix)
	hi := wal.PrefixEnd(lo)
	if after != nil {
		lo = append(slices.Clone(after), 0)
	}
	err = a.Scan(lo, hi, func(k, v []byte) (bool, error) {
		m, err := provider.DecodeMovement(v)
		if err != nil {
			unreadable(k, err)
			return true, nil
		}
		all = append(all, kept{slices.Clone(k), m})
		return len(all) < most, nil
	})
	return all, err
}

// identity names a movement, so that it is kept once however often it is listed.
func identity(m *scheme.Movement) string {
	n := &m.Notice
	return strings.Join([]string{n.Account.String(), Kind(m), n.Tx.String(), n.EndToEnd, n.ReturnID, n.Infraction}, "/")
}

func (a *Aside) note(m *scheme.Movement, by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := &m.Notice
	if a.accounts[n.Account] += by; a.accounts[n.Account] == 0 {
		delete(a.accounts, n.Account)
	}
	if by < 0 {
		delete(a.known, identity(m))
		delete(a.payments, n.EndToEnd)
		return
	}
	a.known[identity(m)] = true
	if n.Kind == scheme.PaymentArrived {
		a.payments[n.EndToEnd] = true
	}
}

// keptBytes is how many bytes of movements are kept aside with one write, at most, and one movement more.
const keptBytes = 1 << 20

// keep keeps movements aside, raises an alert where one is the first of its account, and returns how many
// are new.
func (a *Aside) keep(all []unbooked) (added uint64, err error) {
	for len(all) > 0 && err == nil {
		var n int
		n, all, err = a.keepSome(all)
		added += uint64(n)
	}
	return added, err
}

// keepSome keeps the first of some movements aside, and returns how many are new, and the others.
func (a *Aside) keepSome(all []unbooked) (added int, left []unbooked, err error) {
	var ops []wal.Op
	var fresh []unbooked
	bytes := 0
	for len(all) > 0 && bytes < keptBytes {
		u := all[0]
		all = all[1:]
		if a.known[identity(u.movement)] || slices.ContainsFunc(fresh, func(f unbooked) bool { return identity(f.movement) == identity(u.movement) }) {
			continue
		}
		name := fmt.Sprintf("%s%v/%016x", metaAside, u.movement.Notice.Account, a.next)
		a.next++
		ops = append(ops, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(name), Value: provider.EncodeMovement(u.movement)})
		fresh = append(fresh, u)
		bytes += len(ops[len(ops)-1].Value)
	}
	if len(ops) == 0 {
		return 0, all, nil
	}
	if err := a.Write(ops...); err != nil {
		return 0, all, fmt.Errorf("keep movements aside: %w", err)
	}
	for _, u := range fresh {
		a.Log.Warn("a movement of the scheme is kept aside", append([]any{"kind", Kind(u.movement), "why", u.why}, Names(u.movement)...)...)
		first := !a.Has(u.movement.Notice.Account)
		if a.note(u.movement, 1); first || !errors.Is(u.why, errUnknownAccount) {
			a.alert(u.movement, u.why)
		}
	}
	return len(fresh), all, nil
}

func (a *Aside) alert(m *scheme.Movement, why error) {
	id := m.Notice.Account
	message := fmt.Sprintf("movements of %v since the snapshot are kept aside: pixd account create --account-id %v makes the account again, if it is not there, and they are booked", id, id)
	if !errors.Is(why, errUnknownAccount) {
		message = fmt.Sprintf("a movement of %v since the snapshot cannot be booked, and is kept aside and tried again: %s of %s: %v", id, Kind(m), m.Notice.EndToEnd, why)
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
	return len(a.known)
}
