package ledger

import (
	"cmp"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Owned is a transaction together with the account that it belongs to.
type Owned struct {
	Account pix.AccountID
	Tx      *Transaction
}

// Transaction is one item of an account's history and, while it is in flight, the whole
// state of the engine's work on it: common fields, and a part for its kind. Every record
// about a transaction contains the whole transaction, in its state after the record.
type Transaction struct {
	ID     pix.TxID     `cbor:"1,keyasint"`
	Kind   pix.TxKind   `cbor:"2,keyasint"`
	Status pix.TxStatus `cbor:"3,keyasint"`
	Amount pix.Amount   `cbor:"4,keyasint"`           // base units, without the fee
	Fee    pix.Amount   `cbor:"5,keyasint,omitempty"` // base units

	EndToEnd     string    `cbor:"6,keyasint,omitempty"`
	ExternalID   string    `cbor:"7,keyasint,omitempty"`
	Description  string    `cbor:"8,keyasint,omitempty"`
	Counterparty pix.Party `cbor:"9,keyasint,omitzero"` // the payer of money received, the recipient of money sent

	CreatedAt  pix.Millis `cbor:"10,keyasint,omitempty"` // when the merchant could first see the transaction
	BookedAt   pix.Millis `cbor:"11,keyasint,omitempty"` // when the status became final
	ReasonCode string     `cbor:"12,keyasint,omitempty"`
	Ordinal    uint64     `cbor:"13,keyasint,omitempty"` // position among the account's transactions that the merchant has seen, from 1
	Booking    uint64     `cbor:"14,keyasint,omitempty"` // position in the account's statement, from 1
	Doubted    bool       `cbor:"15,keyasint,omitempty"` // engine time was doubted when a record about it was made: its times may be wrong by hours

	// Only the part of the transaction's kind is set; a payout and a refund also have Transfer.
	Charge   ChargePart   `cbor:"16,keyasint,omitzero"`
	Receipt  ReceiptPart  `cbor:"17,keyasint,omitzero"`
	Credit   CreditPart   `cbor:"18,keyasint,omitzero"`
	Return   ReturnPart   `cbor:"19,keyasint,omitzero"`
	Payout   PayoutPart   `cbor:"20,keyasint,omitzero"`
	Transfer TransferPart `cbor:"21,keyasint,omitzero"`
	Refund   RefundPart   `cbor:"22,keyasint,omitzero"`

	// PaidAt is when the scheme took a received payment, where that was a day or more before
	// BookedAt; 0: it was not, or the scheme did not say.
	PaidAt pix.Millis `cbor:"23,keyasint,omitempty"`

	// Refunded is what refunds that have settled have given back of a received payment. No record
	// has it: lookups set it.
	Refunded pix.Amount `cbor:"-"`

	// The record that contains this state of the transaction; not stored, because it is
	// that record.
	at  uint64       // sequence of the record; 0: the transaction has no record yet
	was pix.TxStatus // status of the transaction in the record
}

// ChargePart is the receiver as a charge's QR code names it.
type ChargePart struct {
	Key          pix.Key `cbor:"1,keyasint"` // the account's own key that is paid to
	MerchantName string  `cbor:"2,keyasint,omitempty"`
	MerchantCity string  `cbor:"3,keyasint,omitempty"`
	PaidKey      string  `cbor:"4,keyasint,omitempty"` // once paid: the account's own key that the customer paid to, where it is another than Key
}

// ReceiptPart is the part of a receipt: a received payment that completes no charge.
type ReceiptPart struct {
	Key  string `cbor:"1,keyasint,omitempty"` // the account's own key that the customer paid to
	Txid string `cbor:"2,keyasint,omitempty"` // the txid in the payment message, where it has the form of one
}

// CreditPart is the part of a credit by an operator.
type CreditPart struct {
	Reference string `cbor:"1,keyasint,omitempty"`
}

// ReturnPart is the part of a received return.
type ReturnPart struct {
	Original         pix.TxID   `cbor:"1,keyasint"` // transaction id of the payout that is returned
	OriginalEndToEnd string     `cbor:"2,keyasint,omitempty"`
	OriginalAmount   pix.Amount `cbor:"3,keyasint,omitempty"`
	Returned         pix.Amount `cbor:"4,keyasint,omitempty"` // sum of all returns of the payout so far, this return included
}

// TransferPart is the part of a transaction that is sent to the scheme: of a payout or a
// refund.
type TransferPart struct {
	DueAt      pix.Millis     `cbor:"1,keyasint,omitempty"` // engine time of the transfer's due row, while it is in flight
	DueKind    layout.DueKind `cbor:"2,keyasint,omitempty"` // kind of the transfer's due row
	Claim      *Claim         `cbor:"3,keyasint,omitempty"` // the request's idempotency claim, until the claim has an answer
	Doubt      bool           `cbor:"4,keyasint,omitempty"` // the transfer is accepted in doubt: nobody knows whether the scheme has it
	AcceptedAt pix.Millis     `cbor:"5,keyasint,omitempty"` // engine time of the acceptance, where it differs from CreatedAt
	Overdue    bool           `cbor:"6,keyasint,omitempty"` // a refund for which the scheme has reported no outcome for Terms.OrphanAfter

	Unsure            bool       `cbor:"7,keyasint,omitempty"` // the transfer failed, but an earlier submit of it may still reach the scheme
	LateAt            pix.Millis `cbor:"8,keyasint,omitempty"` // engine time of a settlement that came after the transfer had failed
	RejectedAfterVoid bool       `cbor:"9,keyasint,omitempty"` // the scheme rejected the transfer after the engine had failed it

	// Limited says of a refund for a special-return case that every submit of it so far was
	// refused for now: unless it is in doubt, the scheme does not have it.
	Limited bool `cbor:"10,keyasint,omitempty"`
}

// RefundPart is the part of a refund: the received payment that it gives back.
type RefundPart struct {
	Original         pix.TxID    `cbor:"1,keyasint"`
	OriginalEndToEnd string      `cbor:"2,keyasint"`
	OriginalAmount   pix.Amount  `cbor:"3,keyasint"`           // base units
	Code             string      `cbor:"4,keyasint,omitempty"` // the return code as the merchant sent it
	Case             *pix.CaseID `cbor:"5,keyasint,omitempty"` // the special-return case for which the engine made the refund; nil: the merchant requested it
	Refunded         pix.Amount  `cbor:"6,keyasint,omitempty"` // once settled: sum of the original's settled refunds, this one included

	// Counts are the parts of a refund requested by the merchant that cases held whose own
	// refunds have failed for good.
	Counts []CaseShare `cbor:"7,keyasint,omitempty"`

	// Counted says of a refund that was taken over from the scheme while it was on its way that its
	// shares are counted as refunded already: no case holds them.
	Counted bool `cbor:"8,keyasint,omitempty"`
}

// CaseShare is the part of a refund that counts towards a special-return case.
type CaseShare struct {
	Case   pix.CaseID `cbor:"1,keyasint"`
	Amount pix.Amount `cbor:"2,keyasint"` // base units, positive
}

// Shares returns what of a refund counts towards which cases: all of it where the engine made
// it for a case.
func (t *Transaction) Shares() []CaseShare {
	if t.Refund.Case != nil {
		return []CaseShare{{*t.Refund.Case, t.Amount}}
	}
	return t.Refund.Counts
}

// PayoutPart is the part of a payout.
type PayoutPart struct {
	Key           pix.Key `cbor:"1,keyasint"`           // the recipient's key
	GivenDocument string  `cbor:"2,keyasint,omitempty"` // recipient_document as the merchant sent it, without punctuation
	RecipientISPB string  `cbor:"3,keyasint,omitempty"` // the recipient's participant, if the merchant named it
	Purpose       string  `cbor:"4,keyasint,omitempty"`

	// Fields about the payout's end-to-end id.
	Attempt     uint64    `cbor:"5,keyasint,omitempty"`  // number of the attempt under the payout's fingerprint (see Chain), from 0
	OwnEndToEnd bool      `cbor:"6,keyasint,omitempty"`  // the merchant chose the end-to-end id
	UnderSuffix bool      `cbor:"7,keyasint,omitempty"`  // with OwnEndToEnd: the engine had computed the same id before
	Former      []string  `cbor:"8,keyasint,omitempty"`  // end-to-end ids that the payout had before a renewal, the oldest first
	Repeat      bool      `cbor:"9,keyasint,omitempty"`  // another transaction had the same end-to-end id before
	DuplicateOf *pix.TxID `cbor:"10,keyasint,omitempty"` // that other transaction; the merchant sees it if the scheme rejects the payout with DUPL

	// Fields that are set only for a payout that did not go straight from its hold to its
	// settlement.
	Bucket    pix.Bucket `cbor:"11,keyasint,omitempty"` // the directory limit that last made the payout wait; 0: none
	QueueEnds pix.Millis `cbor:"12,keyasint,omitempty"` // engine time at which the payout fails if it is still queued
	Decision  Approval   `cbor:"13,keyasint,omitempty"`
	Operator  string     `cbor:"14,keyasint,omitempty"` // the operator who approved or declined the payout
	Returned  pix.Amount `cbor:"15,keyasint,omitempty"` // sum of all returns of the payout so far
	Released  pix.Millis `cbor:"16,keyasint,omitempty"` // time of the record with which the payout went on that had waited since before a restore
}

// ReceivedPayment tells whether the transaction is a customer's payment that has arrived.
func (t *Transaction) ReceivedPayment() bool {
	return t.Status == pix.StatusCompleted && (t.Kind == pix.TxCharge || t.Kind == pix.TxReceipt)
}

// Gives is the id of the transaction that a refund or a received return gives back; zero for any other
// transaction.
func (t *Transaction) Gives() pix.TxID {
	if t.Kind == pix.TxReturn {
		return t.Return.Original
	}
	return t.Refund.Original
}

// ReceivingKey is the account's own key that a received payment was paid to; empty for any other
// transaction.
func (t *Transaction) ReceivingKey() string {
	switch {
	case !t.ReceivedPayment():
		return ""
	case t.Kind == pix.TxReceipt:
		return t.Receipt.Key
	}
	return cmp.Or(t.Charge.PaidKey, t.Charge.Key.Value)
}

// Txid is the txid that the payer's order carried; empty where it carried none, or was stored by a
// version that did not keep it.
func (t *Transaction) Txid() string {
	if t.Kind == pix.TxCharge && t.ReceivedPayment() {
		return t.Public() // nothing else completes a charge
	}
	return t.Receipt.Txid
}

// Record returns the sequence of the record that contains this state of the transaction.
func (t *Transaction) Record() uint64 { return t.at }

// standsAt says that the record seq contains this state of the transaction.
func (t *Transaction) standsAt(seq uint64) { t.at, t.was = seq, t.Status }

// Approval is an operator's decision about a payout. Its values are stored.
type Approval uint8

// The decisions of an operator.
const (
	Approved Approval = 1
	Declined Approval = 2
)

// ReasonDuplicate is the scheme's reason code for a payment whose end-to-end id another
// payment had before.
const ReasonDuplicate = "DUPL"

// Reason codes of a failed payout or, the last one, refund, beside the names of refusals.
const (
	ReasonQueueTimeout = "DICT_QUEUE_TIMEOUT"
	ReasonVoided       = "orphan_force_voided"
	ReasonDeclined     = "approval_declined"
	ReasonExpired      = "approval_expired"
	ReasonNotResent    = "refund_not_resent" // the scheme does not know the refund, and its money may have gone back otherwise
)

// Voided tells whether a payout or refund failed although the scheme may still settle it:
// the scheme reported no outcome of a payout in time, or refused the transfer after an earlier
// submit whose answer was lost, or did not know a refund that was not sent again. No other final
// status is changed by a late settlement.
func (t *Transaction) Voided() bool {
	voided := t.Kind == pix.TxPayout && t.ReasonCode == ReasonVoided // of a refund the scheme gives the reason
	return t.Status == pix.StatusFailed && (voided || t.Transfer.Unsure) && !t.Transfer.RejectedAfterVoid
}

// DuplicateOfUnknown tells whether the scheme rejected the payout as a duplicate of a
// transaction that the engine does not know. Money may still move under the end-to-end id,
// for as long as the scheme accepts that id.
func (t *Transaction) DuplicateOfUnknown() bool {
	return t.Status == pix.StatusRejected && t.ReasonCode == ReasonDuplicate && t.Payout.DuplicateOf == nil
}

// SentAt returns the engine time of the acceptance, from which the scheme's time to report
// an outcome is counted.
func (t *Transaction) SentAt() pix.Millis {
	if t.Transfer.AcceptedAt != 0 {
		return t.Transfer.AcceptedAt
	}
	return t.CreatedAt
}

// Ended tells whether the transaction is no longer in flight: nothing is held for it any
// more. A voided payout, which has ended, may still settle.
func (t *Transaction) Ended() bool { return !t.Status.InFlight() }

// AwaitsScheme tells whether the payout or refund is accepted and has no outcome yet.
func (t *Transaction) AwaitsScheme() bool { return t.Status == pix.StatusAccepted }

// OrphanAt is the engine time from which an accepted payout may be voided. As long as SentAt is
// in the future, an earlier process stamped it with a clock that was ahead; the time is then
// counted from the start of this process. The payout's due row keeps the time that it was
// stamped with; the scanner of due times looks at such a payout at the start.
func (t *Transaction) OrphanAt(now pix.Reading, terms *Terms) pix.Millis {
	sent := now.Since(t.SentAt(), t.Doubted)
	if sent > now.Clock {
		sent = now.Start
	}
	return sent + terms.OrphanAfter
}

// askAt is the engine time from which the scheme is asked about an accepted refund: its due
// time, or, as for OrphanAt, a time that is counted from the start of this process.
func (t *Transaction) askAt(now pix.Reading, terms *Terms) pix.Millis {
	if t.Transfer.DueAt > now.Clock+terms.OrphanAfter {
		return now.Start + terms.OrphanAfter
	}
	return t.Transfer.DueAt
}

// MovedAt is the engine time from which the repeat window of a settled payout is counted.
func (t *Transaction) MovedAt(now pix.Reading) pix.Millis {
	return now.Since(max(t.ID.Time(), t.BookedAt, t.Transfer.LateAt), t.Doubted)
}

// Gross returns amount plus fee of a transaction that takes money from the account; of any
// other transaction, the amount before the fee is taken off.
func (t *Transaction) Gross() pix.Amount {
	if t.Kind.Outbound() {
		return t.Amount + t.Fee
	}
	return t.Amount
}

// Net returns by how much a transaction changes the balance: amount + fee where money
// leaves the account, amount - fee where money comes in.
func (t *Transaction) Net() pix.Amount {
	if t.Kind.Outbound() {
		return t.Amount + t.Fee
	}
	return t.Amount - t.Fee
}

// Movement returns by how much a booked transaction has changed the balance: Net, negative
// where money left the account; 0 where no money moved.
func (t *Transaction) Movement() pix.Amount {
	switch {
	case !t.Status.MovedMoney():
		return 0
	case t.Kind.Outbound():
		return -t.Net()
	}
	return t.Net()
}

// Public is the transaction_id.
func (t *Transaction) Public() string { return t.ID.Public(t.Kind) }

// Claim is a request's claim on an idempotency key: its scope (made of method, path and
// key; the account is in the key of the claim's row), the day of its row, and the data with
// which a repeat of the request is compared.
type Claim struct {
	Scope    [16]byte   `cbor:"1,keyasint"` // first 16 bytes of SHA-256 over method, path and key
	Bucket   uint16     `cbor:"2,keyasint"` // day on which the claim was made: days since 1970-01-01 UTC
	At       pix.Millis `cbor:"3,keyasint"`
	BodyHash [16]byte   `cbor:"4,keyasint"`           // first 16 bytes of SHA-256 over the body as sent
	Style    Style      `cbor:"5,keyasint,omitempty"` // the form in which the answer is to be rendered
	Doubted  bool       `cbor:"6,keyasint,omitempty"` // engine time was doubted when the claim was made
}

// Style is the form in which a request's answer is to be rendered. The ledger stores it
// with the claim and does not use it.
type Style uint8

// Stored is an answer that is stored under a claim; a replay sends it again.
type Stored struct {
	Code int    `cbor:"1,keyasint"` // the HTTP status; the ledger does not use it
	Body []byte `cbor:"2,keyasint"`
}
