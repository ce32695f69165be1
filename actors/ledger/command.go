package ledger

// Reading is what the engine's clock says at one instant.
type Reading struct {
	// Time stamps records. It is Clock, save after a start at which the clock was
	// behind the journal: no stamp is earlier than the newest record's.
	Time Millis
	// Clock is engine time. Ages, due times and the minute of an end-to-end id go by
	// it, never by Time.
	Clock Millis
	// Doubted says that Clock may be wrong by hours: nothing is voided, nothing
	// expires and no repeat window ends.
	Doubted bool
	// Start is Clock at the process's start. What has elapsed since is certain, what
	// lies between it and a stamp that was doubted is not.
	Start Millis
}

// since is the instant from which an age counts that begins at a stamp: a stamp that
// was doubted when it was made, by an earlier process perhaps, is no older than this
// process.
func (r Reading) since(at Millis, doubted bool) Millis {
	if doubted {
		return max(at, r.Start)
	}
	return at
}

// At is the reading of a clock that is right.
func At(t Millis) Reading { return Reading{Time: t, Clock: t} }

// Stamp is what the shell adds to a command: when it happens and the identity
// of what it may create. Both are recorded.
type Stamp struct {
	Reading // Time is never earlier than the account's newest record
	ID      TxID
	Terms   Terms
}

// Terms are what the service does for every account alike. Durations are in
// milliseconds.
type Terms struct {
	Secret      []byte // keys the derived end-to-end ids; it lives in the store
	MaxRepeats  int    // how many payouts may be under way under one end-to-end id; 0: 1,000
	OwnISPB     string
	OrphanAfter Millis // how long the scheme may owe its word on an accepted payout
	QueueTTL    Millis // how long a payout may wait for directory capacity
	ApprovalTTL Millis // how long it may wait for an operator
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
	PayoutIsLimited  // the lookup met a limit: it never left
	PayoutIsSending  // the lookup of a queued one passed
	PayoutIsVoided   // the scheme owes its word for too long
	PayoutIsNotHeard // nothing new: the scheme could not be asked, or the limit is still there
	PayoutIsOpen     // nothing new: the scheme was heard, and whether it has the payment is still not known
)

// ResolvePayout brings a payout's outcome home.
type ResolvePayout struct {
	ID       TxID
	EndToEnd string
	Notice   bool // the scheme's own message; EndToEnd must be the payout's
	Result   PayoutResult
	Owner    Party       // where the lookup answered
	Reason   string      // the scheme's code, with PayoutIsRejected
	Refusal  RefusalCode // with PayoutIsRefused and PayoutIsLimited
	Doubt    bool        // with PayoutIsAccepted: the scheme may not have it
}

// Attend looks after something that waits: a payout.
type Attend struct {
	Kind DueKind // of its due row; 0 with Retry
	ID   EntityID
	Seq  uint64 // of a record about it; 0: of one that is shown
	// Retry: capacity may be back for a queued one. Else its due time has come, or a
	// lost process had it in hand.
	Retry bool
}

// DecideApproval is an operator's word on a payout that waits for it.
type DecideApproval struct {
	ID       TxID
	Word     Approval
	Operator string // 1 to 100 characters
}

// ReceiveReturn credits what a payout's recipient gave back.
type ReceiveReturn struct {
	ID       TxID // of the payout
	EndToEnd string
	ReturnID string // D…
	Amount   Amount // base units, positive
	Reason   string // the scheme's code
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
func (DecideApproval) command() {}
func (Attend) command()         {}
func (ReceiveReturn) command()  {}

// Facts are what a command names and the account's head does not hold, read
// from rows by the caller: first those not yet durable, then the store's.
type Facts struct {
	Tx    *Transaction // the payout to resolve, the credit under a reference, the receipt of an end-to-end id
	Open  *Transaction // the open charge that a received payment names
	Chain Chain        // where a requested payout's end-to-end id stands
	Row   *EndToEndRow // of the payout to resolve

	Holder   *TxID        // of a duplicate: the transaction that has its end-to-end id; nil: none that is known here
	Return   *Transaction // what a return's id has credited in this account already
	Credited bool         // a return's id has credited another account
	Inactive bool         // the account is; see NeedsActive
	Carried  bool         // a child carries the payout to attend to
	Earlier  *Earlier     // the request that was made before under the same claim: nothing else was gathered
}

// Decision is what Decide came to: records, or a refusal, or neither where the
// command changes nothing.
type Decision struct {
	Records []Record
	Refusal *Refusal
	Tx      *Transaction // the item the command is about, as it is after the records
	Repeat  bool         // nothing new: Tx is the first result
	Alerts  []Alert      // for the operators, once the records are durable

	Earlier  *Earlier     // the request was made before: it is answered the same, or waits for the same
	Launch   []Launch     // children to start, once the records are durable
	Await    bool         // the asker is answered by the outcome of Tx
	Ended    *Transaction // the payout whose child's work has come to an end: who waits for it is answered
	Attended *Attended    // what came of looking after a payout, where no child was started for it
}

// Alert is what operators must look at.
type Alert struct {
	Kind    string // AlertLate or AlertContradiction
	Tx      TxID
	Public  string // transaction_id
	Message string
}

// The kinds of alerts that a decision raises.
const (
	AlertLate          = "late_settlement"
	AlertContradiction = "contradicting_notice"
)
