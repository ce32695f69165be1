// Package scheme is the port to the PIX scheme: the directory that knows keys (DICT) and the
// system that settles payments (SPI). It has one contract and several bodies: sim, the
// simulator in this process; provider, a scheme in another process; Unassigned, which refuses
// every call. Callers know only the interface Scheme.
package scheme

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Scheme is the interface through which payouts and refunds reach the PIX scheme. A returned
// *Refused is an explicit refusal by the scheme; every other error is an infrastructure
// error: after Lookup no money has left, after Submit or Return it is unknown whether the
// payment or the refund arrived.
type Scheme interface {
	// RegisterKey makes one of our PIX keys known to the scheme. Repeating it is harmless.
	RegisterKey(ctx context.Context, key pix.Key, account pix.AccountID) error
	// DeregisterKey takes one of our PIX keys from the scheme, if the scheme has it for this
	// account. Customers cannot pay to the key afterwards. Repeating it is harmless, and so is
	// a key that the scheme does not have, or has for another account.
	DeregisterKey(ctx context.Context, key pix.Key, account pix.AccountID) error
	// Lookup asks the directory who owns a key. It writes nothing.
	Lookup(ctx context.Context, q Query) (pix.Party, error)
	// Submit submits a payment. The same payment submitted again (same transaction id, same
	// end-to-end id) is answered like the first submission and pays nothing more.
	Submit(ctx context.Context, p Payment) (State, error)
	// Return submits a refund: it gives a payment that we received back to its payer, in full
	// or in part. The same refund submitted again (same transaction id, same D id) is
	// answered like the first submission and returns nothing more.
	Return(ctx context.Context, r Refund) (State, error)
	// Ask returns the scheme's state of a payment or a refund that we submitted.
	Ask(ctx context.Context, tx pix.TxID, endToEnd string) (State, error)
	// Returns lists the refunds of a payment that one of our accounts received, the oldest
	// first: those that have settled, and those that are under way. A payment that the scheme
	// does not know, or that another account received, has none.
	Returns(ctx context.Context, account pix.AccountID, endToEnd string) ([]ledger.Returned, error)
	// Movements lists a page of what the scheme has told of our accounts since an instant, or would
	// have told, the oldest first, and then the payments and refunds that are pending: what an engine
	// needs that was restored from a snapshot. after is the Next of the page before, empty for the
	// first page; most is the largest number of movements in a page, 1 or more.
	Movements(ctx context.Context, since pix.Millis, after string, most int) (MovementPage, error)
	// Book returns the scheme's own book of settled movements, for an audit.
	Book(ctx context.Context) (Book, error)
}

// Query is a directory lookup on behalf of a payer.
type Query struct {
	Account  pix.AccountID
	Tx       pix.TxID
	Key      pix.Key
	EndToEnd string
}

// Payment is a payout as the scheme sees it.
type Payment struct {
	Tx            pix.TxID
	Account       pix.AccountID
	EndToEnd      string
	Amount        pix.Amount
	Key           pix.Key
	RecipientISPB string // the recipient's ISPB as the merchant states it (manual routing); may be empty
	Description   string
	Purpose       string
}

// Refund is the return of a payment that we received, as the scheme sees it (pacs.004).
type Refund struct {
	Tx          pix.TxID
	Account     pix.AccountID
	EndToEnd    string     // the refund's own id, D…
	Original    string     // end-to-end id of the payment that is returned, E…
	Amount      pix.Amount // base units
	Reason      string     // the return code as the merchant sent it: any string of at most 64 characters
	Description string     // at most 140 characters
}

// Progress is the scheme's status of a payment or a refund.
type Progress uint8

// The progress values.
const (
	Unknown  Progress = iota // the payment never arrived
	Pending                  // the payment is accepted, and not settled
	Settled                  // the payment is settled, which is final
	Rejected                 // the payment is rejected, which is final; State.Reason is the scheme's code
)

// State is a payment's progress at the scheme.
type State struct {
	Progress Progress
	Reason   string
}

// Refused is an explicit refusal, with the code as merchants see it.
type Refused struct{ Code ledger.RefusalCode }

func (r *Refused) Error() string { return "scheme: refused: " + r.Code.String() }

// NoticeKind is the kind of a notice.
type NoticeKind uint8

// The kinds of notice in this version.
const (
	PaymentArrived  NoticeKind = iota + 1 // a customer paid one of our keys
	PaymentSettled                        // a payout of ours settled
	PaymentRejected                       // a payout of ours was rejected
	ReturnReceived                        // a payout of ours came back, in full or in part

	InfractionOpened    // a payer has reported a payment that we received
	InfractionCancelled // the payer has withdrawn the report

	RefundSettled  // a refund of ours settled
	RefundRejected // a refund of ours was rejected
)

var kindNames = [...]string{
	PaymentArrived: "payment_arrived", PaymentSettled: "payment_settled", PaymentRejected: "payment_rejected",
	ReturnReceived: "return_received", InfractionOpened: "infraction_opened", InfractionCancelled: "infraction_cancelled",
	RefundSettled: "return_settled", RefundRejected: "return_rejected",
}

// NoticeKinds are all kinds of notice, in order.
func NoticeKinds() (all []NoticeKind) {
	for k, name := range kindNames {
		if name != "" {
			all = append(all, NoticeKind(k))
		}
	}
	return all
}

// String returns the kind's name in the protocol.
func (k NoticeKind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Notice is a message of the scheme to us. The scheme sends each notice at least once,
// perhaps twice, late and in any order. A notice about a payout or a refund names our
// transaction.
type Notice struct {
	Kind     NoticeKind
	Tx       pix.TxID              // transaction id of the payout or the refund; zero: the notice is about neither
	EndToEnd string                // end-to-end id of the payment that the notice is about; of a refund, its D id
	Account  pix.AccountID         // our account, as the payment or the key named it; 0: not stated
	Reason   string                // with PaymentRejected, RefundRejected and ReturnReceived: the scheme's code
	Arrived  ledger.ReceivePayment // the payment, in a notice of kind PaymentArrived

	ReturnID string     // with ReturnReceived: the return's own id, D…
	Amount   pix.Amount // with ReturnReceived and InfractionOpened: base units

	Infraction string // with InfractionOpened and InfractionCancelled: the infraction's id
	Situation  string // the directory's word for the fraud, in a notice of kind InfractionOpened
}

// Movement is one thing that the scheme has done with the money of our accounts, or a report about a
// payment. A customer's payment that was refused is none.
type Movement struct {
	At pix.Millis // since when it is so: settled, rejected, reported; of what is pending, when it was submitted
	// Notice is the notice about it, which names the account. Of a payment or a refund that is
	// pending its Kind is 0, and only Tx, EndToEnd and Account are set.
	Notice  Notice
	Payment Payment   // the payout that is pending, settled or rejected, as it was submitted; with anything else the zero value
	Owner   pix.Party // with Payment: the owner of its key; the zero value: the scheme does not say
	Refund  Refund    // the refund that is pending, settled or rejected, as it was submitted; with anything else the zero value
}

// MovementPage is a page of movements.
type MovementPage struct {
	Movements []Movement // there may be fewer than were asked for, also none, in any page
	Next      string     // where the next page begins, 1 to MaxAfter characters; empty: this is the last page
	Left      int        // with the first page: about how many movements follow it; 0: the scheme does not say, or none
}

// MaxAfter is the largest number of characters in MovementPage.Next.
const MaxAfter = 256

// Book is the scheme's book of settled movements, in base units. Its sums only grow, except
// that a refused payment is moved from Received to Refused.
type Book struct {
	At           pix.Millis // the scheme's time when the book was read
	OldestOpen   pix.Millis // due time of the oldest notice of a movement or rejection that is due and not acknowledged; 0: none
	Participants []ParticipantBook
	Accounts     []AccountBook // the accounts of the institution that asks
}

// Sums are the settled movements of an institution or an account.
type Sums struct {
	Sent       pix.Amount // sum of the settled payouts
	Received   pix.Amount // sum of the customers' payments
	ReturnedBy pix.Amount // the part of Received that accounts gave back (refunds)
	ReturnedTo pix.Amount // the part of Sent that was returned to accounts
	Refused    pix.Amount // sum of the customers' payments that the institution refused, which Received no longer counts
}

// ParticipantBook is an institution's part of the book.
type ParticipantBook struct {
	ISPB     string
	Messages uint64 // settled movements in which the institution took part
	Sums
}

// AccountBook is one account's part of the book.
type AccountBook struct {
	Account pix.AccountID
	Sums
}

// Feed takes the notices that an implementation of Scheme delivers. It does not block. It
// calls done once, from any goroutine: with nil when the notice's effect is durable, with an
// error that wraps ErrNoPayee if the payment that the notice is about is refused for good, and
// with any other error if the notice must be delivered again.
type Feed func(n Notice, done func(error))

// ErrNoPayee refuses a customer's payment, in a notice of kind PaymentArrived: no account here
// has the key that was paid to, or the payment names no key. The scheme gives the payment back
// and does not deliver the notice again.
var ErrNoPayee = errors.New("no account here has the PIX key that was paid to")

// ErrUnassigned is the error of every call of Unassigned.
var ErrUnassigned = errors.New("no scheme is connected")

// Unassigned implements Scheme by refusing every call. Other schemes, those of tests, embed it
// for the calls that they do not serve.
type Unassigned struct{}

// RegisterKey returns ErrUnassigned.
func (Unassigned) RegisterKey(_ context.Context, _ pix.Key, a pix.AccountID) error {
	return fmt.Errorf("scheme: register a key of %v: %w", a, ErrUnassigned)
}

// DeregisterKey returns ErrUnassigned.
func (Unassigned) DeregisterKey(_ context.Context, _ pix.Key, a pix.AccountID) error {
	return fmt.Errorf("scheme: deregister a key of %v: %w", a, ErrUnassigned)
}

// Lookup returns ErrUnassigned.
func (Unassigned) Lookup(_ context.Context, q Query) (pix.Party, error) {
	return pix.Party{}, fmt.Errorf("scheme: look up for %v: %w", q.Tx, ErrUnassigned)
}

// Submit returns ErrUnassigned.
func (Unassigned) Submit(_ context.Context, p Payment) (State, error) {
	return State{}, fmt.Errorf("scheme: submit %v: %w", p.Tx, ErrUnassigned)
}

// Return returns ErrUnassigned.
func (Unassigned) Return(_ context.Context, r Refund) (State, error) {
	return State{}, fmt.Errorf("scheme: return %v: %w", r.Tx, ErrUnassigned)
}

// Ask returns ErrUnassigned.
func (Unassigned) Ask(_ context.Context, tx pix.TxID, _ string) (State, error) {
	return State{}, fmt.Errorf("scheme: ask for %v: %w", tx, ErrUnassigned)
}

// Returns returns ErrUnassigned.
func (Unassigned) Returns(_ context.Context, _ pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	return nil, fmt.Errorf("scheme: returns of %s: %w", endToEnd, ErrUnassigned)
}

// Movements returns ErrUnassigned.
func (Unassigned) Movements(context.Context, pix.Millis, string, int) (MovementPage, error) {
	return MovementPage{}, fmt.Errorf("scheme: list movements: %w", ErrUnassigned)
}

// Book returns ErrUnassigned.
func (Unassigned) Book(context.Context) (Book, error) {
	return Book{}, fmt.Errorf("scheme: read the book: %w", ErrUnassigned)
}
