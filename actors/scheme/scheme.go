// Package scheme is the port to the PIX scheme: the directory that knows keys
// (DICT) and the system that settles (SPI). One contract, several bodies: the
// in-process simulator, later an HTTP provider, and Unassigned, which refuses
// every call. Callers hold a Scheme and nothing more.
package scheme

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// Scheme is what a payout needs of the outside world. A returned *Refused is
// the other side's explicit word; every other error is an infrastructure error:
// after Lookup no money has left, after Submit nothing is known.
type Scheme interface {
	// RegisterKey makes one of our PIX keys known. The same again is harmless.
	RegisterKey(ctx context.Context, key ledger.Key, account ledger.AccountID) error
	// Lookup asks the directory who owns a key. It writes nothing.
	Lookup(ctx context.Context, q Query) (ledger.Party, error)
	// Submit hands a payment over. The same again (same transaction id, same
	// end-to-end id) answers what the first one did.
	Submit(ctx context.Context, p Payment) (State, error)
	// Ask tells what the scheme knows of a payment.
	Ask(ctx context.Context, tx ledger.TxID, endToEnd string) (State, error)
	// Book is the scheme's own book of what has settled, for an audit.
	Book(ctx context.Context) (Book, error)
}

// Query is a directory lookup on behalf of a payer.
type Query struct {
	Account  ledger.AccountID
	Tx       ledger.TxID
	Key      ledger.Key
	EndToEnd string
}

// Payment is a payout as the scheme sees it.
type Payment struct {
	Tx            ledger.TxID
	Account       ledger.AccountID
	EndToEnd      string
	Amount        ledger.Amount
	Key           ledger.Key
	RecipientISPB string // manual routing; may be empty
	Description   string
	Purpose       string
}

// Progress is how far the scheme is with a payment.
type Progress uint8

// The progress values.
const (
	Unknown  Progress = iota // it never arrived
	Pending                  // accepted, not settled
	Settled                  // final
	Rejected                 // final; State.Reason is the scheme's code
)

// State is a payment's progress at the scheme.
type State struct {
	Progress Progress
	Reason   string
}

// Refused is an explicit refusal, with the code as merchants see it.
type Refused struct{ Code ledger.RefusalCode }

func (r *Refused) Error() string { return "scheme: refused: " + r.Code.String() }

// NoticeKind is what a notice is about.
type NoticeKind uint8

// The notices of this version.
const (
	PaymentArrived  NoticeKind = iota + 1 // a customer paid one of our keys
	PaymentSettled                        // a payout of ours settled
	PaymentRejected                       // a payout of ours was rejected
	ReturnReceived                        // a payout of ours came back, in full or in part

	InfractionOpened    // a payer reports a payment we received; taken by no version yet
	InfractionCancelled // and withdraws the report
)

var kindNames = [...]string{
	PaymentArrived: "payment_arrived", PaymentSettled: "payment_settled", PaymentRejected: "payment_rejected",
	ReturnReceived: "return_received", InfractionOpened: "infraction_opened", InfractionCancelled: "infraction_cancelled",
}

// String is the kind as the protocol names it.
func (k NoticeKind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Notice is the scheme's word to us. It comes at least once, perhaps twice,
// late and in any order; a notice about a payout names our transaction.
type Notice struct {
	Kind     NoticeKind
	Tx       ledger.TxID           // of a payout
	EndToEnd string                // of the payment
	Account  ledger.AccountID      // ours, as the payment or the key named it; 0: not said
	Reason   string                // with PaymentRejected and ReturnReceived: the scheme's code
	Arrived  ledger.ReceivePayment // with PaymentArrived

	ReturnID string        // with ReturnReceived: the return's own id, D…
	Amount   ledger.Amount // with ReturnReceived and InfractionOpened: base units

	Infraction string // with InfractionOpened and InfractionCancelled: its id
	Situation  string // with InfractionOpened
}

// Book is what has settled at the scheme, in base units. Its sums only grow.
type Book struct {
	At           ledger.Millis // the scheme's clock when it was read
	OldestOpen   ledger.Millis // the instant of the oldest notice of a movement or rejection that is due and not acknowledged; 0: none
	Participants []ParticipantBook
	Accounts     []AccountBook // of the asking institution
}

// Sums are one side's settled movements.
type Sums struct {
	Sent       ledger.Amount // payouts
	Received   ledger.Amount // customers' payments
	ReturnedBy ledger.Amount // refunds: what it gave back of what it received
	ReturnedTo ledger.Amount // what it got back of what it sent
}

// ParticipantBook is an institution's part.
type ParticipantBook struct {
	ISPB     string
	Messages uint64 // settled movements it took part in
	Sums
}

// AccountBook is one account's part.
type AccountBook struct {
	Account ledger.AccountID
	Sums
}

// Feed is where a body of Scheme delivers its notices. It does not block; done
// is called once, from any goroutine: nil means that the notice's effect is
// durable, on an error the notice must come again.
type Feed func(n Notice, done func(error))

// ErrUnassigned is every answer of Unassigned.
var ErrUnassigned = errors.New("no scheme is connected")

// Unassigned is the body that refuses every call: recovery replays with it in
// the socket, so that a replay that would reach out shows itself.
type Unassigned struct{}

// RegisterKey refuses.
func (Unassigned) RegisterKey(_ context.Context, k ledger.Key, _ ledger.AccountID) error {
	return fmt.Errorf("scheme: register key %s: %w", k.Value, ErrUnassigned)
}

// Lookup refuses.
func (Unassigned) Lookup(_ context.Context, q Query) (ledger.Party, error) {
	return ledger.Party{}, fmt.Errorf("scheme: look up for %v: %w", q.Tx, ErrUnassigned)
}

// Submit refuses.
func (Unassigned) Submit(_ context.Context, p Payment) (State, error) {
	return State{}, fmt.Errorf("scheme: submit %v: %w", p.Tx, ErrUnassigned)
}

// Ask refuses.
func (Unassigned) Ask(_ context.Context, tx ledger.TxID, _ string) (State, error) {
	return State{}, fmt.Errorf("scheme: ask for %v: %w", tx, ErrUnassigned)
}

// Book refuses.
func (Unassigned) Book(context.Context) (Book, error) {
	return Book{}, fmt.Errorf("scheme: read the book: %w", ErrUnassigned)
}
