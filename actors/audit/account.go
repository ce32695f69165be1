package audit

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// The kinds of differences.
const (
	KindTotals     = "totals"     // the totals in a record differ from the totals computed from the records
	KindHolds      = "holds"      // a record goes on with or ends a transfer that holds no money, or holds a transfer a second time
	KindOpen       = "open_row"   // a payout or refund in flight has no open row, or an open row has no such transfer
	KindDue        = "due_row"    // a payout or refund in flight, or a case, has no due row, or a due row has neither
	KindQueue      = "queue_row"  // a queued payout has no queue row, or a queue row has no queued payout
	KindCase       = "case_row"   // a special-return case that holds money has no holding row, or another amount in it, or a holding row has no such case
	KindRefunds    = "refund_row" // the refund sums of a payment differ from its refunds and cases
	KindBook       = "book"       // the engine's sums differ from the sums in the scheme's book of settled payments
	KindDamage     = "damage"     // the journal cannot be read
	KindQuarantine = "quarantine" // the account is quarantined
)

// Difference is one finding of the audit: two sources of the same fact do not agree.
type Difference struct {
	Account     pix.AccountID
	Kind        string
	Transaction string // transaction_id of the transaction that the difference is about; empty: it is about no single transaction
	Message     string // explanation in English

	// Set with KindBook: the name of the sum, and its value in the engine and in the
	// scheme's book, in base units.
	Field          string
	Engine, Scheme pix.Amount
}

// work is a payout or refund in flight, as its newest record describes it.
type work struct {
	is     pix.TxKind
	of     pix.TxID   // of a refund: the payment that it gives back
	gross  pix.Amount // amount and fee that the transfer holds
	seq    uint64     // sequence of the newest record about the transfer
	status pix.TxStatus
	due    pix.Millis
	kind   layout.DueKind
	bucket pix.Bucket
}

func workOf(r *ledger.Record) work {
	t := r.Tx
	return work{t.Kind, t.Refund.Original, t.Amount + t.Fee, r.Seq, t.Status, t.Transfer.DueAt, t.Transfer.DueKind, t.Payout.Bucket}
}

// Account derives the state of one account from its records, which the method Record takes
// in order. Its size grows only with the transfers in flight and the special-return cases that
// hold money or wait, not with the records.
type Account struct {
	ID      pix.AccountID
	Records uint64
	Totals  ledger.Totals // totals stored in the newest record
	Sums    scheme.Sums   // sums of the account's payments that settled at the scheme

	balance, pending pix.Amount
	med, owed        pix.Amount // what cases hold; the part of it that the engine refunds as soon as there is money
	open             map[pix.TxID]work
	cases            map[uint64]*ledger.Case // by ordinal: the cases that hold money or have a due time
	sums             uint64                  // see takeSums
	wrong            bool                    // true: a difference KindTotals was reported, and no further one is
	found            []Difference
}

// NewAccount makes an account as it is before its first record.
func NewAccount(id pix.AccountID) *Account {
	return &Account{ID: id, open: map[pix.TxID]work{}, cases: map[uint64]*ledger.Case{}}
}

// Found lists the differences found so far.
func (a *Account) Found() []Difference { return a.found }

// InFlight returns the number of payouts and refunds that hold money.
func (a *Account) InFlight() int { return len(a.open) }

// Cases returns the number of special-return cases that hold money or wait.
func (a *Account) Cases() int { return len(a.cases) }

func (a *Account) tell(kind, transaction, format string, args ...any) {
	a.found = append(a.found, Difference{
		Account: a.ID, Kind: kind, Transaction: transaction, Message: fmt.Sprintf(format, args...),
	})
}

// Record takes the account's next record. It computes the totals from the records so far,
// and reports the first record that stores other totals.
func (a *Account) Record(r *ledger.Record) {
	a.Records++
	t := r.Tx
	switch r.Kind {
	case ledger.Credited, ledger.PaymentReceived, ledger.ReturnReceived:
		a.move(&a.balance, t.Amount-t.Fee)
	case ledger.PayoutHeld, ledger.RefundHeld, ledger.PayoutFound, ledger.RefundFoundOpen:
		a.hold(r)
	case ledger.PayoutSettled, ledger.RefundSettled:
		a.move(&a.balance, -t.Amount-t.Fee)
		a.release(r)
	case ledger.PayoutSettledLate, ledger.RefundSettledLate, ledger.RefundFound:
		a.move(&a.balance, -t.Amount-t.Fee)
	case ledger.PayoutRejected, ledger.PayoutRefused, ledger.PayoutFailed, ledger.RefundFailed:
		a.release(r)
	default:
		if t != nil && t.Status.InFlight() {
			a.goOn(r)
		}
	}
	if r.Case != nil {
		a.applyCase(r.Case)
	}
	if r.Sums != nil {
		a.takeSums(r)
	}
	if err := Settled(&a.Sums, r); err != nil {
		a.tell(KindTotals, "", "record %d: %v", r.Seq, err)
	}
	a.Totals = r.Totals
	if t := &r.Totals; a.wrong || t.Balance == a.balance && t.Held == a.pending && t.MEDHeld == a.med && t.Owed == a.owed {
		return
	}
	a.wrong = true
	a.tell(KindTotals, "", "record %d (%v) carries balance %d, pending %d, %d held by cases, %d owed: the records make %d, %d, %d and %d",
		r.Seq, r.Kind, r.Totals.Balance, r.Totals.Held, r.Totals.MEDHeld, r.Totals.Owed, a.balance, a.pending, a.med, a.owed)
}

// applyCase replaces what was known of a case by its newest state: it corrects the sums that cases
// hold and are owed, and forgets a case that holds nothing and has no time limit.
func (a *Account) applyCase(k *ledger.Case) {
	if was := a.cases[k.Ordinal]; was != nil {
		a.move(&a.med, -was.Held)
		a.move(&a.owed, -was.Owed())
	}
	a.move(&a.med, k.Held)
	a.move(&a.owed, k.Owed())
	if a.cases[k.Ordinal] = k; k.Held == 0 && k.DueAt == 0 {
		delete(a.cases, k.Ordinal)
	}
}

func (a *Account) move(sum *pix.Amount, by pix.Amount) {
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
	a.open[t.ID] = workOf(r)
	a.move(&a.pending, t.Amount+t.Fee)
}

// goOn takes a record about a payout or refund that stays in flight.
func (a *Account) goOn(r *ledger.Record) {
	t := r.Tx
	w, ok := a.open[t.ID]
	if !ok {
		a.tell(KindHolds, t.Public(), "record %d (%v) is about a transfer that holds nothing", r.Seq, r.Kind)
		return
	}
	now := workOf(r)
	now.gross = w.gross
	a.open[t.ID] = now
}

// release takes a record that ends a transfer, and subtracts the amount that the transfer held
// from the total of held money.
func (a *Account) release(r *ledger.Record) {
	t := r.Tx
	w, ok := a.open[t.ID]
	switch {
	case !ok:
		a.tell(KindHolds, t.Public(), "record %d (%v) ends a transfer that holds nothing", r.Seq, r.Kind)
		return
	case w.gross != t.Amount+t.Fee:
		a.tell(KindHolds, t.Public(), "record %d (%v) ends a transfer of %d, which held %d", r.Seq, r.Kind, t.Amount+t.Fee, w.gross)
	}
	delete(a.open, t.ID)
	a.move(&a.pending, -w.gross)
}

// Settled adds the amount of a payment that settled with this record to the sums, without
// the fee: fees are between the institution and its merchants, and the scheme does not know
// them.
func Settled(s *scheme.Sums, r *ledger.Record) error {
	var to *pix.Amount
	switch r.Kind {
	case ledger.PayoutSettled, ledger.PayoutSettledLate:
		to = &s.Sent
	case ledger.PaymentReceived:
		to = &s.Received
	case ledger.ReturnReceived:
		to = &s.ReturnedTo
	case ledger.RefundSettled, ledger.RefundSettledLate, ledger.RefundFound:
		to = &s.ReturnedBy
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
