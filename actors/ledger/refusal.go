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

// refusalRow is one refusal.
type refusalRow struct {
	name    string // in messages, and as the reason of a payout that failed by it
	outside bool   // the directory's or the provider's word, not ours
	limit   Bucket // the directory's limit that it tells of
}

// refusals has a row for each, in the order of the codes. What a refusal looks like to
// merchants and operators, httpapi/errors.go says.
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

// Refusals are all refusals, in order.
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

// Limit is the directory's limit that a refusal tells of; 0 for any other refusal.
func (c RefusalCode) Limit() Bucket { return refusals[c].limit }

// ParseRefusal reads a code's name as the scheme port reports it; false for
// anything that is not a refusal of the directory or the provider.
func ParseRefusal(name string) (RefusalCode, bool) {
	for c := range refusals {
		if refusals[c].outside && refusals[c].name == name {
			return RefusalCode(c), true
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
	AfterHold bool   // the money was held when it was found: by the directory, the provider, or the account's control on the owner
}

func refuse(c RefusalCode, message string) *Refusal { return &Refusal{Code: c, Message: message} }

func refuseField(c RefusalCode, field, message string) *Refusal {
	return &Refusal{Code: c, Field: field, Message: message}
}
