package ledger

// CaseID identifies one special-return case (MED). It is made like a TxID.
type CaseID [16]byte

const casePrefix = "med_"

// String is the id as merchants and operators see it: med_ and 26 characters.
func (c CaseID) String() string { return casePrefix + lower32.EncodeToString(c[:]) }

// ParseCaseID parses the form that String makes; false for any other string.
func ParseCaseID(s string) (CaseID, bool) {
	b, ok := parseID(s, casePrefix)
	return CaseID(b), ok
}

// CaseStatus is the status of a special-return case. Its values are stored.
type CaseStatus uint8

// The statuses of a case.
const (
	CaseOpen      CaseStatus = 1 // the merchant may still defend it
	CaseDefended  CaseStatus = 2 // the merchant has defended it; the institution's analyst has not decided yet
	CaseClosed    CaseStatus = 3 // final: decided, see Case.Result
	CaseCancelled CaseStatus = 4 // final: the participant that had opened the case has withdrawn it
)

var caseStatusNames = [...]string{"", "open", "defended", "closed", "cancelled"}

// String is the status's name in answers.
func (s CaseStatus) String() string { return caseStatusNames[s] }

// CaseStatuses returns all statuses of a case.
func CaseStatuses() []CaseStatus {
	return []CaseStatus{CaseOpen, CaseDefended, CaseClosed, CaseCancelled}
}

// Decided tells whether the status is final.
func (s CaseStatus) Decided() bool { return s >= CaseClosed }

// CaseResult is the result of a case's analysis: whether the institution agrees that the
// money must go back. Its values are stored.
type CaseResult uint8

// The results of an analysis. Source: the directory's infraction report (DICT API).
const (
	Agreed    CaseResult = 1 // the money is refunded
	Disagreed CaseResult = 2 // the money stays
)

var caseResultNames = [...]string{"", "AGREED", "DISAGREED"}

// String is the directory's word for the result; empty for no result.
func (r CaseResult) String() string { return caseResultNames[r] }

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

// Case is a special-return case (MED): a payer has reported a payment that the account
// received, and the institution must decide whether the money goes back. Every record about
// a case contains the whole case, in its state after the record.
type Case struct {
	ID         CaseID `cbor:"1,keyasint"`
	Ordinal    uint64 `cbor:"2,keyasint"` // position among the account's cases in the order of opening, from 1
	Infraction string `cbor:"3,keyasint"` // the scheme's id of the report
	Original   TxID   `cbor:"4,keyasint"` // transaction id of the reported payment
	EndToEnd   string `cbor:"5,keyasint"` // end-to-end id of the reported payment

	Amount   Amount `cbor:"6,keyasint"`           // the disputed amount as reported, base units
	Held     Amount `cbor:"7,keyasint,omitempty"` // what the case holds of the account's money, whether there is so much or not
	Covered  Amount `cbor:"8,keyasint,omitempty"` // the part of Held for which there was money right after the record
	Refunded Amount `cbor:"9,keyasint,omitempty"` // what the engine's refunds for this case have returned

	Situation  string     `cbor:"10,keyasint"` // the directory's word for the fraud
	Status     CaseStatus `cbor:"11,keyasint"`
	Result     CaseResult `cbor:"12,keyasint,omitempty"`
	Details    string     `cbor:"13,keyasint,omitempty"` // the analyst's words
	Defense    *Defense   `cbor:"14,keyasint,omitempty"`
	OpenedAt   Millis     `cbor:"15,keyasint"`
	DeadlineAt Millis     `cbor:"16,keyasint"` // engine time until which the merchant may defend the case
	AnalysisAt Millis     `cbor:"17,keyasint"` // engine time until which the institution should decide
	ClosedAt   Millis     `cbor:"18,keyasint,omitempty"`
	ReleaseAt  Millis     `cbor:"19,keyasint"`           // engine time at which what an agreed case still holds is released
	DueAt      Millis     `cbor:"20,keyasint,omitempty"` // engine time of the case's due row; 0: it has none
	Stopped    bool       `cbor:"21,keyasint,omitempty"` // the scheme did not carry out a refund for this case: the engine makes no further one
	Doubted    bool       `cbor:"22,keyasint,omitempty"` // engine time was doubted at the opening, and the time limits were not counted anew since; see ends

	// The record that contains this state of the case; not stored, because it is that record.
	at  uint64 // sequence of the record; 0: the case has no record yet
	was state  // state of the case in that record
}

// state is the part of a case's state on which the totals and rows of its next record
// depend.
type state struct {
	status     CaseStatus
	held, owed Amount
	due        Millis
}

// Defense is a merchant's defence of a case.
type Defense struct {
	Justification string     `cbor:"1,keyasint"` // 1 to 2,000 characters
	Result        CaseResult `cbor:"2,keyasint"` // what the merchant proposes
	Contact       string     `cbor:"3,keyasint,omitempty"`
	SubmittedAt   Millis     `cbor:"4,keyasint"`
}

// Owed is what the engine still has to refund for a case that was closed as agreed: it makes
// a refund as soon as there is money.
func (c *Case) Owed() Amount {
	if c.Status == CaseClosed && !c.Stopped {
		return c.Held // only an agreed case still holds money after its end
	}
	return 0
}

// ends returns the engine time at which something ends that was to end, as seen at the
// opening, at the time limit. If engine time was doubted at the opening, the case counts as
// opened at the start of this process at the earliest: see Reading.since.
func (c *Case) ends(limit Millis, now Reading) Millis {
	return limit + now.since(c.OpenedAt, c.Doubted) - c.OpenedAt
}

// redate sets the case's time limits to when they end, which is done once: later restarts do
// not move them again.
func (c *Case) redate(now Reading) {
	for _, at := range []*Millis{&c.DeadlineAt, &c.AnalysisAt, &c.ReleaseAt, &c.DueAt} {
		if *at != 0 {
			*at = c.ends(*at, now)
		}
	}
	c.Doubted = false
}

// standsAt says that the record seq contains this state of the case.
func (c *Case) standsAt(seq uint64) {
	c.at, c.was = seq, state{c.Status, c.Held, c.Owed(), c.DueAt}
}

// Record returns the sequence of the record that contains this state of the case.
func (c *Case) Record() uint64 { return c.at }

// OwnedCase is a case together with the account that it belongs to.
type OwnedCase struct {
	Account AccountID
	Case    *Case
}

// Payment is the transaction_id of the payment that a case is about. The prefix is the
// same for a charge's payment and any other.
func (c *Case) Payment() string { return c.Original.Public(TxReceipt) }
