package account

import (
	"errors"
	"fmt"
	"sync"

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

// end ends what begin has begun.
func (w *arrivals) end(endToEnd string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.work[endToEnd]--; w.work[endToEnd] <= 0 {
		delete(w.work, endToEnd)
	}
}

// arrived hands a customer's payment to the account that has the key that was paid to. A
// payment to a key that nobody here has is refused for good, and so is one that the scheme has
// made for another account than the one that has the key by now; but not a payment that was
// credited before the key was removed. What was refused once stays refused.
func (f *Feed) arrived(n scheme.Notice, done func(error)) {
	id, ours := f.Key(n.Arrived.Key)
	ours = ours && (n.Account == 0 || n.Account == id)
	moved := ours && f.Moved != nil && f.Moved(n.Arrived.Key)
	if !f.arrivals.begin(n.EndToEnd, !ours || moved) {
		done(fmt.Errorf("notice of %s: %w", n.EndToEnd, errInWork))
		return
	}
	ended := func(err error) {
		f.arrivals.end(n.EndToEnd)
		done(err)
	}
	if f.Refused != nil && f.Refused(n.EndToEnd) {
		ended(fmt.Errorf("notice of %s: %w", n.EndToEnd, scheme.ErrNoPayee))
		return
	}
	var err error
	if !ours || moved {
		_, err = f.receiver(scheme.Notice{EndToEnd: n.EndToEnd})
	}
	switch {
	case err == nil && ours && !moved || errors.Is(err, errNotThere) && ours:
		f.Notice(id, n.Arrived, ended)
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
