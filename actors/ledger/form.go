package ledger

import (
	"strings"
	"unicode/utf8"
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
	if c.Amount, ok = FromCentavos(f.Centavos); !ok {
		return c, refuse(RefuseAmount, "invalid or missing amount")
	}
	var r *Refusal
	if c.Key, r = f.key(); r != nil {
		return c, r
	}
	if f.Description.Wrong || tooLong(f.Description.Value) {
		return c, refuseField(RefuseDescription, "description", "description takes a string of at most 140 characters")
	}
	if f.RecipientISPB.Given && !RecipientISPB(f.RecipientISPB.Value) {
		return c, refuseField(RefuseRecipientISPB, "recipient_ispb", "recipient_ispb must be 8 digits")
	}
	if f.EndToEnd.Given && !ValidEndToEnd(f.EndToEnd.Value) {
		return c, refuseField(RefuseEndToEnd, "end_to_end_id", "end_to_end_id must be E, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	}
	if f.Purpose.Wrong || utf8.RuneCountInString(f.Purpose.Value) > maxPurpose {
		return c, refuseField(RefusePurpose, "purpose", "purpose takes a string of at most 500 characters")
	}
	c.Description, c.Purpose = f.Description.Value, f.Purpose.Value
	c.RecipientISPB, c.EndToEnd = f.RecipientISPB.Value, f.EndToEnd.Value
	c.ExternalID = CleanExternalID(f.ExternalID.Value)
	if doc, ok := CleanDocument(f.RecipientDocument.Value); ok {
		c.GivenDocument = doc
	}
	return c, nil
}

func (f PayoutForm) key() (Key, *Refusal) {
	if !f.Key.Given || f.Key.Wrong {
		return Key{}, refuse(RefuseKeyInvalid, "invalid pix_key")
	}
	if !f.KeyType.Given {
		k, code := DetectKey(f.Key.Value)
		switch code {
		case RefuseNothing:
			return k, nil
		case RefuseKeyAmbiguous:
			return k, refuse(code, "an 11-digit key may be a CPF or a phone: send pix_key_type")
		}
		return k, refuse(code, "invalid pix_key")
	}
	t, ok := ParseKeyType(f.KeyType.Value)
	if !ok {
		return Key{}, refuseField(RefuseKeyType, "pix_key_type", "pix_key_type must be cpf, cnpj, email, phone or evp")
	}
	k, ok := ParseKey(t, f.Key.Value)
	if !ok {
		return k, refuse(RefuseKeyInvalid, "invalid pix_key")
	}
	return k, nil
}

// maxPurpose is this engine's own limit, in characters. The contract has none, but text
// that is journaled for ever needs a limit.
const maxPurpose = 500

const maxExternalID = 128

// CleanExternalID removes white space at both ends of an external_id. The result is empty
// where the rest is empty, has more than 128 bytes, or has a character other than a-z A-Z
// 0-9 . _ : -
func CleanExternalID(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxExternalID {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && !letter(c) && !strings.ContainsRune("._:-", rune(c)) {
			return ""
		}
	}
	return s
}
