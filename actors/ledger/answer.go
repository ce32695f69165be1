package ledger

import "errors"

// Answer is what a command comes to, once that is durable.
type Answer struct {
	Refusal *Refusal     // not carried out; nothing else is set
	Tx      *Transaction // the item the command was about, as it was when the answer was made
	Repeat  bool         // the command had been carried out before: Tx is the first result
	Head    *Account     // with ReadAccount, OpenAccount and ChangeSettings: a copy

	// Idempotency: the answer kept under the request's claim.
	Stored   *Stored // what to send instead of writing the rest
	Replay   bool    // Stored is that of an earlier request
	Mismatch bool    // and that request's body was another
}

// What the engine answers when it cannot carry a command out at all. Nothing of
// the command was journaled, except under ErrCut.
var (
	ErrBusy        = errors.New("too much work is waiting")
	ErrQuarantined = errors.New("account is closed off after damage")
	ErrInternal    = errors.New("internal error")
	ErrUnknown     = errors.New("account is unknown")
	ErrWaited      = errors.New("the first request under this key has not been answered")
	// ErrCut: what becomes of the command is not known here. The connection
	// must be cut without an answer: any status would be read as an outcome.
	ErrCut = errors.New("outcome unknown")
)
