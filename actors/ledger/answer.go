package ledger

import (
	"errors"
)

// Answer is the result of a command. It is sent once it is durable.
type Answer struct {
	Refusal      *Refusal      // why the command was not carried out; when set, no other field is set
	Tx           *Transaction  // the transaction that the command was about, in its state when the answer was made
	Case         *Case         // the special-return case that the command was about, in its state when the answer was made
	Subscription *Subscription // the webhook subscription that the command was about
	Event        *Event        // the event that TestSubscription has caused

	Repeat bool     // an equal command was carried out before, and Tx is its result
	Head   *Account // a copy of the head, in the answers to ReadAccount, OpenAccount and ChangeSettings

	// Only for a request with an idempotency key: the answer that is stored under the key.
	Stored   *Stored // the stored answer; it is sent instead of an answer made from the fields above
	Replay   bool    // Stored answers an earlier request under the same key
	Mismatch bool    // the body of that earlier request was different
}

// The errors of commands that the engine cannot carry out at all. After any of these errors
// but ErrCut, nothing of the command was journaled.
var (
	ErrBusy        = errors.New("too much work is waiting")
	ErrQuarantined = errors.New("account is closed off after damage")
	ErrInternal    = errors.New("internal error")
	ErrUnknown     = errors.New("account is unknown")
	ErrWaited      = errors.New("the first request under this key has not been answered")
	// ErrCut says that it is not known whether the command was or will be carried out. The
	// client's connection must be cut without an answer: the client would read any status
	// as an outcome.
	ErrCut = errors.New("outcome unknown")
)
