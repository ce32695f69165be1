package ledger

// RefusalCode is the reason why a command was not carried out. The list is in the order of
// the checks; a new code goes to the end of its group. docs/refusals.md has a row for each
// code, and a test checks that.
type RefusalCode uint8

// The refusals. The codes of one command are checked in the order of this list.
const (
	RefuseNothing RefusalCode = iota

	RefuseAmount        // amount missing, not an integer, or outside 1 to MaxCentavos
	RefuseKeyInvalid    // the key's form fits no type, or not the type that was named
	RefuseKeyType       // pix_key_type is none of the five types
	RefuseKeyAmbiguous  // eleven digits without a type: may be a CPF or a phone
	RefuseDescription   // not a string, or longer than 140 characters
	RefuseRecipientISPB // recipient_ispb is not 8 digits
	RefuseEndToEnd      // not in the scheme's form, or used by another account
	RefusePurpose       // not a string, or longer than 500 characters

	RefuseSameInstitution  // the key is registered here, or recipient_ispb is our own
	RefuseDocumentRequired // CNPJ control is on, and the recipient's document is not known
	RefuseCNPJBlocked      // CNPJ control is on, and the CNPJ is not on the authorized list
	RefuseCeiling          // amount above the account's ceiling; see Refusal.Ceiling
	RefuseUnderMED         // the available balance would be enough without the special-return holds
	RefuseBalance          // the available balance is below amount plus fee

	RefuseKeyNotFound    // the directory does not know the key
	RefuseKeyBlocked     // the directory blocks the key
	RefuseLookupFailed   // the directory could not be asked; nothing was submitted
	RefuseRateLimited    // the paying user's directory limit was reached at the submit
	RefuseBucket         // the institution's directory limit was reached at the submit
	RefuseProvider       // the provider's generic refusal
	RefuseProviderSchema // the provider could not read the payment
	RefuseProviderOther  // a provider refusal outside 400..499

	RefuseSetting      // an account setting has an invalid value
	RefuseCredit       // a field of a credit has an invalid value: type, amount, text
	RefuseReference    // the reference was used with another amount or type
	RefuseOverflow     // the balance would overflow
	RefuseNotOpened    // the account has not been opened
	RefuseAlreadyThere // the account is opened already

	RefuseCPF // cpf is missing or not a string

	RefuseUnknownPayout // the account has no such payout
	RefuseNotPending    // the payout does not wait for approval, or was decided otherwise
	RefuseInactive      // the account is not active
	RefuseExpired       // the end-to-end id that the merchant named is too old to be sent, and cannot be renewed
)

// refusalRow has the properties of one refusal.
type refusalRow struct {
	name    string // name in messages; also the reason code of a payout that failed by this refusal
	outside bool   // the directory or the provider refuses, not the engine
	limit   Bucket // the directory limit that was reached; 0: none
}

// refusals has a row for each code, in the order of the codes. httpapi/errors.go has what a
// refusal looks like to merchants and operators.
var refusals = [...]refusalRow{
	RefuseAmount:        {name: "amount"},
	RefuseKeyInvalid:    {name: "pix_key"},
	RefuseKeyType:       {name: "pix_key_type"},
	RefuseKeyAmbiguous:  {name: "pix_key_ambiguous"},
	RefuseDescription:   {name: "description"},
	RefuseRecipientISPB: {name: "recipient_ispb"},
	RefuseEndToEnd:      {name: "end_to_end_id"},
	RefusePurpose:       {name: "purpose"},

	RefuseSameInstitution:  {name: "same_institution_transfer"},
	RefuseDocumentRequired: {name: "cnpj_out_document_required"},
	RefuseCNPJBlocked:      {name: "cnpj_out_blocked"},
	RefuseCeiling:          {name: "ceiling_exceeded"},
	RefuseUnderMED:         {name: "funds_under_med_hold"},
	RefuseBalance:          {name: "insufficient_balance"},

	RefuseKeyNotFound:    {name: "dict_key_not_found", outside: true},
	RefuseKeyBlocked:     {name: "dict_key_blocked", outside: true},
	RefuseLookupFailed:   {name: "dict_lookup_failed", outside: true},
	RefuseRateLimited:    {name: "dict_rate_limited", outside: true, limit: BucketClient},
	RefuseBucket:         {name: "dict_bucket_exhausted", outside: true, limit: BucketInstitution},
	RefuseProvider:       {name: "provider_rejected", outside: true},
	RefuseProviderSchema: {name: "provider_schema_error", outside: true},
	RefuseProviderOther:  {name: "provider_unknown_error", outside: true},

	RefuseSetting:      {name: "setting"},
	RefuseCredit:       {name: "credit"},
	RefuseReference:    {name: "reference"},
	RefuseOverflow:     {name: "overflow"},
	RefuseNotOpened:    {name: "not_opened"},
	RefuseAlreadyThere: {name: "already_there"},

	RefuseCPF: {name: "cpf"},

	RefuseUnknownPayout: {name: "unknown_payout"},
	RefuseNotPending:    {name: "not_pending"},
	RefuseInactive:      {name: "inactive"},
	RefuseExpired:       {name: "approval_expired"},
}

// Refusals returns all codes, in order.
func Refusals() []RefusalCode {
	out := make([]RefusalCode, 0, len(refusals))
	for c := range refusals {
		if refusals[c].name != "" {
			out = append(out, RefusalCode(c))
		}
	}
	return out
}

// String is the code's name in messages.
func (c RefusalCode) String() string { return refusals[c].name }

// Limit is the directory limit that the refusal is about; 0 for any other refusal.
func (c RefusalCode) Limit() Bucket { return refusals[c].limit }

// ParseRefusal parses a refusal's name as the scheme reports it; false for any name that is
// not a refusal by the directory or the provider.
func ParseRefusal(name string) (RefusalCode, bool) {
	for c := range refusals {
		if refusals[c].outside && refusals[c].name == name {
			return RefusalCode(c), true
		}
	}
	return RefuseNothing, false
}

// Refusal says why a command was not carried out. Nothing of it was journaled or, with
// AfterHold, the hold that was journaled is released.
type Refusal struct {
	Code    RefusalCode
	Field   string // the field at fault, if any
	Message string // text for people
	Ceiling Amount // the account's limit; set with RefuseCeiling
	// The refusal came after the hold: from the directory, the provider, or the account's
	// control on the key's owner.
	AfterHold bool
}

func refuse(c RefusalCode, message string) *Refusal { return &Refusal{Code: c, Message: message} }

func refuseField(c RefusalCode, field, message string) *Refusal {
	return &Refusal{Code: c, Field: field, Message: message}
}
