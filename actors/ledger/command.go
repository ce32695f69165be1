package ledger

// Reading is the state of the engine's clock at one instant.
type Reading struct {
	// Time is the time stamp for records. It is Clock, except where the clock was behind
	// the journal at the start: a stamp is never earlier than the newest record's.
	Time Millis
	// Clock is engine time. Ages, due times and the minute of an end-to-end id use Clock,
	// never Time.
	Clock Millis
	// Doubted says that engine time is doubted, which means that Clock may be wrong by
	// hours. Then nothing is voided, nothing expires and no repeat window ends.
	Doubted bool
	// Start is the value of Clock at the start of the process. The time since Start is
	// certain; the time between a doubted stamp and Start is not.
	Start Millis
}

// since returns the instant from which the age of something stamped at is counted. A stamp
// made while engine time was doubted, perhaps by an earlier process, counts as no older
// than this process.
func (r Reading) since(at Millis, doubted bool) Millis {
	if doubted {
		return max(at, r.Start)
	}
	return at
}

// At makes the reading of a clock that is right, at t.
func At(t Millis) Reading { return Reading{Time: t, Clock: t} }

// Stamp is what the shell adds to a command: the time, and the id of the transaction that
// the command may create. Both are recorded.
type Stamp struct {
	Reading // Time is never earlier than the account's newest record
	ID      TxID
	Terms   Terms
}

// Terms are the service's settings, the same for every account. Durations are in
// milliseconds.
type Terms struct {
	Secret      []byte // secret of the store, under which end-to-end ids are derived
	MaxRepeats  int    // how many payouts may be under way under one end-to-end id; 0: 1,000
	OwnISPB     string
	OrphanAfter Millis // from a payout's acceptance until it may be voided, if the scheme reports no outcome
	QueueTTL    Millis // how long a payout may wait for directory capacity
	ApprovalTTL Millis // how long a payout may wait for an operator's approval
}

// Command is a request to one account. Decide handles every type of command.
type Command interface{ command() }

// OpenAccount opens the account under its settings (already normalised).
type OpenAccount struct{ Settings Settings }

// ChangeSettings replaces the settings (already normalised).
type ChangeSettings struct{ Settings Settings }

// Credit books money that an operator credits: a TED or an internal credit.
type Credit struct {
	Kind          TxKind // TxTED or TxInternal
	Amount        Amount // base units, positive
	Description   string // at most 140 characters
	PayerName     string
	PayerDocument string
	Reference     string // unique in the account; empty: none. A second credit with the same reference books nothing.
}

// CreateCharge opens a charge: an amount that a customer is to pay.
type CreateCharge struct {
	Amount      Amount
	Description string
	ExternalID  string
	Key         Key // the account's own key that the QR code names
	Claim       *Claim
}

// ReceivePayment credits what a customer paid to one of the account's keys. Such a payment
// is never refused by a rule; it fails only where the balance would overflow.
type ReceivePayment struct {
	EndToEnd      string
	Amount        Amount
	Key           string // the account's own key that the customer paid to
	TxID          string // the txid in the payment message; may name a charge
	PayerName     string
	PayerDocument string // as the scheme sent it
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
	EndToEnd      string // the id that the merchant named; empty: the engine derives one
	Purpose       string
	GivenDocument string // recipient_document of 11 or 14 digits; empty: none given or not usable
	KeyIsOurs     bool   // the registry has the key as one of this service's keys
	Claim         *Claim
}

// PayoutResult is the result of a payout as its child or a notice of the scheme reports it.
type PayoutResult uint8

// The results of a payout.
const (
	PayoutIsAccepted PayoutResult = iota + 1 // the scheme has the payout, or may have it (in doubt)
	PayoutIsSettled
	PayoutIsRejected // the scheme rejected it, with an upper-case code
	PayoutIsRefused  // the directory or the provider refused it: no payment was made
	PayoutIsLimited  // the lookup was refused by a directory limit: nothing was submitted
	PayoutIsSending  // the lookup for a queued payout succeeded
	PayoutIsVoided   // the scheme has reported no outcome for too long
	PayoutIsNotHeard // nothing new: the scheme could not be asked, or the directory limit still applies
	PayoutIsOpen     // nothing new: the scheme answered, and it is still not known whether it has the payment
)

// ResolvePayout hands the account the result of a payout.
type ResolvePayout struct {
	ID       TxID
	EndToEnd string
	Notice   bool // the result is from a notice of the scheme; EndToEnd must be the payout's
	Result   PayoutResult
	Owner    Party       // owner of the key, where the lookup found one
	Reason   string      // the scheme's code, with PayoutIsRejected
	Refusal  RefusalCode // with PayoutIsRefused and PayoutIsLimited
	Doubt    bool        // with PayoutIsAccepted: the scheme may not have the payment
}

// Attend looks after a payout that waits.
type Attend struct {
	Kind DueKind // kind of the due row; 0 with Retry
	ID   EntityID
	Seq  uint64 // sequence of a record about the payout; 0: the payout is shown and its item row names the record
	// Retry is true where directory capacity may be back for a queued payout. Otherwise the
	// payout's due time has come, or its child was lost in a crash.
	Retry bool
}

// DecideApproval is an operator's decision on a payout that waits for approval.
type DecideApproval struct {
	ID       TxID
	Word     Approval
	Operator string // 1 to 100 characters
}

// ReceiveReturn credits money that a payout's recipient sent back.
type ReceiveReturn struct {
	ID       TxID // id of the payout
	EndToEnd string
	ReturnID string // the scheme's id of the return, D…
	Amount   Amount // base units, positive
	Reason   string // the scheme's code
}

// KeepAnswer stores the answer to a request that changes nothing, so that a repeat under
// the same claim gets the same answer.
type KeepAnswer struct {
	Claim  *Claim // not nil
	Stored Stored
}

// ReadAccount reads the head: settings and totals.
type ReadAccount struct{}

// Recall reads the answer that is stored under a claim. It does nothing where there is
// none.
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

// Facts are the data that a decision needs beside the account's head. Gather reads them
// from rows: first from rows that are not durable yet, then from the store.
type Facts struct {
	// The payout to resolve or to attend to; or the credit with the same reference; or the
	// payment already received under an end-to-end id.
	Tx    *Transaction
	Open  *Transaction // the charge that a received payment names
	Chain Chain        // state of the requested payout's end-to-end id
	Row   *EndToEndRow // end-to-end row of the payout to resolve

	// For a payout rejected as a duplicate: the transaction that has its end-to-end id;
	// nil: none is known here.
	Holder   *TxID
	Return   *Transaction // the transaction that the same return id has already credited in this account
	Credited bool         // the same return id has credited another account
	Inactive bool         // the account is inactive; see NeedsActive
	Carried  bool         // a child carries the payout to attend to
	Earlier  *Earlier     // an earlier request under the same claim; no other fact was gathered then
}

// Decision is the result of Decide: records, or a refusal, or neither where the command
// changes nothing.
type Decision struct {
	Records []Record
	Refusal *Refusal
	Tx      *Transaction // the transaction that the command is about, in its state after the records
	Repeat  bool         // nothing is new: Tx is the result of an earlier command
	Alerts  []Alert      // alerts to the operators, raised once the records are durable

	Earlier  *Earlier     // an earlier request under the same claim, whose answer this request gets too
	Launch   []Launch     // children to start, once the records are durable
	Await    bool         // the asker is answered when Tx has its outcome
	Ended    *Transaction // the payout whose child has ended: the requests that wait for it are answered
	Attended *Attended    // the result of looking after a payout, where no child was started for it
}

// Alert is an event that operators must look at.
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
