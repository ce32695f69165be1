package ledger

// RefusalCode is why a command was not carried out. The list is in the order
// in which the checks are made and is append-only within its group;
// docs/refusals.md has a row for each, and so has a test.
type RefusalCode uint8

// The refusals. Those of one command are checked top to bottom.
const (
	RefuseNothing RefusalCode = iota

	RefuseAmount        // amount missing, not an integer, or outside 1 to MaxCentavos
	RefuseKeyInvalid    // the key's form fits no type, or not the named one
	RefuseKeyType       // pix_key_type is none of the five
	RefuseKeyAmbiguous  // eleven digits without a type: a CPF or a phone
	RefuseDescription   // longer than 140 characters
	RefuseRecipientISPB // not 8 digits
	RefuseEndToEnd      // not the scheme's form
	RefusePurpose       // no string

	RefuseSameInstitution  // the key is registered here, or recipient_ispb is our own
	RefuseDocumentRequired // CNPJ control on, no document determinable
	RefuseCNPJBlocked      // CNPJ control on, the CNPJ not on the list
	RefuseCeiling          // amount above the account's ceiling; Refusal.Ceiling
	RefuseUnderMED         // available only without the special-return holds
	RefuseBalance          // available below amount + fee

	RefuseKeyNotFound    // the directory does not know the key
	RefuseKeyBlocked     // the directory blocks the key
	RefuseLookupFailed   // the directory could not be asked; no money left
	RefuseRateLimited    // the paying user's directory limit, met at submit
	RefuseBucket         // the institution's directory limit, met at submit
	RefuseProvider       // the provider's generic refusal
	RefuseProviderSchema // the provider could not read the payment
	RefuseProviderOther  // a provider refusal outside 400..499

	RefuseSetting      // an account setting that cannot be
	RefuseCredit       // a credit that cannot be: type, amount, text
	RefuseReference    // the reference was used with another amount or type
	RefuseOverflow     // the balance would not fit
	RefuseNotOpened    // the account has no opening
	RefuseAlreadyThere // the account is opened already

	RefuseCPF // cpf is missing or no string

	RefuseUnknownPayout // the account has no such payout
	RefuseNotPending    // the payout does not wait for an operator, or got the other word
	RefuseInactive      // the account is not active
	RefuseExpired       // the payout's own end-to-end id is too old to go out, and cannot be renewed
)

var refusalNames = [...]string{
	RefuseNothing:          "",
	RefuseAmount:           "invalid or missing amount",
	RefuseKeyInvalid:       "invalid pix_key",
	RefuseKeyType:          "pix_key_type",
	RefuseKeyAmbiguous:     "pix_key_ambiguous",
	RefuseDescription:      "description",
	RefuseRecipientISPB:    "recipient_ispb",
	RefuseEndToEnd:         "end_to_end_id",
	RefusePurpose:          "purpose",
	RefuseSameInstitution:  "same_institution_transfer",
	RefuseDocumentRequired: "cnpj_out_document_required",
	RefuseCNPJBlocked:      "cnpj_out_blocked",
	RefuseCeiling:          "ceiling_exceeded",
	RefuseUnderMED:         "funds_under_med_hold",
	RefuseBalance:          "insufficient_balance",
	RefuseKeyNotFound:      "dict_key_not_found",
	RefuseKeyBlocked:       "dict_key_blocked",
	RefuseLookupFailed:     "dict_lookup_failed",
	RefuseRateLimited:      "dict_rate_limited",
	RefuseBucket:           "dict_bucket_exhausted",
	RefuseProvider:         "provider_rejected",
	RefuseProviderSchema:   "provider_schema_error",
	RefuseProviderOther:    "provider_unknown_error",
	RefuseSetting:          "setting",
	RefuseCredit:           "credit",
	RefuseReference:        "reference",
	RefuseOverflow:         "overflow",
	RefuseNotOpened:        "not_opened",
	RefuseAlreadyThere:     "already_there",
	RefuseCPF:              "cpf",
	RefuseUnknownPayout:    "unknown_payout",
	RefuseNotPending:       "not_pending",
	RefuseInactive:         "inactive",
	RefuseExpired:          "approval_expired",
}

// String is the code as merchants see it (shape A), or the field or message
// that the refusal is about.
func (c RefusalCode) String() string { return refusalNames[c] }

// ParseRefusal reads a code's name as the scheme port reports it; false for
// anything that is not a refusal of the directory or the provider.
func ParseRefusal(name string) (RefusalCode, bool) {
	for c := RefuseKeyNotFound; c <= RefuseProviderOther; c++ {
		if refusalNames[c] == name {
			return c, true
		}
	}
	return RefuseNothing, false
}

// Refusal is a command not carried out: nothing of it was journaled, or, with
// AfterHold, what was is undone.
type Refusal struct {
	Code      RefusalCode
	Field     string // the field at fault, where one is
	Message   string // for people
	Ceiling   Amount // with RefuseCeiling
	AfterHold bool   // found by the directory or the provider: HTTP 400 where the same code is 422 before
}

func refuse(c RefusalCode, message string) *Refusal { return &Refusal{Code: c, Message: message} }

func refuseField(c RefusalCode, field, message string) *Refusal {
	return &Refusal{Code: c, Field: field, Message: message}
}
