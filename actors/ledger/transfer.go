package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TransferResult is what a child actor or a notice of the scheme reports about a transfer: a
// payout or a refund.
type TransferResult uint8

// The results of a transfer. Those about the directory and about voiding are a payout's
// alone.
const (
	TransferIsAccepted TransferResult = iota + 1 // the scheme has the transfer or, with ResolveTransfer.Doubt, may have it
	TransferIsSettled
	TransferIsRejected // the scheme rejected the transfer with a code in upper case
	TransferIsRefused  // the directory or the provider refused the transfer: no money moves
	TransferIsLimited  // a directory limit refused the lookup of the key: nothing was submitted
	TransferIsSending  // the lookup of a queued payout's key succeeded
	TransferIsVoided   // the scheme has no outcome of a transfer that must not be sent again
	TransferIsNotHeard // nothing new: the scheme gave no answer, or the directory limit still applies
	TransferIsOpen     // nothing new: the scheme answered, but has no outcome for the transfer yet
)

// ends tells whether a transfer with this result gets a final status.
func (r TransferResult) ends() bool {
	return r == TransferIsSettled || r == TransferIsRejected || r == TransferIsRefused || r == TransferIsVoided
}

// ResolveTransfer hands the account the result of a payout or a refund.
type ResolveTransfer struct {
	ID       pix.TxID
	EndToEnd string
	Notice   bool // the result is from a notice of the scheme; EndToEnd must then be the transfer's id
	Result   TransferResult
	Owner    pix.Party   // owner of the recipient's key, where the lookup found one
	Reason   string      // the scheme's reason code, with TransferIsRejected
	Refusal  RefusalCode // the refusal, with TransferIsRefused and TransferIsLimited; with TransferIsOpen: a further submit was refused for now
	Restored bool        // with Notice: the journal was restored, and the transfer may have left since from any state in it
	Doubt    bool        // with TransferIsAccepted: the transfer is in doubt, the scheme may not have it; with any other result that leaves or ends it: another submit of this job may have reached the scheme
}

// outcome is the result of a transfer with what the decision about it needs.
type outcome struct {
	ResolveTransfer
	tx *Transaction // the payout or refund

	row    *layout.EndToEndRow // of a held payout that is refused: the row of its end-to-end id
	chain  Chain               // of a queued payout that is to be sent: state of the end-to-end id that it is to use
	holder *pix.TxID           // of a payout that the scheme rejected as a duplicate: the transaction that has its end-to-end id at the scheme; nil: none that is known here

	mayBeBack bool // of a refund that is voided: its money may have gone back by another one
}

func (c ResolveTransfer) traits() Traits {
	return Traits{NeedsActive: c.Result == TransferIsSending, IsNotice: c.Notice}
}

func (c ResolveTransfer) gather(g *gathering) (decider, error) {
	t, err := g.existingTransfer(c.ID, c.EndToEnd)
	if err != nil {
		return nil, err
	}
	f := &outcome{ResolveTransfer: c, tx: t}
	g.stakes.released = t.Gross()
	g.stakes.frees = c.Result == TransferIsRejected || c.Result == TransferIsVoided || c.Refusal != RefuseNothing
	if t.Kind == pix.TxRefund {
		return f, g.refundOutcome(f)
	}
	switch {
	case c.Restored && t.Status.InFlight() && t.EndToEnd != c.EndToEnd:
		f.chain.Moved, err = g.movedBy(t)
	case c.Result == TransferIsRefused && t.Status == pix.StatusHeld:
		f.row, err = g.rowOf(t)
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate && t.Status.InFlight():
		f.holder, err = g.holder(t)
	case c.Result == TransferIsSending:
		f.chain, err = g.renewal(t)
	}
	return f, err
}

// existingTransfer finds a payout or refund as transfer does, but returns ErrUnknownTransfer where there
// is no such transfer.
func (g *gathering) existingTransfer(id pix.TxID, endToEnd string) (*Transaction, error) {
	t, err := g.transfer(id, endToEnd)
	if err == nil && t == nil {
		err = ErrUnknownTransfer
	}
	return t, err
}

// decide applies the result of a payout or a refund. It ends the work of the
// transfer's child actor and answers the requests that wait for the transfer, except where
// the result is from a notice that changes nothing.
func (c *outcome) decide(d *draft) Decision {
	var out Decision
	if c.tx.Kind == pix.TxRefund {
		out = c.ofRefund(d)
	} else {
		out = c.ofPayout(d)
	}
	if c.Notice && len(out.Records) == 0 {
		return out
	}
	if out.Ended = out.Tx; out.Ended == nil {
		out.Ended = c.tx
	}
	if len(out.Launch) > 0 {
		return out // another child actor was started for the payout
	}
	same := len(out.Records) == 0
	out.Attended = &Attended{
		Unheard: c.Result == TransferIsNotHeard,
		Rarely:  out.Ended.Refund.Case != nil,
		Open:    same && (c.Result == TransferIsOpen || c.Result == TransferIsVoided || out.Ended.Kind == pix.TxRefund && c.Result == TransferIsAccepted),
		Queued:  out.Ended.Status == pix.StatusQueued,
	}
	if out.Attended.Unheard {
		out.Attended.Public = out.Ended.Public()
	}
	return out
}

// accept adds the record that makes a held payout or refund visible to the merchant as
// accepted. The due row of the hold stays in place, except for a transfer in doubt, which
// gets an earlier due time because the scheme must be asked.
func (d *draft) accept(t Transaction, doubt bool) *Transaction {
	kind, claim := PayoutAccepted, t.Transfer.Claim
	if t.Kind == pix.TxRefund {
		kind = RefundAccepted
	}
	t.Status, t.Transfer.Claim, t.Transfer.Doubt = pix.StatusAccepted, nil, doubt
	d.show(&t)
	if d.stamp.Clock != t.CreatedAt {
		t.Transfer.AcceptedAt = d.stamp.Clock
	}
	if doubt {
		d.addWaiting(kind, &t, d.untilDue(&t), Body{Claim: claim})
		return &t
	}
	d.mustAdd(kind, Body{Tx: &t, Claim: claim})
	return &t
}

// acceptHeld accepts a payout or refund that is still held, so that the merchant sees it before it
// gets a final status. Any other stays as it is.
func (d *draft) acceptHeld(t Transaction) Transaction {
	if t.Status == pix.StatusHeld {
		return *d.accept(t, false)
	}
	return t
}

// doubtAgain is the time, in ms, from the acceptance in doubt of a payout until the engine
// first asks the scheme about the payout.
const doubtAgain = pix.Millis(3000)

// untilDue is the time from now until the transfer's due time, in ms. At the due time a payout
// may be voided; about a refund, and about a transfer in doubt, the scheme is asked.
func (d *draft) untilDue(t *Transaction) pix.Millis {
	left := t.OrphanAt(d.stamp.Reading, &d.stamp.Terms) - d.stamp.Clock
	if t.Transfer.Doubt {
		return min(left, doubtAgain)
	}
	return max(left, 0)
}

// due returns the kind of due row that a payout in this state has.
func (t *Transaction) due() layout.DueKind {
	switch {
	case t.Status == pix.StatusSending:
		return layout.DueSending
	case t.Status == pix.StatusQueued:
		return layout.DueQueued
	case t.Status == pix.StatusPending:
		return layout.DueApproval
	case t.Transfer.Doubt:
		return layout.DueDoubt
	}
	return layout.DueTransfer
}

// dueKey is the key of the payout's due row.
func (t *Transaction) dueKey(a pix.AccountID) []byte {
	return layout.DueKey(t.Transfer.DueKind, t.Transfer.DueAt, a, layout.EntityID(t.ID))
}
