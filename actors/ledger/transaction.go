package ledger

// TxKind is what a transaction is. Its values are stored.
type TxKind uint8

// The kinds. A charge and the payment that completes it are one transaction;
// a received payment without a charge is a receipt.
const (
	TxCharge   TxKind = 1
	TxReceipt  TxKind = 2
	TxPayout   TxKind = 3
	TxRefund   TxKind = 4
	TxReturn   TxKind = 5
	TxTED      TxKind = 6
	TxInternal TxKind = 7
)

// The prefixes of public identifiers.
const (
	prefixIn       = "PIXIN"
	prefixOut      = "PIXOUT"
	prefixReturn   = "PIXRET"
	prefixTED      = "TED"
	prefixInternal = "INT"
)

func (k TxKind) prefix() string {
	switch k {
	case TxCharge, TxReceipt:
		return prefixIn
	case TxPayout:
		return prefixOut
	case TxRefund, TxReturn:
		return prefixReturn
	case TxTED:
		return prefixTED
	case TxInternal:
		return prefixInternal
	}
	panic("ledger: transaction of no kind")
}

// Outbound tells whether money of this kind leaves the account.
func (k TxKind) Outbound() bool { return k == TxPayout || k == TxRefund }

// TxStatus is how far a transaction is. Its values are stored.
type TxStatus uint8

// The statuses. Held and Refused are never shown to the merchant: a payout is
// shown from its acceptance, queueing or waiting for approval on, and one refused
// in the call leaves nothing.
const (
	StatusActive    TxStatus = 1  // a charge waits for its payer
	StatusCompleted TxStatus = 2  // credited
	StatusHeld      TxStatus = 3  // gross amount held, the scheme not yet heard
	StatusAccepted  TxStatus = 4  // with the scheme, or in doubt
	StatusQueued    TxStatus = 5  // waits for directory capacity
	StatusPending   TxStatus = 6  // waits for an operator's approval
	StatusSettled   TxStatus = 7  // final
	StatusRejected  TxStatus = 8  // final: the scheme rejected it after acceptance
	StatusFailed    TxStatus = 9  // final: refused after acceptance, expired, declined or voided
	StatusRefused   TxStatus = 10 // final: refused inside the call
	StatusSending   TxStatus = 11 // shown before, and on its way: it may have left
)

var statusNames = [...]string{
	"", "active", "completed", "held", "accepted", "queued", "pending_approval", "settled", "rejected", "failed",
	"refused", "sending",
}

// String is the status's name in messages and to operators.
func (s TxStatus) String() string { return statusNames[s] }

// InFlight tells a payout or refund whose gross amount is held.
func (s TxStatus) InFlight() bool {
	switch s {
	case StatusHeld, StatusSending, StatusAccepted, StatusQueued, StatusPending:
		return true
	}
	return false
}

// MovedMoney tells a status at which money has moved.
func (s TxStatus) MovedMoney() bool { return s == StatusCompleted || s == StatusSettled }

// Owned is a transaction and whose it is.
type Owned struct {
	Account AccountID
	Tx      *Transaction
}

// Transaction is one item of an account's history and, while it is in flight, the whole
// state of its work: a common part, and the part of its kind. Every record about it
// carries it whole, as it is after the record.
type Transaction struct {
	ID     TxID     `cbor:"1,keyasint"`
	Kind   TxKind   `cbor:"2,keyasint"`
	Status TxStatus `cbor:"3,keyasint"`
	Amount Amount   `cbor:"4,keyasint"`           // base units, without the fee
	Fee    Amount   `cbor:"5,keyasint,omitempty"` // base units

	EndToEnd     string `cbor:"6,keyasint,omitempty"`
	ExternalID   string `cbor:"7,keyasint,omitempty"`
	Description  string `cbor:"8,keyasint,omitempty"`
	Counterparty Party  `cbor:"9,keyasint,omitzero"` // who paid it, or whom it pays

	CreatedAt  Millis `cbor:"10,keyasint,omitempty"` // when it was first shown
	BookedAt   Millis `cbor:"11,keyasint,omitempty"` // when its status became final
	ReasonCode string `cbor:"12,keyasint,omitempty"`
	Ordinal    uint64 `cbor:"13,keyasint,omitempty"` // place among the account's items, from 1
	Booking    uint64 `cbor:"14,keyasint,omitempty"` // place among its bookings, from 1
	Doubted    bool   `cbor:"15,keyasint,omitempty"` // the clock was when a record about it was made: its instants may be wrong by hours

	// One of these is its kind's part; a payout has Transfer beside its own.
	Charge   ChargePart   `cbor:"16,keyasint,omitzero"`
	Receipt  ReceiptPart  `cbor:"17,keyasint,omitzero"`
	Credit   CreditPart   `cbor:"18,keyasint,omitzero"`
	Return   ReturnPart   `cbor:"19,keyasint,omitzero"`
	Payout   PayoutPart   `cbor:"20,keyasint,omitzero"`
	Transfer TransferPart `cbor:"21,keyasint,omitzero"`

	// Where this state is from; not stored, because the record says it.
	at  uint64   // sequence of the record that this is the state after; 0: it has none yet
	was TxStatus // the status in that record
}

// Party is who stands on the other side.
type Party struct {
	Name     string `cbor:"1,keyasint,omitempty"`
	Document string `cbor:"2,keyasint,omitempty"` // of who paid as sent, of who is paid as the directory names it
	ISPB     string `cbor:"3,keyasint,omitempty"`
}

// ChargePart is how a charge's QR code names the receiver.
type ChargePart struct {
	Key          Key    `cbor:"1,keyasint"` // the account's own
	MerchantName string `cbor:"2,keyasint,omitempty"`
	MerchantCity string `cbor:"3,keyasint,omitempty"`
}

// ReceiptPart is what a received payment without a charge alone has.
type ReceiptPart struct {
	Key string `cbor:"1,keyasint,omitempty"` // the account's own that it was paid to
}

// CreditPart is what an operator says of a credit.
type CreditPart struct {
	Reference string `cbor:"1,keyasint,omitempty"`
}

// ReturnPart is what a received return gives back.
type ReturnPart struct {
	Original         TxID   `cbor:"1,keyasint"` // the payout
	OriginalEndToEnd string `cbor:"2,keyasint,omitempty"`
	OriginalAmount   Amount `cbor:"3,keyasint,omitempty"`
	Returned         Amount `cbor:"4,keyasint,omitempty"` // of the original so far, this one included
}

// TransferPart is how far a transaction that the account sends has come on its way to
// the scheme.
type TransferPart struct {
	DueAt      Millis  `cbor:"1,keyasint,omitempty"` // the instant of its due row while in flight, engine time
	DueKind    DueKind `cbor:"2,keyasint,omitempty"` // of its due row
	Claim      *Claim  `cbor:"3,keyasint,omitempty"` // the request's idempotency claim, until it is answered
	Doubt      bool    `cbor:"4,keyasint,omitempty"` // accepted, and whether the scheme has it is not known
	AcceptedAt Millis  `cbor:"5,keyasint,omitempty"` // engine time at which the scheme took it, where CreatedAt is another
}

// PayoutPart is what a payout alone has.
type PayoutPart struct {
	Key           Key    `cbor:"1,keyasint"`           // the recipient's
	GivenDocument string `cbor:"2,keyasint,omitempty"` // recipient_document as the merchant sent it, stripped
	RecipientISPB string `cbor:"3,keyasint,omitempty"` // manual routing
	Purpose       string `cbor:"4,keyasint,omitempty"`

	// Its end-to-end id.
	Attempt     uint64   `cbor:"5,keyasint,omitempty"`  // of its fingerprint
	OwnEndToEnd bool     `cbor:"6,keyasint,omitempty"`  // the merchant named it
	UnderSuffix bool     `cbor:"7,keyasint,omitempty"`  // with OwnEndToEnd: it was derived here before
	Former      []string `cbor:"8,keyasint,omitempty"`  // those before its renewals, the oldest first
	Repeat      bool     `cbor:"9,keyasint,omitempty"`  // another transaction holds it
	DuplicateOf *TxID    `cbor:"10,keyasint,omitempty"` // that transaction; shown where the scheme says DUPL

	// What it has been through where it did not go straight.
	Bucket            Bucket   `cbor:"11,keyasint,omitempty"` // the directory's limit it met last, if it ever did
	QueueEnds         Millis   `cbor:"12,keyasint,omitempty"` // when it is given up if it is still queued
	Decision          Approval `cbor:"13,keyasint,omitempty"`
	Operator          string   `cbor:"14,keyasint,omitempty"` // who decided
	Unsure            bool     `cbor:"15,keyasint,omitempty"` // it failed by a refusal, and an earlier submission may arrive yet
	LateAt            Millis   `cbor:"16,keyasint,omitempty"` // when it settled, where it had been voided before
	RejectedAfterVoid bool     `cbor:"17,keyasint,omitempty"` // it was voided, and the scheme rejected it after that
	Returned          Amount   `cbor:"18,keyasint,omitempty"` // what came back so far
}

// Record is the sequence of the record that the transaction is the state after.
func (t *Transaction) Record() uint64 { return t.at }

// standsAt notes the record that the transaction is the state after.
func (t *Transaction) standsAt(seq uint64) { t.at, t.was = seq, t.Status }

// Bucket is which of the directory's limits a payout met. Its values are stored.
type Bucket uint8

// The buckets (DICT).
const (
	BucketClient      Bucket = 1 // the paying user's
	BucketInstitution Bucket = 2
)

// Reason is the bucket's code in events.
func (b Bucket) Reason() string {
	if b == BucketClient {
		return "DICT_CLIENT_RATE_LIMITED"
	}
	return "DICT_BUCKET_EXHAUSTED"
}

// Approval is an operator's word on a payout. Its values are stored.
type Approval uint8

// The words.
const (
	Approved Approval = 1
	Declined Approval = 2
)

// ReasonDuplicate is the scheme's code for an end-to-end id that another transaction
// holds.
const ReasonDuplicate = "DUPL"

// Why a payout failed that had been shown, where no refusal's code says it.
const (
	ReasonQueueTimeout = "DICT_QUEUE_TIMEOUT"
	ReasonVoided       = "orphan_force_voided"
	ReasonDeclined     = "approval_declined"
	ReasonExpired      = "approval_expired"
)

// Voided tells a payout that was given up though it may settle yet: the one final
// state that a late settlement changes. The scheme kept silent, or refused it after
// a submission whose answer was lost.
func (t *Transaction) Voided() bool {
	return t.Status == StatusFailed && (t.ReasonCode == ReasonVoided || t.Payout.Unsure) && !t.Payout.RejectedAfterVoid
}

// DuplicateOfUnknown tells a payout that the scheme rejected as a duplicate of
// something that is unknown here: money may move under its end-to-end id while the
// scheme takes that.
func (t *Transaction) DuplicateOfUnknown() bool {
	return t.Status == StatusRejected && t.ReasonCode == ReasonDuplicate && t.Payout.DuplicateOf == nil
}

// SentAt is since when the scheme owes its word on an accepted payout.
func (t *Transaction) SentAt() Millis {
	if t.Transfer.AcceptedAt != 0 {
		return t.Transfer.AcceptedAt
	}
	return t.CreatedAt
}

// AwaitsScheme tells an accepted payout: what becomes of it the scheme says next.
func (t *Transaction) AwaitsScheme() bool { return t.Status == StatusAccepted }

// OrphanAt is the instant of engine time from which an accepted payout may be voided. A
// stamp that lies ahead is an earlier process's, whose clock was: the payout is no
// younger than this process.
func (t *Transaction) OrphanAt(now Reading, terms *Terms) Millis {
	sent := now.since(t.SentAt(), t.Doubted)
	if sent > now.Clock {
		sent = now.Start
	}
	return sent + terms.OrphanAfter
}

// MovedAt is the instant from which the window of repeats counts, of a payout that has
// settled.
func (t *Transaction) MovedAt(now Reading) Millis {
	return now.since(max(t.ID.Time(), t.BookedAt, t.Payout.LateAt), t.Doubted)
}

// Gross is what the transaction takes from the account (outbound) or what it
// would bring without its fee.
func (t *Transaction) Gross() Amount {
	if t.Kind.Outbound() {
		return t.Amount + t.Fee
	}
	return t.Amount
}

// Net is the movement on the account: amount + fee outbound, amount - fee inbound.
func (t *Transaction) Net() Amount {
	if t.Kind.Outbound() {
		return t.Amount + t.Fee
	}
	return t.Amount - t.Fee
}

// Public is the transaction_id.
func (t *Transaction) Public() string { return t.ID.Public(t.Kind) }

// Claim is an idempotency key's hold on its answer: the request's scope (which
// already names method and path; the account is in the row's key), the day
// bucket the row lies in, and what a replay compares and needs.
type Claim struct {
	Scope    [16]byte `cbor:"1,keyasint"` // first 16 bytes of SHA-256 over method, path and key
	Bucket   uint16   `cbor:"2,keyasint"` // days since 1970-01-01 UTC at the claim
	At       Millis   `cbor:"3,keyasint"`
	BodyHash [16]byte `cbor:"4,keyasint"`           // first 16 bytes of SHA-256 over the body as sent
	Style    Style    `cbor:"5,keyasint,omitempty"` // how the answer is to be written
	Doubted  bool     `cbor:"6,keyasint,omitempty"` // the clock was at the claim
}

// Style says how a request's answer is to be written, to whoever writes it: it is kept
// with the claim and not read here.
type Style uint8

// Stored is the answer kept under a claim: what a replay sends again.
type Stored struct {
	Code int    `cbor:"1,keyasint"` // what it is, to whoever sends it; not read here
	Body []byte `cbor:"2,keyasint"`
}
