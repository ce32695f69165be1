// Package catchup brings a journal that was restored up to what the scheme has done since: it reads the
// scheme's movements, hands each to its account as a command that books it if it is missing, and keeps
// aside what cannot be booked, mostly because the journal does not know the account.
//
// It may be ended at any moment. Each page of movements is durable before the place behind it is, so the
// next start reads a page again at most, which changes nothing.
package catchup

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Margin is how long, in ms, before the instant of a restore movements are read: their notices may have
// been on their way then, and clocks may differ.
const Margin = pix.Millis(10 * time.Minute / time.Millisecond)

// PageSize is how many movements are asked for at once.
const PageSize = 1000

// reservedAtOnce is how many end-to-end ids of merchants are reserved at once.
const reservedAtOnce = 64

// Runner catches up. All its fields must be set.
type Runner struct {
	Scheme  scheme.Scheme
	Timeout time.Duration // the most time for one question to the scheme
	Known   func(pix.AccountID) bool
	Refused func(endToEnd string) bool // whether a customer's payment was refused
	// Owner finds the account in which the payment, payout or refund of a notice stands; 0: in none.
	Owner func(*scheme.Notice) (pix.AccountID, error)
	// Tell hands an account a command; done is called once its effect is durable.
	Tell func(id pix.AccountID, c ledger.Command, done func(changed bool, err error))
	// Reserve reserves an end-to-end id that a merchant chose; see registry.ReserveEndToEnd.
	Reserve func(id pix.AccountID, endToEnd string) (bool, error)
	Aside   *Aside
	Secret  []byte // see ledger.Terms
	Write   func(...wal.Op) error
	// LostKey is called with each customer's payment that was booked although no account has its key: the key
	// was made since the snapshot.
	LostKey func(scheme.Notice)
	KeyOf   func(key string) (pix.AccountID, bool) // the account that has a PIX key
	Elapsed func() time.Duration                   // of a monotonic clock
	Log     *slog.Logger

	failed map[pix.AccountID]string // what Book has logged last of each account
}

// Run reads the movements since the state's instant, from the place where it was, books what is missing
// and moves the state on. It ends with the context's error where that ends.
func (r *Runner) Run(ctx context.Context, s *State) error {
	told, anew, met := r.newProgress(s), false, map[string]bool{}
	for empty := 0; !s.Read; empty++ {
		page, err := r.ask(ctx, s)
		switch {
		case err != nil && ctx.Err() == nil && s.After != "" && !anew:
			r.Log.Warn("the scheme does not go on with its list of movements: it is read anew", "read", s.Done, "error", err)
			s.After, s.Done, anew = "", 0, true
			clear(met)
			continue
		case err != nil:
			return err
		case page.Next != "" && (page.Next == s.After || met[page.Next]), empty > mostEmpty:
			return fmt.Errorf("catch up: the scheme's list of movements does not go on behind %q", s.After)
		case s.After == "":
			s.Total = s.Done + uint64(len(page.Movements)+page.Left)
		}
		if len(page.Movements) > 0 {
			empty = 0
		}
		if err := r.take(ctx, page.Movements, s); err != nil {
			return err
		}
		s.Done += uint64(len(page.Movements))
		if s.Read = page.Next == ""; !s.Read { // otherwise later movements follow in the same page
			s.After, met[page.Next] = page.Next, true
		}
		if err := r.Write(s.op()); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		told.tell(s, false)
	}
	told.tell(s, true)
	return nil
}

// mostEmpty is how many pages without a movement may follow each other.
const mostEmpty = 1000

func (r *Runner) ask(ctx context.Context, s *State) (page scheme.MovementPage, err error) {
	err = Try(ctx, r.Timeout, func(ctx context.Context) error {
		page, err = r.Scheme.Movements(ctx, s.Since, s.After, PageSize)
		return err
	})
	if err != nil {
		err = fmt.Errorf("catch up: %w", err)
	}
	return page, err
}

// tries is how often one question is put to the scheme, and pause the time between two tries, at most the time
// for which an answer is waited for.
const (
	tries = 5
	pause = time.Second
)

// Try asks the scheme, several times where it does not answer, each time for timeout at most. It ends
// with the context's error where that ends.
func Try(ctx context.Context, timeout time.Duration, ask func(context.Context) error) (err error) {
	for n := range tries {
		if n > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(min(pause, timeout)):
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		within, cancel := context.WithTimeout(ctx, timeout)
		err = ask(within)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// take books a page of movements, each account's in their order, and waits until all of it is durable.
func (r *Runner) take(ctx context.Context, page []scheme.Movement, s *State) error {
	for _, err := range r.reserve(ctx, page) {
		if err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var work sync.WaitGroup
	var booked atomic.Uint64
	why := make([]error, len(page))
	for i := range page {
		work.Add(1)
		r.book(&page[i], func(m *scheme.Movement, changed bool, err error) {
			defer work.Done()
			if why[i] = err; changed {
				booked.Add(1)
				r.show(m)
			}
		})
	}
	work.Wait()
	var aside []unbooked
	for i, err := range why {
		if err != nil {
			aside = append(aside, unbooked{&page[i], err})
		}
	}
	added, err := r.Aside.keep(aside)
	if err != nil {
		return err
	}
	s.Booked += booked.Load()
	s.Aside += added
	return ctx.Err()
}

// unbooked is a movement that could not be booked, and why.
type unbooked struct {
	movement *scheme.Movement
	why      error
}

// show prints a movement that was booked.
func (r *Runner) show(m *scheme.Movement) {
	r.Log.Info("booked from the scheme", append([]any{"kind", Kind(m)}, Names(m)...)...)
}

// book hands a movement to its account.
func (r *Runner) book(m *scheme.Movement, done func(*scheme.Movement, bool, error)) {
	n := &m.Notice
	c, err := command(m)
	owner := pix.AccountID(0)
	if err == nil {
		owner, err = r.Owner(n)
	}
	payment := n.Kind == scheme.PaymentArrived || n.Infraction != ""
	switch {
	case err != nil:
		done(m, false, err)
	case payment && owner == 0 && r.Refused(n.EndToEnd):
		done(m, false, nil) // it went back: nobody here has its money
	case owner != 0 && owner != n.Account:
		done(m, false, errElsewhere)
	case !r.Known(n.Account):
		done(m, false, errUnknownAccount)
	default:
		r.Tell(n.Account, c, func(changed bool, err error) {
			if changed && n.Kind == scheme.PaymentArrived {
				if _, ours := r.KeyOf(n.Arrived.Key); !ours {
					r.LostKey(*n)
				}
			}
			done(m, changed, err)
		})
	}
}

// reserve reserves the end-to-end ids of payouts that no engine has computed: their merchants chose them,
// and no other account may use them. It returns why a movement's id is not reserved, for each that has one.
func (r *Runner) reserve(ctx context.Context, page []scheme.Movement) []error {
	errs := make([]error, len(page))
	var work sync.WaitGroup
	room := make(chan struct{}, reservedAtOnce)
	for i := range page {
		p := &page[i].Payment
		if p.Tx == (pix.TxID{}) || !r.Known(p.Account) || r.computed(p) {
			continue
		}
		room <- struct{}{}
		work.Go(func() {
			if errs[i] = ctx.Err(); errs[i] == nil {
				_, errs[i] = r.Reserve(p.Account, p.EndToEnd)
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("reserve an end-to-end id: %w", errs[i])
			}
			<-room
		})
	}
	work.Wait()
	return errs
}

// attemptsSought is how many attempts are looked at to see whether the engine computed an id. An id of a
// later attempt is reserved like one that a merchant chose, which does no harm.
const attemptsSought = 4

func (r *Runner) computed(p *scheme.Payment) bool {
	if !pix.ValidEndToEnd(p.EndToEnd) {
		return true // it is not booked
	}
	print := pix.Fingerprint{Account: p.Account, Amount: p.Amount, KeyType: p.Key.Type, Key: p.Key.Value}
	for n := range uint64(attemptsSought) {
		if print.Suffix(r.Secret, n) == p.EndToEnd[len(p.EndToEnd)-pix.SuffixChars:] {
			return true
		}
	}
	return false
}

// command returns the command with which an account books a movement.
func command(m *scheme.Movement) (ledger.Command, error) {
	n, p, r := &m.Notice, &m.Payment, &m.Refund
	result := ledger.TransferIsAccepted
	switch n.Kind {
	case scheme.PaymentSettled, scheme.RefundSettled:
		result = ledger.TransferIsSettled
	case scheme.PaymentRejected, scheme.RefundRejected:
		result = ledger.TransferIsRejected
	}
	switch {
	case p.Tx != pix.TxID{}:
		if !pix.ValidEndToEnd(p.EndToEnd) {
			return nil, errForm
		}
		return ledger.FindPayout{
			ID: p.Tx, EndToEnd: p.EndToEnd, Amount: p.Amount, Key: p.Key, Owner: m.Owner, RecipientISPB: p.RecipientISPB,
			Description: p.Description, Purpose: p.Purpose, Result: result, Reason: n.Reason,
		}, nil
	case r.Tx != pix.TxID{}:
		if !pix.ValidReturnID(r.EndToEnd) {
			return nil, errForm
		}
		return ledger.FindRefund{
			ID: r.Tx, ReturnID: r.EndToEnd, Original: r.Original, Amount: r.Amount, Code: r.Reason, Description: r.Description,
			Result: result, Reason: n.Reason,
		}, nil
	case n.Kind == scheme.PaymentArrived:
		return n.Arrived, nil
	}
	return account.Command(*n)
}
