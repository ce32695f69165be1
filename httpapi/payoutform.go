package httpapi

import (
	"unicode/utf8"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// payoutForm is the fields of a payout request before any of them is checked.
type payoutForm struct {
	Centavos          int64 // 0 where the amount is missing or not an integer
	Key               textField
	KeyType           textField
	Description       textField
	ExternalID        textField
	RecipientISPB     textField
	EndToEnd          textField
	Purpose           textField
	RecipientDocument textField
}

// parse checks the fields in the documented order (amount, key, description,
// recipient_ispb, end_to_end_id, purpose) and makes the command from them. It does not look
// at the account.
func (f payoutForm) parse() (ledger.RequestPayout, *ledger.Refusal) {
	var c ledger.RequestPayout
	ok := false
	if c.Amount, ok = pix.FromCentavos(f.Centavos); !ok {
		return c, refuse(ledger.RefuseAmount, "invalid or missing amount")
	}
	var r *ledger.Refusal
	if c.Key, r = f.key(); r != nil {
		return c, r
	}
	if f.Description.Wrong || pix.TooLong(f.Description.Value) {
		return c, refuseField(ledger.RefuseDescription, "description", "description takes a string of at most 140 characters")
	}
	if f.RecipientISPB.Given && !pix.RecipientISPB(f.RecipientISPB.Value) {
		return c, refuseField(ledger.RefuseRecipientISPB, "recipient_ispb", "recipient_ispb must be 8 digits")
	}
	if f.EndToEnd.Given && !pix.ValidEndToEnd(f.EndToEnd.Value) {
		return c, refuseField(ledger.RefuseEndToEnd, "end_to_end_id", "end_to_end_id must be E, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	}
	if f.Purpose.Wrong || utf8.RuneCountInString(f.Purpose.Value) > maxPurpose {
		return c, refuseField(ledger.RefusePurpose, "purpose", "purpose takes a string of at most 500 characters")
	}
	c.Description, c.Purpose = f.Description.Value, f.Purpose.Value
	c.RecipientISPB, c.EndToEnd = f.RecipientISPB.Value, f.EndToEnd.Value
	c.ExternalID = pix.CleanExternalID(f.ExternalID.Value)
	if doc, ok := pix.CleanDocument(f.RecipientDocument.Value); ok {
		c.GivenDocument = doc
	}
	return c, nil
}

func (f payoutForm) key() (pix.Key, *ledger.Refusal) {
	switch {
	case !f.Key.Given:
		return pix.Key{}, refuse(ledger.RefuseKeyInvalid, "pix_key is missing")
	case f.Key.Wrong:
		return pix.Key{}, refuse(ledger.RefuseKeyInvalid, "pix_key must be a string")
	}
	if !f.KeyType.Given {
		if pix.AmbiguousKey(f.Key.Value) {
			return pix.Key{}, refuse(ledger.RefuseKeyAmbiguous, "an 11-digit key may be a CPF or a phone: send pix_key_type")
		}
		k, ok := pix.DetectKey(f.Key.Value)
		if !ok {
			return k, refuse(ledger.RefuseKeyInvalid, pix.KeyFault(pix.KeyNone, f.Key.Value))
		}
		return k, nil
	}
	t, ok := pix.ParseKeyType(f.KeyType.Value)
	if !ok {
		return pix.Key{}, refuseField(ledger.RefuseKeyType, "pix_key_type", "pix_key_type must be cpf, cnpj, email, phone or evp")
	}
	k, ok := pix.ParseKey(t, f.Key.Value)
	if !ok {
		return k, refuse(ledger.RefuseKeyInvalid, pix.KeyFault(t, f.Key.Value))
	}
	return k, nil
}

// maxPurpose is this engine's own limit, in characters. The contract has none, but text
// that is journaled for ever needs a limit.
const maxPurpose = 500
