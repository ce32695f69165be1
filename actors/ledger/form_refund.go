package ledger

import (
	"unicode/utf8"

	"pixd/actors/pix"
)

// RefundForm is the fields of a refund request before any of them is checked.
type RefundForm struct {
	Original    Text
	Amount      bool  // the amount is present and not null
	Centavos    int64 // 0 where the amount is not an integer
	Reason      Text
	Description Text
}

// maxReason is this engine's own limit on a return code, in characters. The scheme judges the
// code itself.
const maxReason = 64

// Parse checks the fields in the documented order (original, amount, reason, description) and
// makes the command from them. It does not look at the account.
func (f RefundForm) Parse() (RequestRefund, *Refusal) {
	c := RequestRefund{Original: f.Original.Value, Reason: DefaultReturnCode, Description: DefaultRefundDescription}
	if !f.Original.Given || f.Original.Wrong || c.Original == "" {
		return c, refuse(RefuseOriginal, "original_transaction_id is required")
	}
	if f.Amount {
		ok := false
		if c.Amount, ok = pix.FromCentavos(f.Centavos); !ok {
			return c, refuseField(RefuseAmount, "amount", "amount must be an integer number of centavos from 1 to 999999999999")
		}
	}
	if f.Reason.Wrong || utf8.RuneCountInString(f.Reason.Value) > maxReason {
		return c, refuseField(RefuseReason, "reason", "reason takes a string of at most 64 characters")
	}
	if f.Description.Wrong || tooLong(f.Description.Value) {
		return c, refuseField(RefuseDescription, "description", "description takes a string of at most 140 characters")
	}
	if f.Reason.Given {
		c.Reason = f.Reason.Value
	}
	if f.Description.Given {
		c.Description = f.Description.Value
	}
	return c, nil
}

// DefenseForm is the fields of a defence before any of them is checked.
type DefenseForm struct {
	Justification Text
	Result        Text
	Contact       Text
}

// Limits on the texts of a case, in characters. Source of the first: the directory's
// infraction report (DICT API).
const (
	maxJustification = 2000
	maxContact       = 140
	maxDetails       = 2000
)

// Parse checks the fields in the documented order (justification, result, contact) and makes
// the command from them. It does not look at the account.
func (f DefenseForm) Parse(id pix.CaseID) (DefendCase, *Refusal) {
	c := DefendCase{ID: id, Justification: f.Justification.Value, Result: pix.Disagreed, Contact: f.Contact.Value}
	if n := utf8.RuneCountInString(c.Justification); f.Justification.Wrong || n < 1 || n > maxJustification {
		return c, refuseField(RefuseDefense, "justification", "justification takes a string of 1 to 2000 characters")
	}
	if f.Result.Given {
		ok := false
		if c.Result, ok = pix.ParseCaseResult(f.Result.Value); !ok {
			return c, refuseField(RefuseDefense, "result", "result must be AGREED or DISAGREED")
		}
	}
	if f.Contact.Wrong || utf8.RuneCountInString(c.Contact) > maxContact {
		return c, refuseField(RefuseDefense, "contact", "contact takes a string of at most 140 characters")
	}
	return c, nil
}

// ParseAnalysis checks an analyst's decision in the documented order (result, details) and
// makes the command from it.
func ParseAnalysis(id pix.CaseID, result, details string) (CloseCase, *Refusal) {
	c := CloseCase{ID: id, Details: details}
	ok := false
	if c.Result, ok = pix.ParseCaseResult(result); !ok {
		return c, refuseField(RefuseAnalysis, "result", "result must be AGREED or DISAGREED")
	}
	if utf8.RuneCountInString(details) > maxDetails || !utf8.ValidString(details) {
		return c, refuseField(RefuseAnalysis, "details", "details takes at most 2000 characters")
	}
	return c, nil
}
