package account

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// arrivalFeed is a feed with one key, whose account and whose notes of refusals the test plays.
type arrivalFeed struct {
	Feed
	t                   *testing.T
	ours                bool            // an account has the key
	stored              bool            // a payment was credited
	broken              error           // what reading rows answers
	refused             map[string]bool // payments that were refused
	crediting, refusing []func(error)   // calls that have no result yet
}

func newArrivalFeed(t *testing.T) *arrivalFeed {
	f := &arrivalFeed{t: t, refused: map[string]bool{}}
	f.Key = func(key string) (pix.AccountID, bool) { return 7, f.ours && key == "k" }
	f.Notice = func(_ pix.AccountID, _ ledger.Command, done func(error)) { f.crediting = append(f.crediting, done) }
	f.Refused = func(endToEnd string) bool { return f.refused[endToEnd] }
	f.Refuse = func(n scheme.Notice, done func(error)) {
		f.refused[n.EndToEnd] = true
		f.refusing = append(f.refusing, done)
	}
	f.Rows = scanned(func(lo, hi []byte, fn layout.Visit) error {
		key := layout.ReceivedKey(arrivedID, 7)
		if f.broken != nil || !f.stored || string(key) < string(lo) || string(key) >= string(hi) {
			return f.broken
		}
		_, err := fn(key, nil)
		return err
	})
	return f
}

const arrivedID = "E60701190202603011200abcdefghijk"

// take takes a notice of the payment, with the key k or, where keyless, without a key.
func (f *arrivalFeed) take(keyless bool) *error {
	outcome := errPending
	n := scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: arrivedID, Arrived: ledger.ReceivePayment{EndToEnd: arrivedID, Amount: 5, Key: "k"}}
	if keyless {
		n.Arrived.Key = ""
	}
	f.Take(n, func(err error) { outcome = err })
	return &outcome
}

var errPending = errors.New("no result yet")

func (f *arrivalFeed) expect(what string, got *error, want error) {
	f.t.Helper()
	if !errors.Is(*got, want) {
		f.t.Errorf("%s: %v, want %v", what, *got, want)
	}
}

// calls checks how many copies were handed to the account and to be refused.
func (f *arrivalFeed) calls(what string, credits, refusals int) {
	f.t.Helper()
	if len(f.crediting) != credits || len(f.refusing) != refusals {
		f.t.Errorf("%s: %d credits and %d refusals, want %d and %d", what, len(f.crediting), len(f.refusing), credits, refusals)
	}
}

// TestRefusesNobodys checks that a payment to a key that nobody has, or without a key, is
// refused once, and that it stays refused when an account has the key later.
func TestRefusesNobodys(t *testing.T) {
	for _, keyless := range []bool{false, true} {
		f := newArrivalFeed(t)
		first := f.take(keyless)
		second := f.take(keyless)
		f.expect("before it is noted", first, errPending)
		f.expect("a copy meanwhile", second, errInWork)
		f.ours = true
		f.expect("a copy meanwhile, to an account's key", f.take(false), errInWork)
		f.refusing[0](scheme.ErrNoPayee)
		f.expect("noted", first, scheme.ErrNoPayee)
		for _, ours := range []bool{false, true} {
			f.ours = ours
			f.expect("again", f.take(keyless), scheme.ErrNoPayee)
		}
		f.calls("in all", 0, 1)
		if len(f.arrivals.work) != 0 {
			t.Errorf("still at work: %v", f.arrivals.work)
		}
	}
}

// TestRefusesNothingCredited checks that a payment which was credited, or is being credited,
// is not refused when its key is removed, nor one of which the rows cannot be read.
func TestRefusesNothingCredited(t *testing.T) {
	f := newArrivalFeed(t)
	f.ours = true
	first, second := f.take(false), f.take(false)
	f.calls("two copies", 2, 0)
	f.ours = false
	f.expect("the key is removed meanwhile", f.take(false), errInWork)
	failed := errors.New("quarantined")
	f.crediting[0](failed)
	f.expect("one copy fails", first, failed)
	f.expect("the other is still at work", f.take(false), errInWork)
	f.crediting[1](nil)
	f.expect("credited", second, nil)
	f.stored = true
	f.expect("a repeat", f.take(false), nil)
	f.expect("a repeat without a key", f.take(true), nil)
	f.stored, f.broken = false, errors.New("bad block")
	f.expect("rows that cannot be read", f.take(false), f.broken)
	f.calls("in all", 2, 0)
	if len(f.arrivals.work) != 0 {
		t.Errorf("still at work: %v", f.arrivals.work)
	}
}

// TestCreditsOneOwner checks that a payment is credited to one account, when its key was removed
// from an account and another has it by now: a repeat of what the first account was credited is
// acknowledged, and what the scheme has made for the first account is not the second one's.
func TestCreditsOneOwner(t *testing.T) {
	f := newArrivalFeed(t)
	f.ours = true
	first := f.take(false)
	f.Key = func(string) (pix.AccountID, bool) { return 8, true }
	f.Moved = func(key string) bool { return key == "k" }
	f.expect("a copy while the first account works on it", f.take(false), errInWork)
	f.stored = true
	f.crediting[0](nil)
	f.expect("credited", first, nil)
	f.expect("a repeat, when another has the key", f.take(false), nil)
	f.calls("the first account was credited", 1, 0)

	f.stored = false
	fresh := f.take(false)
	f.expect("a copy while the second account works on it", f.take(false), errInWork)
	f.crediting[1](nil)
	f.expect("a payment after that", fresh, nil)
	var late error
	f.Take(scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: arrivedID, Account: 7, Arrived: ledger.ReceivePayment{EndToEnd: arrivedID, Amount: 5, Key: "k"}}, func(err error) { late = err })
	f.refusing[0](scheme.ErrNoPayee)
	f.expect("a payment that was made for the first account", &late, scheme.ErrNoPayee)
	f.calls("in all", 2, 1)
	f.broken = errors.New("bad block")
	delete(f.refused, arrivedID)
	f.expect("rows that cannot be read", f.take(false), f.broken)
	if len(f.arrivals.work) != 0 {
		t.Errorf("still at work: %v", f.arrivals.work)
	}
}

// TestKeyMovesMeanwhile checks that a payment is credited once where its key changes hands, and the
// scheme's next copy is credited, after the first copy has looked the key up and before it begins.
func TestKeyMovesMeanwhile(t *testing.T) {
	f := newArrivalFeed(t)
	var credited []pix.AccountID
	f.Notice = func(id pix.AccountID, _ ledger.Command, done func(error)) {
		credited, f.stored = append(credited, id), true
		done(nil)
	}
	owner, moved, first := pix.AccountID(7), false, true
	f.Key = func(string) (pix.AccountID, bool) { return owner, true }
	f.Moved = func(string) bool {
		was := moved
		if first {
			first = false
			owner, moved = 8, true
			f.expect("the second copy", f.take(false), nil)
		}
		return was
	}
	f.expect("the first copy", f.take(false), errInWork)
	f.expect("the first copy again", f.take(false), nil)
	if len(credited) != 1 || credited[0] != 8 {
		t.Errorf("credited to %v", credited)
	}
}
