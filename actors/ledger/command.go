package ledger

// Reading is the state of the engine's clock at one instant.
type Reading struct {
	// Time is the time stamp for records. It is Clock, except where the clock was behind
	// the journal at the start of the process: a stamp is never earlier than the stamp of
	// the newest record.
	Time Millis
	// Clock is engine time. Ages, due times and the minute of an end-to-end id use Clock,
	// never Time.
	Clock Millis
	// Doubted says that engine time is doubted: Clock may be wrong by hours. While it is
	// doubted, nothing is voided, nothing expires and no repeat window ends.
	Doubted bool
	// Start is the value of Clock at the start of the process. Time that has passed since
	// Start is measured exactly; the time between a stamp made under doubt and Start is not
	// known.
	Start Millis
}

// since returns the instant from which the age of something stamped at is counted. If
// engine time was doubted when the stamp was made, perhaps by an earlier process, the age
// counts from the start of this process at the earliest.
func (r Reading) since(at Millis, doubted bool) Millis {
	if doubted {
		return max(at, r.Start)
	}
	return at
}

// At returns the reading of an undoubted clock at time t.
func At(t Millis) Reading { return Reading{Time: t, Clock: t} }

// Stamp is what the caller of Decide adds to a command: the time, the id of the transaction
// that the command may create, and the service's terms. Time and id are recorded.
type Stamp struct {
	Reading // Reading.Time is never earlier than the account's newest record
	ID      TxID
	Terms   Terms
}

// Terms are the service's settings, the same for every account. Durations are in
// milliseconds.
type Terms struct {
	Secret      []byte   // secret of the store; the engine computes end-to-end ids from it (see Fingerprint)
	MaxRepeats  int      // most payouts in flight, settled or voided that may share one end-to-end id; 0: 1,000
	ClaimDays   []uint16 // the days with claims that were on disk when the process started (see ClaimDays); nil: only the usual days are searched
	OwnISPB     string
	OrphanAfter Millis // time from a payout's acceptance until it may be voided, where the scheme reports no outcome
	QueueTTL    Millis // time that a payout may wait for directory capacity
	ApprovalTTL Millis // time that a payout may wait for an operator's approval

	Epoch  uint64 // how often a restored journal was taken into use although it lacks what happened since the snapshot
	GapEnd Millis // engine time of the newest such acceptance: payments from before it may have been refunded in the gap

	MEDDeadline Millis // time from a special-return case's opening within which the merchant may defend it
	MEDAnalysis Millis // time from a special-return case's opening within which the institution should decide it
	MEDWaits    bool   // a case that was not defended in time waits for the analyst; false: it is closed as agreed
}

// Command is a request to one account. Decide handles every type of command.
type Command interface{ command() }

// OpenAccount opens the account under its settings, which must have passed
// Settings.Normalise.
type OpenAccount struct{ Settings Settings }

// ChangeSettings replaces the settings; the new ones must have passed Settings.Normalise.
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
	Key         Key // the account's own key, which the QR code contains
	Claim       *Claim
}

// ReceivePayment credits a payment of a customer to one of the account's keys. No rule
// refuses a received payment; it fails only where the balance would overflow.
type ReceivePayment struct {
	EndToEnd      string
	Amount        Amount
	Key           string // the account's own key that the customer paid to
	TxID          string // the txid in the payment message; may be the transaction_id of a charge
	PayerName     string
	PayerDocument string // the payer's CPF or CNPJ, as the scheme sent it
	PayerISPB     string
	Description   string
	PaidAt        Millis // when the scheme took the payment; 0: it did not say
}

// RequestPayout holds amount and fee for a payment to the recipient's PIX key.
type RequestPayout struct {
	Amount        Amount
	Key           Key
	Description   string
	ExternalID    string
	RecipientISPB string
	EndToEnd      string // the id that the merchant chose; empty: the engine computes one
	Purpose       string
	GivenDocument string // recipient_document, if it has 11 or 14 digits; empty: the merchant sent none or another form
	KeyIsOurs     bool   // the key is registered here: the recipient's account is at this institution
	Claim         *Claim
}

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
	ID       TxID
	EndToEnd string
	Notice   bool // the result is from a notice of the scheme; EndToEnd must then be the transfer's id
	Result   TransferResult
	Owner    Party       // owner of the recipient's key, where the lookup found one
	Reason   string      // the scheme's reason code, with TransferIsRejected
	Refusal  RefusalCode // the refusal, with TransferIsRefused and TransferIsLimited; with TransferIsOpen: a further submit was refused for now
	Doubt    bool        // with TransferIsAccepted: the transfer is in doubt, the scheme may not have it; with any other result that leaves or ends it: another submit of this job may have reached the scheme
}

// Attend is the command of a due task: look after one payout, refund or special-return case
// that waits.
type Attend struct {
	Kind DueKind // kind of the due row that the task is from; 0 with Retry
	ID   EntityID
	Seq  uint64 // sequence of a record about the payout or refund; 0: the merchant can see it, and its item row leads to the record
	// Retry is true where directory capacity may be available again for a queued payout. It
	// is false where the payout's due time has come, or its child actor was lost in a
	// crash.
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
	ID       TxID // transaction id of the returned payout
	EndToEnd string
	ReturnID string // the scheme's id of the return, which begins with D
	Amount   Amount // base units, positive
	Reason   string // the scheme's reason code of the return
}

// RequestRefund holds the amount of a refund, which gives a received payment back to its
// payer, in full or in part.
type RequestRefund struct {
	Original    string // id, transaction_id or end-to-end id of the received payment
	Amount      Amount // base units; 0: the full amount of the payment
	Reason      string // the return code, at most 64 characters; it is sent as it is
	Description string // at most 140 characters
	Claim       *Claim
}

// OpenCase opens a special-return case (MED): a payer has reported a payment that the
// account received.
type OpenCase struct {
	Infraction string // the scheme's id of the report; a second report under the same id opens nothing
	EndToEnd   string // end-to-end id of the payment
	Amount     Amount // the disputed amount, base units, positive
	Situation  string // the directory's word for the fraud
}

// CancelCase withdraws the report that opened a case.
type CancelCase struct {
	Infraction string
	EndToEnd   string
}

// DefendCase is a merchant's defence of a case.
type DefendCase struct {
	ID            CaseID
	Justification string // 1 to 2,000 characters
	Result        CaseResult
	Contact       string
	Claim         *Claim
}

// CloseCase is the decision of the institution's analyst on a case.
type CloseCase struct {
	ID      CaseID
	Result  CaseResult
	Details string // at most 2,000 characters
}

// RetryCase is an operator's word that the engine may try the refunds of a case again, after
// one had failed for good.
type RetryCase struct {
	ID       CaseID
	Operator string // 1 to 100 characters
}

// ResumeCase is an operator's word that the engine may go on with a case which awaits that since
// a restore. Returned is what the scheme says of the returns of the case's payment.
type ResumeCase struct {
	ID       CaseID
	Operator string // 1 to 100 characters
	Returned []Returned
}

// Returned is a return of a received payment as the scheme knows it.
type Returned struct {
	ID       TxID   // our transaction id of the refund
	ReturnID string // its id at the scheme, which begins with D
	Amount   Amount // base units, positive
	Reason   string // the return code
	Open     bool   // the scheme has it, and it is not settled yet
}

// FoundReturn is a settled return, with what the account knows of it.
type FoundReturn struct {
	Returned
	Tx      *Transaction // nil: the account has no such refund
	Counted []*Case      // as Facts.Counted, of Tx
	Foreign bool         // its ids are those of something else, or of another return in the list
}

// Subscribe makes a webhook subscription.
type Subscribe struct {
	URL    string    // checked by the caller
	Events EventMask // not empty
	Secret []byte    // 32 drawn bytes
	Claim  *Claim
}

// EndSubscription stops or removes a webhook subscription.
type EndSubscription struct {
	ID   SubscriptionID
	Stop bool // the receiver wants no more events; false: the merchant removes the subscription
}

// KeepAnswer stores the answer to a request that changes nothing, so that a repeat of the
// request under the same claim gets the same answer.
type KeepAnswer struct {
	Claim  *Claim // the claim to store the answer under; not nil
	Stored Stored
}

// ReadAccount reads the account's head: settings and totals.
type ReadAccount struct{}

// Recall reads the answer that is stored under a claim, if there is one.
type Recall struct{ Claim *Claim }

func (Recall) command()          {}
func (KeepAnswer) command()      {}
func (ReadAccount) command()     {}
func (OpenAccount) command()     {}
func (ChangeSettings) command()  {}
func (Credit) command()          {}
func (CreateCharge) command()    {}
func (ReceivePayment) command()  {}
func (RequestPayout) command()   {}
func (ResolveTransfer) command() {}
func (DecideApproval) command()  {}
func (Attend) command()          {}
func (ReceiveReturn) command()   {}
func (RequestRefund) command()   {}
func (OpenCase) command()        {}
func (CancelCase) command()      {}
func (DefendCase) command()      {}
func (CloseCase) command()       {}
func (RetryCase) command()       {}
func (ResumeCase) command()      {}
func (Subscribe) command()       {}
func (EndSubscription) command() {}

// Facts are the data that a decision needs beside the account's head. Gather reads them
// from rows: first from rows that are not durable yet, then from the store.
type Facts struct {
	// Tx depends on the command: the payout to resolve or to look after; the earlier credit
	// with the same reference; or the earlier payment with the same end-to-end id.
	Tx    *Transaction
	Open  *Transaction // the charge that a received payment names
	Chain Chain        // state of the end-to-end id that the requested payout is to use
	Row   *EndToEndRow // row of the end-to-end id of the payout to resolve

	// For a payout that the scheme rejected as a duplicate: the transaction that has its
	// end-to-end id at the scheme; nil: no such transaction is known here.
	Holder   *TxID
	Return   *Transaction // the transaction of this account that was credited for the same return id; nil: none
	Credited bool         // another account was credited for the same return id
	Inactive bool         // the account is inactive; see NeedsActive

	// Facts about refunds and special-return cases.
	Refunded  *Original    // the received payment to refund; nil: the account received no such payment
	Original  *Transaction // the received payment that a case is about
	Sums      RefundSums   // refund sums of Refunded, of Original, or of the payment that the refund to resolve gives back
	Case      *Case        // the case of the command, or of the refund to resolve; nil: there is none
	Elsewhere bool         // another account has a case for the same report
	Durable   Totals       // the account's totals after its newest durable record; set by the caller
	// Holding are the account's cases that hold money, the oldest first: at least as many as
	// the account's money may cover, up to the newest that the decision is about or that is
	// owed refunds. Nil where the decision does not need them.
	Holding []Holding
	Owing   []Owing // of Holding, those cases for which the engine makes refunds
	// Rivals are the cases that hold money of the payment that the refund gives back, the
	// oldest first; gathered where a refund is requested, or settles that had failed.
	Rivals []*Case
	// Lacking are the cases that dispute more of the payment than they hold, the oldest
	// first; gathered where the command may free a part of the payment.
	Lacking []*Case
	Found   []FoundReturn // what ResumeCase.Returned has, in the same order
	Unnamed *Transaction  // a refund of the payment from before the restore that is in flight and that the scheme does not know; nil: there is none
	// Counted are the cases that Transaction.Shares of the refund to resolve names, in that order.
	Counted []*Case
	// Beside is, for each of Counted, what other refunds in flight count towards it; nil where it has
	// room for all.
	Beside []Amount

	Subscription *Subscription // the subscription to end; nil: the account never had it

	Carried   bool     // a child actor carries the payout to look after
	MayBeBack bool     // the money of the refund in question may have gone back by another refund, so that it must not be sent again
	Earlier   *Earlier // an earlier request under the same claim; if set, no other fact was gathered
}

// Decision is the result of Decide: records, or a refusal, or neither where the command
// changes nothing.
type Decision struct {
	Records []Record
	Refusal *Refusal
	Tx      *Transaction // the transaction that the command is about, in its state after the records
	Case    *Case        // the case that the command is about, in its state after the records

	Subscription *Subscription // the subscription that the command is about, in its state after the records

	Repeat bool    // the command changes nothing: Tx is the result of an equal, earlier command
	Alerts []Alert // alerts to the operators, raised once the records are durable

	Earlier  *Earlier     // an earlier request under the same claim: this request gets the same answer
	Launch   []Launch     // child actors to start once the records are durable
	Await    bool         // the asker is answered only when the payout Tx has its outcome
	Ended    *Transaction // the payout whose child actor has ended its work: the requests that wait for the payout are answered
	Attended *Attended    // the result of a due task, where no child actor was started for it
}

// Alert is an event that operators must look at.
type Alert struct {
	Kind    string // one of the constants that begin with Alert
	Tx      TxID
	Public  string // transaction_id of Tx
	Message string
}

// The kinds of alerts that a decision raises.
const (
	AlertLate          = "late_settlement"
	AlertContradiction = "contradicting_notice"
	AlertUnanswered    = "refund_unanswered"
	AlertUndecided     = "med_undecided"
	AlertCaseRefund    = "med_refund_failed"
	AlertUnrefunded    = "med_unrefunded"
)

// AlertKinds lists the kinds of alerts that a decision raises.
func AlertKinds() []string {
	return []string{AlertLate, AlertContradiction, AlertUnanswered, AlertUndecided, AlertCaseRefund, AlertUnrefunded}
}
