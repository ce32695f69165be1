package ledger

import (
	"fmt"
	"slices"
)

// step is one legal transition: what a record of a kind makes of a transaction.
type step struct {
	from []TxStatus // the statuses before it; 0: the transaction has no record yet
	to   TxStatus
}

// transitions are all legal ones. A kind that is not here is about no transaction.
// docs/formats.md has the same table.
var transitions = map[RecordKind]step{
	Credited:        {[]TxStatus{0}, StatusCompleted},
	ChargeCreated:   {[]TxStatus{0}, StatusActive},
	PaymentReceived: {[]TxStatus{0, StatusActive}, StatusCompleted},
	ReturnReceived:  {[]TxStatus{0}, StatusCompleted},

	PayoutHeld:     {[]TxStatus{0}, StatusHeld},
	PayoutRefused:  {[]TxStatus{StatusHeld}, StatusRefused},
	PayoutAccepted: {[]TxStatus{StatusHeld}, StatusAccepted},
	PayoutPending:  {[]TxStatus{StatusHeld}, StatusPending},
	PayoutQueued:   {[]TxStatus{StatusHeld}, StatusQueued},

	PayoutApproved: {[]TxStatus{StatusPending}, StatusSending},
	PayoutSending:  {[]TxStatus{StatusQueued}, StatusSending},
	PayoutRequeued: {[]TxStatus{StatusSending}, StatusQueued},
	PayoutSent:     {[]TxStatus{StatusSending, StatusAccepted}, StatusAccepted},

	// The scheme's word ends what is in flight, wherever it is.
	PayoutSettled:  {[]TxStatus{StatusAccepted, StatusSending, StatusQueued, StatusPending}, StatusSettled},
	PayoutRejected: {[]TxStatus{StatusAccepted, StatusSending, StatusQueued, StatusPending}, StatusRejected},
	PayoutFailed:   {[]TxStatus{StatusAccepted, StatusSending, StatusQueued, StatusPending}, StatusFailed},

	PayoutSettledLate:       {[]TxStatus{StatusFailed}, StatusSettled},
	PayoutRejectedAfterVoid: {[]TxStatus{StatusFailed}, StatusFailed},
	PayoutReturned:          {[]TxStatus{StatusSettled}, StatusSettled},
}

// transition is an error where a record of the kind may not follow a transaction's
// newest record, or makes something else of it.
func transition(kind RecordKind, from, to TxStatus) error {
	s, ok := transitions[kind]
	if !ok {
		return fmt.Errorf("%v is about no transaction", kind)
	}
	if !slices.Contains(s.from, from) || to != s.to {
		return fmt.Errorf("%v leads from %q to %q", kind, from, to)
	}
	return nil
}

// Follows checks a record against the one that it names as the record before it
// about the same transaction, nil where it names none: they must be about one
// transaction, and the transition must be legal. A record about no transaction
// follows anything.
func (r *Record) Follows(before *Record) error {
	if r.Tx == nil {
		return nil
	}
	var from TxStatus
	switch {
	case (before == nil) != (r.Prev == 0):
		return fmt.Errorf("ledger: record %d of %v: names record %d as the one before it", r.Seq, r.Account, r.Prev)
	case before == nil:
	case before.Account != r.Account || before.Seq != r.Prev || before.Tx == nil || before.Tx.ID != r.Tx.ID:
		return fmt.Errorf("ledger: record %d of %v: record %d, which it names as the one before it, is not about %v",
			r.Seq, r.Account, r.Prev, r.Tx.ID)
	default:
		from = before.Tx.Status
	}
	if err := transition(r.Kind, from, r.Tx.Status); err != nil {
		return fmt.Errorf("ledger: record %d of %v: %w", r.Seq, r.Account, err)
	}
	return nil
}
