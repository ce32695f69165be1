package account

import (
	"errors"
	"fmt"
	"sync"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// arrivals are the payments that Feed is working on, by their end-to-end ids, so that a
// payment is never credited by one copy of its notice and refused by another, and never credited
// to two accounts.
type arrivals struct {
	mu   sync.Mutex
	work map[string]int // number of copies that an account works on; alone: one copy, beside which none may be
}

const alone = -1

// begin notes that a copy of a payment's notice is being worked on, alone where it is to be
// refused or another account may have been credited. False: it must wait for another copy.
func (w *arrivals) begin(endToEnd string, only bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.work[endToEnd]
	if n == alone || n > 0 && only {
		return false
	}
	if w.work == nil {
		w.work = map[string]int{}
	}
	if w.work[endToEnd] = n + 1; only {
		w.work[endToEnd] = alone
	}
	return true
}

// finishArrival ends what begin has begun.
func (w *arrivals) finishArrival(endToEnd string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.work[endToEnd]--; w.work[endToEnd] <= 0 {
		delete(w.work, endToEnd)
	}
}

// payee is who gets a payment: the account that has the key that was paid to.
type payee struct {
	account pix.AccountID
	ours    bool // there is one, and the scheme has not made the payment for another
	moved   bool // another account may have had the key, and have got the payment already
}

func (f *Feed) payee(n scheme.Notice) payee {
	id, ours := f.Key(n.Arrived.Key)
	ours = ours && (n.Account == 0 || n.Account == id)
	moved := f.Moved != nil && f.Moved(n.Arrived.Key) || f.Before != nil && f.Before(n.EndToEnd)
	return payee{id, ours, ours && moved}
}

// arrived hands a customer's payment to the account that has the key that was paid to. A
// payment to a key that nobody here has is refused for good, and so is one that the scheme has
// made, by its own word, for another account than the one that has the key by now; but not a payment that was
// credited before the key was removed. What was refused once stays refused.
func (f *Feed) arrived(n scheme.Notice, done func(error)) {
	p := f.payee(n)
	if !f.arrivals.begin(n.EndToEnd, !p.ours || p.moved) {
		done(fmt.Errorf("notice of %s: %w", n.EndToEnd, errInWork))
		return
	}
	ended := func(err error) {
		f.arrivals.finishArrival(n.EndToEnd)
		done(err)
	}
	if f.payee(n) != p { // the key has changed hands before begin
		ended(fmt.Errorf("notice of %s: %w", n.EndToEnd, errInWork))
		return
	}
	if f.Aside != nil && f.Aside(n.EndToEnd) {
		ended(nil) // it is credited as soon as its account is made again
		return
	}
	if f.Refused != nil && f.Refused(n.EndToEnd) {
		ended(fmt.Errorf("notice of %s: %w", n.EndToEnd, scheme.ErrNoPayee))
		return
	}
	var err error
	if !p.ours || p.moved {
		_, err = f.receiver(scheme.Notice{EndToEnd: n.EndToEnd})
	}
	switch {
	case err == nil && p.ours && !p.moved || errors.Is(err, errNotThere) && p.ours:
		f.Notice(p.account, n.Arrived, ended)
	case err == nil: // a repeat of what was credited
		ended(nil)
	case !errors.Is(err, errNotThere):
		ended(fmt.Errorf("notice of %s: %w", n.EndToEnd, err))
	case f.Refuse == nil:
		ended(fmt.Errorf("notice of %s: %w", n.EndToEnd, scheme.ErrNoPayee))
	default:
		f.Refuse(n, ended)
	}
}
