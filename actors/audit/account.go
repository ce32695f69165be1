package audit

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// The kinds of differences.
const (
	KindTotals     = "totals"     // a record's totals are not what the records make
	KindHolds      = "holds"      // a payout ends that held nothing, or holds twice
	KindOpen       = "open_row"   // a payout in flight without its open row, or such a row without one
	KindDue        = "due_row"    // the same of due rows
	KindQueue      = "queue_row"  // the same of the directory's queue
	KindBook       = "book"       // the scheme has settled something else
	KindDamage     = "damage"     // the journal cannot be read
	KindQuarantine = "quarantine" // the account is closed off
)

// Difference is a place where two books do not agree.
type Difference struct {
	Account     ledger.AccountID
	Kind        string
	Transaction string // its transaction_id; empty: it is about none
	Message     string // for people

	// With KindBook: which sum, and what either side has, in base units.
	Field          string
	Engine, Scheme ledger.Amount
}

// work is a payout in flight, as its newest record has it.
type work struct {
	gross  ledger.Amount // as it was held
	seq    uint64        // of that record
	status ledger.TxStatus
	due    ledger.Millis
	kind   ledger.DueKind
	bucket ledger.Bucket
}

// Account derives one account from its records, which it is given in order. What
// it keeps is constant in size but for the work in flight.
type Account struct {
	ID      ledger.AccountID
	Records uint64
	Totals  ledger.Totals // as the newest record carries them
	Sums    scheme.Sums   // what it has settled with the scheme

	balance, pending ledger.Amount
	open             map[ledger.TxID]work
	wrong            bool // totals that differ were told
	found            []Difference
}

// NewAccount is an account before its first record.
func NewAccount(id ledger.AccountID) *Account {
	return &Account{ID: id, open: map[ledger.TxID]work{}}
}

// Found is all that was found so far.
func (a *Account) Found() []Difference { return a.found }

// InFlight is how many transactions hold money.
func (a *Account) InFlight() int { return len(a.open) }

func (a *Account) tell(kind, transaction, format string, args ...any) {
	a.found = append(a.found, Difference{
		Account: a.ID, Kind: kind, Transaction: transaction, Message: fmt.Sprintf(format, args...),
	})
}

// Record takes one record in. Of the totals it believes nothing: it derives them
// from what happened, and tells the first that differ.
func (a *Account) Record(r *ledger.Record) {
	a.Records++
	t := r.Tx
	switch r.Kind {
	case ledger.Credited, ledger.PaymentReceived, ledger.ReturnReceived:
		a.move(&a.balance, t.Amount-t.Fee)
	case ledger.PayoutHeld:
		a.hold(r)
	case ledger.PayoutSettled:
		a.move(&a.balance, -t.Amount-t.Fee)
		a.release(r)
	case ledger.PayoutSettledLate:
		a.move(&a.balance, -t.Amount-t.Fee)
	case ledger.PayoutRejected, ledger.PayoutRefused, ledger.PayoutFailed:
		a.release(r)
	default:
		if t != nil && t.Status.InFlight() {
			a.goOn(r)
		}
	}
	if err := Settled(&a.Sums, r); err != nil {
		a.tell(KindTotals, "", "record %d: %v", r.Seq, err)
	}
	a.Totals = r.Totals
	if a.wrong || r.Totals.Balance == a.balance && r.Totals.Held == a.pending {
		return
	}
	a.wrong = true
	a.tell(KindTotals, "", "record %d (%v) carries balance %d and pending %d: the records make %d and %d",
		r.Seq, r.Kind, r.Totals.Balance, r.Totals.Held, a.balance, a.pending)
}

func (a *Account) move(sum *ledger.Amount, by ledger.Amount) {
	n, ok := sum.Add(by)
	if !ok {
		a.tell(KindTotals, "", "a sum does not fit 64 bits")
	}
	*sum = n
}

func (a *Account) hold(r *ledger.Record) {
	t := r.Tx
	if _, twice := a.open[t.ID]; twice {
		a.tell(KindHolds, t.Public(), "record %d holds what is held", r.Seq)
		return
	}
	a.open[t.ID] = work{t.Amount + t.Fee, r.Seq, t.Status, t.Transfer.DueAt, t.Transfer.DueKind, t.Payout.Bucket}
	a.move(&a.pending, t.Amount+t.Fee)
}

// goOn notes how far a payout is.
func (a *Account) goOn(r *ledger.Record) {
	t := r.Tx
	w, ok := a.open[t.ID]
	if !ok {
		a.tell(KindHolds, t.Public(), "record %d (%v) is about a payout that holds nothing", r.Seq, r.Kind)
		return
	}
	a.open[t.ID] = work{w.gross, r.Seq, t.Status, t.Transfer.DueAt, t.Transfer.DueKind, t.Payout.Bucket}
}

// release gives back what was held: that much, and no other sum.
func (a *Account) release(r *ledger.Record) {
	t := r.Tx
	w, ok := a.open[t.ID]
	switch {
	case !ok:
		a.tell(KindHolds, t.Public(), "record %d (%v) ends a payout that holds nothing", r.Seq, r.Kind)
		return
	case w.gross != t.Amount+t.Fee:
		a.tell(KindHolds, t.Public(), "record %d (%v) ends a payout of %d, which held %d", r.Seq, r.Kind, t.Amount+t.Fee, w.gross)
	}
	delete(a.open, t.ID)
	a.move(&a.pending, -w.gross)
}

// Settled adds what a record settles with the scheme. Fees are between the
// institution and its merchants: the scheme does not know them.
func Settled(s *scheme.Sums, r *ledger.Record) error {
	var to *ledger.Amount
	switch r.Kind {
	case ledger.PayoutSettled, ledger.PayoutSettledLate:
		to = &s.Sent
	case ledger.PaymentReceived:
		to = &s.Received
	case ledger.ReturnReceived:
		to = &s.ReturnedTo
	default:
		return nil
	}
	n, ok := to.Add(r.Tx.Amount)
	if !ok {
		return fmt.Errorf("what was settled does not fit 64 bits")
	}
	*to = n
	return nil
}
