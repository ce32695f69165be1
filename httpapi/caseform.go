package httpapi

import (
	"unicode/utf8"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// defenseForm is the fields of a defence before any of them is checked.
type defenseForm struct {
	Justification textField
	Result        textField
	Contact       textField
}

// Limits on the texts of a case, in characters. Source of the first: the directory's
// infraction report (DICT API).
const (
	maxJustification = 2000
	maxContact       = 140
	maxDetails       = 2000
)

// parse checks the fields in the documented order (justification, result, contact) and makes
// the command from them. It does not look at the account.
func (f defenseForm) parse(id pix.CaseID) (ledger.DefendCase, *ledger.Refusal) {
	c := ledger.DefendCase{ID: id, Justification: f.Justification.Value, Result: pix.Disagreed, Contact: f.Contact.Value}
	if n := utf8.RuneCountInString(c.Justification); f.Justification.Wrong || n < 1 || n > maxJustification {
		return c, refuseField(ledger.RefuseDefense, "justification", "justification takes a string of 1 to 2000 characters")
	}
	if f.Result.Given {
		ok := false
		if c.Result, ok = pix.ParseCaseResult(f.Result.Value); !ok {
			return c, refuseField(ledger.RefuseDefense, "result", "result must be AGREED or DISAGREED")
		}
	}
	if f.Contact.Wrong || utf8.RuneCountInString(c.Contact) > maxContact {
		return c, refuseField(ledger.RefuseDefense, "contact", "contact takes a string of at most 140 characters")
	}
	return c, nil
}

// ParseAnalysis checks an analyst's decision in the documented order (result, details) and
// makes the command from it.
func ParseAnalysis(id pix.CaseID, result, details string) (ledger.CloseCase, *ledger.Refusal) {
	c := ledger.CloseCase{ID: id, Details: details}
	ok := false
	if c.Result, ok = pix.ParseCaseResult(result); !ok {
		return c, refuseField(ledger.RefuseAnalysis, "result", "result must be AGREED or DISAGREED")
	}
	if utf8.RuneCountInString(details) > maxDetails || !utf8.ValidString(details) {
		return c, refuseField(ledger.RefuseAnalysis, "details", "details takes at most 2000 characters")
	}
	return c, nil
}
