package account

import (
	"errors"
	"fmt"
	"sync"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Feed routes the scheme's notices to accounts. It finds the account of a received payment
// by the PIX key that was paid to, the account of a payout or refund by our transaction id,
// never by the end-to-end id alone, and the account of a report by the payment that is
// reported. A notice may also name the account. An engine of several
// machines would route by that name; here the name must only not contradict the account
// that was found.
type Feed struct {
	Rows layout.Rows // of the store
	// Key returns the account that a PIX key belongs to; false: no account here has the
	// key.
	Key func(key string) (pix.AccountID, bool)
	// Moved reports whether a PIX key was removed from an account before its present owner
	// reserved it; nil: none was.
	Moved func(key string) bool
	// Before reports whether a payment may be from before a restore: another account may have been credited
	// for it than the one that has its key by now. nil: none is.
	Before func(endToEnd string) bool
	// Refused reports whether the payment under an end-to-end id was refused before; nil: none
	// was.
	Refused func(endToEnd string) bool
	// Aside reports whether a payment is kept until its account is made again; nil: none is.
	Aside func(endToEnd string) bool
	// Refuse notes durably that a customer's payment is refused, alerts the operators, and
	// calls done with an error that wraps scheme.ErrNoPayee; with another error if it could not
	// note that. nil: nothing is noted.
	Refuse func(n scheme.Notice, done func(error))
	// Recent is the same table of recent payouts that the accounts use; may be nil.
	Recent *Recent
	// Notice hands the command that a notice means to its account; see Host.Notice.
	Notice func(id pix.AccountID, c ledger.Command, done func(error))

	// working has the ids of returns and reports that an account is working on now, so that
	// two accounts never credit the same return, nor open cases for the same report.
	working  sync.Map
	arrivals arrivals
}

// The errors of notices that cannot be routed. The scheme must send such a notice again,
// perhaps to a newer version of the engine.
var (
	errNotOurs  = errors.New("names a payout or refund that is not ours")
	errAccount  = errors.New("names another account than the transaction's")
	errKind     = errors.New("a kind that is not taken")
	errInWork   = errors.New("another notice of the same return or report is being worked on")
	errNotThere = errors.New("names a payment that was not received")
)

// Take implements scheme.Feed.
func (f *Feed) Take(n scheme.Notice, done func(error)) {
	if n.Kind == scheme.PaymentArrived {
		f.arrived(n, done)
		return
	}
	c, err := Command(n)
	if err != nil {
		done(err)
		return
	}
	id, err := f.owner(n)
	if err == nil && n.Account != 0 && n.Account != id {
		err = errAccount
	}
	switch {
	case errors.Is(err, errNotThere) && f.Refused != nil && f.Refused(n.EndToEnd):
		done(nil) // a report of a payment that went back: nobody here has its money
		return
	case err != nil:
		done(fmt.Errorf("notice %v of %s: %w", n.Kind, n.EndToEnd, err))
		return
	}
	if id := n.ReturnID + n.Infraction; id != "" { // of the two a notice has one at most
		if _, busy := f.working.LoadOrStore(id, true); busy {
			done(fmt.Errorf("notice of %s: %w", id, errInWork))
			return
		}
		taken := done
		done = func(err error) {
			f.working.Delete(id)
			taken(err)
		}
	}
	f.Notice(id, c, done)
}

// Command makes the account's command from a notice that is about a transaction of the
// account, or about a report.
func Command(n scheme.Notice) (ledger.Command, error) {
	switch n.Kind {
	case scheme.PaymentSettled, scheme.RefundSettled:
		return ledger.ResolveTransfer{ID: n.Tx, EndToEnd: n.EndToEnd, Notice: true, Result: ledger.TransferIsSettled}, nil
	case scheme.PaymentRejected, scheme.RefundRejected:
		return ledger.ResolveTransfer{ID: n.Tx, EndToEnd: n.EndToEnd, Notice: true, Result: ledger.TransferIsRejected, Reason: n.Reason}, nil
	case scheme.ReturnReceived:
		return ledger.ReceiveReturn{ID: n.Tx, EndToEnd: n.EndToEnd, ReturnID: n.ReturnID, Amount: n.Amount, Reason: n.Reason}, nil
	case scheme.InfractionOpened:
		return ledger.OpenCase{Infraction: n.Infraction, EndToEnd: n.EndToEnd, Amount: n.Amount, Situation: n.Situation}, nil
	case scheme.InfractionCancelled:
		return ledger.CancelCase{Infraction: n.Infraction, EndToEnd: n.EndToEnd}, nil
	}
	return nil, fmt.Errorf("notice of %s: %w", n.EndToEnd, errKind)
}

// Whose returns the account that a notice is about, as far as memory tells: the one that it
// names, that has the paid key, or that a recent payout or refund belongs to; 0: memory does not
// tell.
func (f *Feed) Whose(n scheme.Notice) pix.AccountID {
	if n.Account != 0 {
		return n.Account
	}
	if n.Kind == scheme.PaymentArrived {
		if id, ours := f.Key(n.Arrived.Key); ours {
			return id
		}
		return 0
	}
	if f.Recent != nil {
		if p := f.Recent.get(n.Tx); p != nil {
			return p.account
		}
	}
	return 0
}

// receiver returns the account that received the payment which a report is about.
func (f *Feed) receiver(n scheme.Notice) (id pix.AccountID, err error) {
	lo, hi := layout.ReceivedRange(n.EndToEnd)
	err = f.Rows.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		a, err := layout.DecodeReceivedKey(k)
		if n.Account == 0 || n.Account == a {
			id = a
		}
		return id == 0, err
	})
	if err == nil && id == 0 {
		err = errNotThere
	}
	return id, err
}

// Owner returns the account in which the payment, payout or refund of a notice stands, whatever the notice
// says; 0: it stands in none.
func (f *Feed) Owner(n *scheme.Notice) (pix.AccountID, error) {
	if n.Kind == scheme.PaymentArrived || n.Infraction != "" {
		id, err := f.receiver(scheme.Notice{EndToEnd: n.EndToEnd})
		if errors.Is(err, errNotThere) {
			err = nil
		}
		return id, err
	}
	at, ok, err := layout.FindTransfer(f.Rows, n.Tx, n.EndToEnd)
	if err != nil || !ok {
		return 0, err
	}
	return at.Account, nil
}

// owner returns the account of the payout or refund that a notice names, which it looks for in the
// table of recent ones first, or of the payment that a report is about.
func (f *Feed) owner(n scheme.Notice) (pix.AccountID, error) {
	if n.Infraction != "" {
		return f.receiver(n)
	}
	if f.Recent != nil {
		if p := f.Recent.get(n.Tx); p != nil {
			return p.account, nil
		}
	}
	at, ok, err := layout.FindTransfer(f.Rows, n.Tx, n.EndToEnd)
	if err == nil && !ok {
		err = errNotOurs
	}
	return at.Account, err
}
