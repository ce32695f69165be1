package ledger

import "errors"

// Answer is the result of a command. It is sent once it is durable.
type Answer struct {
	Refusal *Refusal     // why the command was not carried out; then no other field is set
	Tx      *Transaction // the transaction that the command was about, as it was when the answer was made
	Repeat  bool         // the command had been carried out before, and Tx is the result of that first time
	Head    *Account     // with ReadAccount, OpenAccount and ChangeSettings: a copy of the head

	// Idempotency: the answer that is stored under the request's claim.
	Stored   *Stored // the stored answer, which is sent instead of one made of the fields above
	Replay   bool    // Stored is the answer of an earlier request
	Mismatch bool    // the body of that earlier request was different
}

// The errors of commands that the engine cannot carry out at all. Nothing of the command
// was journaled, except perhaps under ErrCut.
var (
	ErrBusy        = errors.New("too much work is waiting")
	ErrQuarantined = errors.New("account is closed off after damage")
	ErrInternal    = errors.New("internal error")
	ErrUnknown     = errors.New("account is unknown")
	ErrWaited      = errors.New("the first request under this key has not been answered")
	// ErrCut says that it is not known here whether the command was or will be carried out.
	// The connection must be cut without an answer: any status would be read as an outcome.
	ErrCut = errors.New("outcome unknown")
)
