package pix

import "fmt"

// TxKind is the kind of a transaction. Its values are stored.
type TxKind uint8

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

// Outbound tells whether money leaves the account in a transaction of this kind.
func (k TxKind) Outbound() bool { return k == TxPayout || k == TxRefund }

// The kinds of transactions. A charge and the payment that completes it are one
// transaction; a received payment without a charge is a receipt.
const (
	TxCharge   TxKind = 1
	TxReceipt  TxKind = 2
	TxPayout   TxKind = 3
	TxRefund   TxKind = 4
	TxReturn   TxKind = 5
	TxTED      TxKind = 6
	TxInternal TxKind = 7
)

// The prefixes of public identifiers (transaction_id).
const (
	prefixIn       = "PIXIN"
	prefixOut      = "PIXOUT"
	prefixReturn   = "PIXRET"
	prefixTED      = "TED"
	prefixInternal = "INT"
)

// TxStatus is the status of a transaction. Its values are stored.
type TxStatus uint8

// String is the status's name in messages and in the operator API.
func (s TxStatus) String() string { return nameAt(statusNames[:], s) }

// InFlight tells whether a payout or refund in this status has its amount and fee held.
func (s TxStatus) InFlight() bool {
	switch s {
	case StatusHeld, StatusSending, StatusAccepted, StatusQueued, StatusPending:
		return true
	}
	return false
}

// MovedMoney tells whether a transaction in this status has moved money.
func (s TxStatus) MovedMoney() bool { return s == StatusCompleted || s == StatusSettled }

// The statuses. The merchant never sees Held and Refused: a payout becomes visible once it
// is accepted, queued or pending approval, and a payout that is refused before that stays
// invisible. A refund becomes visible once it is accepted.
const (
	StatusActive    TxStatus = 1  // a charge that waits for its payer
	StatusCompleted TxStatus = 2  // final: the amount was credited
	StatusHeld      TxStatus = 3  // amount and fee are held; the scheme has not answered yet
	StatusAccepted  TxStatus = 4  // the scheme has the payout or refund or, in doubt, may have it
	StatusQueued    TxStatus = 5  // the payout waits for directory capacity
	StatusPending   TxStatus = 6  // the payout waits for an operator's approval
	StatusSettled   TxStatus = 7  // final: the scheme settled the payout or refund
	StatusRejected  TxStatus = 8  // final: the scheme rejected the payout after acceptance
	StatusFailed    TxStatus = 9  // final: a payout was refused, expired, declined or voided after the merchant saw it; a refund was refused or rejected
	StatusRefused   TxStatus = 10 // final: the payout was refused before the merchant could see it
	StatusSending   TxStatus = 11 // the merchant saw the payout before; it is on its way to the scheme, which may have it
)

var statusNames = [...]string{
	"", "active", "completed", "held", "accepted", "queued", "pending_approval", "settled", "rejected", "failed",
	"refused", "sending",
}

// CaseStatus is the status of a special-return case. Its values are stored.
type CaseStatus uint8

// String is the status's name in answers.
func (s CaseStatus) String() string { return nameAt(caseStatusNames[:], s) }

// Decided tells whether the status is final.
func (s CaseStatus) Decided() bool { return s >= CaseClosed }

// The statuses of a case.
const (
	CaseOpen      CaseStatus = 1 // the merchant may still defend it
	CaseDefended  CaseStatus = 2 // the merchant has defended it; the institution's analyst has not decided yet
	CaseClosed    CaseStatus = 3 // final: decided, see Case.Result
	CaseCancelled CaseStatus = 4 // final: the participant that had opened the case has withdrawn it
)

var caseStatusNames = [...]string{"", "open", "defended", "closed", "cancelled"}

// CaseStatuses returns all statuses of a case.
func CaseStatuses() []CaseStatus {
	return []CaseStatus{CaseOpen, CaseDefended, CaseClosed, CaseCancelled}
}

// CaseResult is the result of a case's analysis: whether the institution agrees that the
// money must go back. Its values are stored.
type CaseResult uint8

// String is the directory's word for the result; empty for no result.
func (r CaseResult) String() string { return nameAt(caseResultNames[:], r) }

// The results of an analysis. Source: the directory's infraction report (DICT API).
const (
	Agreed    CaseResult = 1 // the money is refunded
	Disagreed CaseResult = 2 // the money stays
)

var caseResultNames = [...]string{"", "AGREED", "DISAGREED"}

// ParseCaseResult parses the directory's word for a result; false for any other string.
func ParseCaseResult(s string) (CaseResult, bool) {
	switch s {
	case "AGREED":
		return Agreed, true
	case "DISAGREED":
		return Disagreed, true
	}
	return 0, false
}

// Bucket is one of the directory's limits. Its values are stored.
type Bucket uint8

// Reason is the reason code of the limit in events.
func (b Bucket) Reason() string {
	if b == BucketClient {
		return "DICT_CLIENT_RATE_LIMITED"
	}
	return "DICT_BUCKET_EXHAUSTED"
}

// The directory's limits (DICT).
const (
	BucketClient      Bucket = 1 // limit on look-ups for one paying user
	BucketInstitution Bucket = 2 // limit of the institution, in one queue of all accounts; no longer given
	BucketShared      Bucket = 3 // limit of the institution, in a queue of the account's own
)

// nameAt returns the name of an enumeration's value; of a value without a name, which a newer version
// may have stored, its number.
func nameAt[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprint(uint8(v))
}
