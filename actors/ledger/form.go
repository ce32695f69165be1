package ledger

import (
	"unicode/utf8"

	"pixd/actors/pix"
)

// Text is a string field of a request before it is checked.
type Text struct {
	Value string
	Given bool // the field is present and not null
	Wrong bool // the field is present but not a string
}

// PayoutForm is the fields of a payout request before any of them is checked.
type PayoutForm struct {
	Centavos          int64 // 0 where the amount is missing or not an integer
	Key               Text
	KeyType           Text
	Description       Text
	ExternalID        Text
	RecipientISPB     Text
	EndToEnd          Text
	Purpose           Text
	RecipientDocument Text
}

// Parse checks the fields in the documented order (amount, key, description,
// recipient_ispb, end_to_end_id, purpose) and makes the command from them. It does not look
// at the account.
func (f PayoutForm) Parse() (RequestPayout, *Refusal) {
	var c RequestPayout
	ok := false
	if c.Amount, ok = pix.FromCentavos(f.Centavos); !ok {
		return c, refuse(RefuseAmount, "invalid or missing amount")
	}
	var r *Refusal
	if c.Key, r = f.key(); r != nil {
		return c, r
	}
	if f.Description.Wrong || tooLong(f.Description.Value) {
		return c, refuseField(RefuseDescription, "description", "description takes a string of at most 140 characters")
	}
	if f.RecipientISPB.Given && !pix.RecipientISPB(f.RecipientISPB.Value) {
		return c, refuseField(RefuseRecipientISPB, "recipient_ispb", "recipient_ispb must be 8 digits")
	}
	if f.EndToEnd.Given && !pix.ValidEndToEnd(f.EndToEnd.Value) {
		return c, refuseField(RefuseEndToEnd, "end_to_end_id", "end_to_end_id must be E, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	}
	if f.Purpose.Wrong || utf8.RuneCountInString(f.Purpose.Value) > maxPurpose {
		return c, refuseField(RefusePurpose, "purpose", "purpose takes a string of at most 500 characters")
	}
	c.Description, c.Purpose = f.Description.Value, f.Purpose.Value
	c.RecipientISPB, c.EndToEnd = f.RecipientISPB.Value, f.EndToEnd.Value
	c.ExternalID = pix.CleanExternalID(f.ExternalID.Value)
	if doc, ok := pix.CleanDocument(f.RecipientDocument.Value); ok {
		c.GivenDocument = doc
	}
	return c, nil
}

func (f PayoutForm) key() (pix.Key, *Refusal) {
	if !f.Key.Given || f.Key.Wrong {
		return pix.Key{}, refuse(RefuseKeyInvalid, "invalid pix_key")
	}
	if !f.KeyType.Given {
		if pix.AmbiguousKey(f.Key.Value) {
			return pix.Key{}, refuse(RefuseKeyAmbiguous, "an 11-digit key may be a CPF or a phone: send pix_key_type")
		}
		k, ok := pix.DetectKey(f.Key.Value)
		if !ok {
			return k, refuse(RefuseKeyInvalid, "invalid pix_key")
		}
		return k, nil
	}
	t, ok := pix.ParseKeyType(f.KeyType.Value)
	if !ok {
		return pix.Key{}, refuseField(RefuseKeyType, "pix_key_type", "pix_key_type must be cpf, cnpj, email, phone or evp")
	}
	k, ok := pix.ParseKey(t, f.Key.Value)
	if !ok {
		return k, refuse(RefuseKeyInvalid, "invalid pix_key")
	}
	return k, nil
}

// maxPurpose is this engine's own limit, in characters. The contract has none, but text
// that is journaled for ever needs a limit.
const maxPurpose = 500
