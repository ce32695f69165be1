package httpapi

import (
	"unicode/utf8"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// refundForm is the fields of a refund request before any of them is checked.
type refundForm struct {
	Original    textField
	Amount      bool  // the amount is present and not null
	Centavos    int64 // 0 where the amount is not an integer
	Reason      textField
	Description textField
	ExternalID  textField
}

// originalMissing is a text of the contract, and the same in both cases of keys.
const originalMissing = "original_transaction_id is required"

// maxReason is this engine's own limit on a return code, in characters. The scheme judges the
// code itself.
const maxReason = 64

// parse checks the fields in the documented order (original, amount, reason, description) and
// makes the command from them. It does not look at the account.
func (f refundForm) parse() (ledger.RequestRefund, *ledger.Refusal) {
	c := ledger.RequestRefund{Original: f.Original.Value, Reason: ledger.DefaultReturnCode, Description: ledger.DefaultRefundDescription}
	if !f.Original.Given || f.Original.Wrong || c.Original == "" {
		return c, refuse(ledger.RefuseOriginal, originalMissing)
	}
	if f.Amount {
		ok := false
		if c.Amount, ok = pix.FromCentavos(f.Centavos); !ok {
			return c, refuseField(ledger.RefuseAmount, "amount", "amount must be an integer number of centavos from 1 to 999999999999")
		}
	}
	if f.Reason.Wrong || utf8.RuneCountInString(f.Reason.Value) > maxReason {
		return c, refuseField(ledger.RefuseReason, "reason", "reason takes a string of at most 64 characters")
	}
	if f.Description.Wrong || pix.TooLong(f.Description.Value) {
		return c, refuseField(ledger.RefuseDescription, "description", "description takes a string of at most 140 characters")
	}
	if f.Reason.Given {
		c.Reason = f.Reason.Value
	}
	if f.Description.Given {
		c.Description = f.Description.Value
	}
	c.ExternalID = pix.CleanExternalID(f.ExternalID.Value)
	return c, nil
}
