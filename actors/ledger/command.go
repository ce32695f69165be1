package ledger

// Stamp is what the shell adds to a command: when it happens and the identity
// of what it may create. Both are recorded.
type Stamp struct {
	Time Millis // never earlier than the account's newest record
	ID   TxID
}

// Command is a request to one account. Decide knows every one of them.
type Command interface{ command() }

// OpenAccount opens the account under its settings (already normalised).
type OpenAccount struct{ Settings Settings }

// ChangeSettings replaces the settings (already normalised).
type ChangeSettings struct{ Settings Settings }

// Credit books money that an operator brings: TED or internal.
type Credit struct {
	Kind          TxKind // TxTED or TxInternal
	Amount        Amount // base units, positive
	Description   string // at most 140 characters
	PayerName     string
	PayerDocument string
	Reference     string // per account; empty: none. The same again credits nothing.
}

// CreateCharge opens a charge: an amount that waits for its payer.
type CreateCharge struct {
	Amount      Amount
	Description string
	ExternalID  string
	Key         Key // the account's own key that the QR code names
	Claim       *Claim
}

// ReceivePayment credits what a customer paid to one of the account's keys.
// Money that arrived is never refused.
type ReceivePayment struct {
	EndToEnd      string
	Amount        Amount
	Key           string // the account's own key it was paid to
	TxID          string // as the payer's scheme carried it; may name a charge
	PayerName     string
	PayerDocument string // kept as sent
	PayerISPB     string
	Description   string
}

// RequestPayout holds amount and fee for a payment to a key.
type RequestPayout struct {
	Amount        Amount
	Key           Key
	Description   string
	ExternalID    string
	RecipientISPB string
	EndToEnd      string // the merchant's own; empty: derived
	Purpose       string
	GivenDocument string // 11 or 14 digits, or empty where none was usable
	KeyIsOurs     bool   // the registry knows the key as one of this service's
	OwnISPB       string // this service's
	OrphanAfter   Millis // a duration: when an unanswered payout is asked for
	Claim         *Claim
}

// PayoutResult is what the scheme, through the payout's child or a notice, says
// has become of a payout.
type PayoutResult uint8

// The results.
const (
	PayoutIsAccepted PayoutResult = iota + 1 // the scheme has it, or may have it (in doubt)
	PayoutIsSettled
	PayoutIsRejected // by the scheme, with its upper-case code
	PayoutIsRefused  // by the directory or the provider: it never left
)

// Owner is the recipient as the directory names it.
type Owner struct {
	Name     string
	Document string
	ISPB     string
}

// ResolvePayout brings a payout's outcome home.
type ResolvePayout struct {
	ID       TxID
	EndToEnd string
	Result   PayoutResult
	Owner    Owner       // where the lookup answered
	Reason   string      // the scheme's code, with PayoutIsRejected
	Refusal  RefusalCode // with PayoutIsRefused
}

// KeepAnswer keeps what a request was answered that changes nothing, so that its
// claim is answered the same again.
type KeepAnswer struct {
	Claim  *Claim // not nil
	Stored Stored
}

// ReadAccount asks for the head as it is: settings and totals.
type ReadAccount struct{}

// Recall asks for the answer kept under a claim, and for nothing to be done
// where there is none.
type Recall struct{ Claim *Claim }

func (Recall) command()         {}
func (KeepAnswer) command()     {}
func (ReadAccount) command()    {}
func (OpenAccount) command()    {}
func (ChangeSettings) command() {}
func (Credit) command()         {}
func (CreateCharge) command()   {}
func (ReceivePayment) command() {}
func (RequestPayout) command()  {}
func (ResolvePayout) command()  {}

// Facts are what a command names and the account's head does not hold, read
// from rows by the caller: first those not yet durable, then the store's.
type Facts struct {
	Tx    *Transaction // the payout to resolve, the credit under a reference, the receipt of an end-to-end id
	Open  *Transaction // the open charge that a received payment names
	Chain Chain        // where a requested payout's end-to-end id stands
	Row   *EndToEndRow // of the payout to resolve
}

// Chain is where a fingerprint's (or an own end-to-end id's) history stands.
type Chain struct {
	EndToEnd string // the id to use; empty: derive a fresh one from Suffix
	Suffix   string // of the attempt
	Attempt  uint64
	Shared   *EndToEndRow // the row of EndToEnd, which this payout repeats
	Holder   TxID         // of Shared: the transaction that moved money, else the first
	Moved    *Moved       // the older use of Suffix whose row makes room
	Foreign  bool         // another account used EndToEnd

	UnderSuffix bool // EndToEnd is the merchant's own, and was derived here before
}

// Decision is what Decide came to: records, or a refusal, or neither where the
// command changes nothing.
type Decision struct {
	Records []Record
	Refusal *Refusal
	Tx      *Transaction // the item the command is about, as it is after the records
	Repeat  bool         // nothing new: Tx is the first result
}
