package ledger

import (
	"pixd/actors/pix"
)

// RefusalCode is the reason why a command was not carried out. The list is in the order of
// the checks; a new code goes to the end of its group. docs/refusals.md has a row for each
// code, and a test checks that.
type RefusalCode uint8

// The refusals. A command is checked in the order of this list.
const (
	RefuseNothing RefusalCode = iota

	RefuseAmount        // amount missing, not an integer, or outside 1 to MaxCentavos
	RefuseKeyInvalid    // the key has the form of no key type, or not of the type in pix_key_type
	RefuseKeyType       // pix_key_type is none of the directory's five types
	RefuseKeyAmbiguous  // eleven digits without pix_key_type: may be a CPF or a phone number
	RefuseDescription   // description is not a string, or longer than 140 characters
	RefuseRecipientISPB // recipient_ispb is not 8 digits
	RefuseEndToEnd      // end_to_end_id is not in the scheme's form, or another account has used it
	RefusePurpose       // purpose is not a string, or longer than 500 characters

	RefuseSameInstitution  // the recipient's key is registered here, or recipient_ispb is our own
	RefuseDocumentRequired // the account forbids payouts to companies, and the recipient's document is not known
	RefuseCNPJBlocked      // the account forbids payouts to companies, and this CNPJ is not on its list of exceptions
	RefuseCeiling          // the amount is above the account's limit per payout; see Refusal.Ceiling
	RefuseUnderMED         // the available balance is too low, but only because of special-return (MED) holds
	RefuseBalance          // the available balance is below amount plus fee, even without special-return holds

	RefuseKeyNotFound    // the directory does not know the key
	RefuseKeyBlocked     // the directory blocks the key
	RefuseLookupFailed   // the directory gave no answer; nothing was submitted
	RefuseRateLimited    // the paying user's directory limit was reached at the submit
	RefuseBucket         // the institution's directory limit was reached at the submit
	RefuseProvider       // the provider refused without naming a more precise reason
	RefuseProviderSchema // the provider could not read the payment
	RefuseProviderOther  // the provider refused with a status outside 400 to 499

	RefuseSetting      // an account setting has an invalid value
	RefuseCredit       // the type, amount or text of an operator's credit is invalid
	RefuseReference    // another credit with a different amount or type has the same reference
	RefuseOverflow     // the command would overflow the balance or another sum
	RefuseNotOpened    // the account has no record yet
	RefuseAlreadyThere // the account has been opened before

	RefuseCPF // the field cpf is missing or not a string

	RefuseUnknownPayout // the account has no payout with this id
	RefuseNotPending    // the payout does not wait for approval, or an operator decided otherwise before
	RefuseInactive      // the account is not active
	RefuseExpired       // the end-to-end id that the merchant chose is too old to be sent, and may not be replaced

	RefuseOriginal        // original_transaction_id is missing or not a string
	RefuseReason          // reason is not a string, or longer than 64 characters
	RefuseUnknownOriginal // the account received no such payment
	RefuseOverRefund      // the refunds of the payment, and what cases hold of it, would exceed its amount
	RefuseSafeBalance     // the balance, in memory or durable, is below the refund's amount

	RefuseDefense     // a field of a defence is missing or invalid; see Refusal.Field
	RefuseUnknownCase // the account has no special-return case with this id
	RefuseCaseOver    // the case can no longer be defended
	RefuseCaseResult  // the case was decided otherwise before, or withdrawn
	RefuseAnalysis    // a field of an analyst's decision is invalid; see Refusal.Field
	RefuseNotFailed   // no refund for the case has failed for good, or one that has may still settle
	RefuseNotAwaiting // the case does not await an operator since a restore
	RefuseReturnOpen  // a return of the payment that the journal lacks is under way at the scheme, or a refund of it here that the scheme does not know

	RefuseWebhook              // url or events of a webhook subscription are invalid; see Refusal.Field
	RefuseTooManySubscriptions // the account has MaxSubscriptions subscriptions
	RefuseUnknownSubscription  // the account has no subscription with this id
	RefuseStoppedSubscription  // the subscription is stopped: it gets no events
	RefuseTooManySecrets       // maxFormer former secrets of the subscription still sign
)

// refusalRow has the properties of one refusal code.
type refusalRow struct {
	name    string     // name in messages, and the reason code of a payout that failed because of this refusal
	outside bool       // the refusal comes from the directory or the provider, not from the engine
	limit   pix.Bucket // the directory limit that caused the refusal; 0: no limit
	forNow  bool       // the refusal says nothing about the payment itself: the same may be carried out later
}

// refusals has an entry for each code, in the order of the codes. httpapi/errors.go says
// how a refusal is answered to merchants and operators.
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
	RefuseLookupFailed:   {name: "dict_lookup_failed", outside: true, forNow: true},
	RefuseRateLimited:    {name: "dict_rate_limited", outside: true, limit: pix.BucketClient, forNow: true},
	RefuseBucket:         {name: "dict_bucket_exhausted", outside: true, limit: pix.BucketShared, forNow: true},
	RefuseProvider:       {name: "provider_rejected", outside: true},
	RefuseProviderSchema: {name: "provider_schema_error", outside: true},
	RefuseProviderOther:  {name: "provider_unknown_error", outside: true, forNow: true},

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

	RefuseOriginal:        {name: "original_transaction_id"},
	RefuseReason:          {name: "reason"},
	RefuseUnknownOriginal: {name: "unknown_original"},
	RefuseOverRefund:      {name: "over_refund"},
	RefuseSafeBalance:     {name: "safe_balance"},

	RefuseDefense:     {name: "defense"},
	RefuseUnknownCase: {name: "unknown_case"},
	RefuseCaseOver:    {name: "case_over"},
	RefuseCaseResult:  {name: "case_result"},
	RefuseAnalysis:    {name: "analysis"},
	RefuseNotFailed:   {name: "not_failed"},
	RefuseNotAwaiting: {name: "not_awaiting"},
	RefuseReturnOpen:  {name: "return_open"},

	RefuseWebhook:              {name: "webhook"},
	RefuseTooManySubscriptions: {name: "too_many_subscriptions"},
	RefuseUnknownSubscription:  {name: "unknown_subscription"},
	RefuseStoppedSubscription:  {name: "webhook_stopped"},
	RefuseTooManySecrets:       {name: "too_many_secrets"},
}

// Refusals returns all refusal codes, in order.
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

// Limit returns the directory limit that caused the refusal; 0 where no limit did.
func (c RefusalCode) Limit() pix.Bucket { return refusals[c].limit }

// ForNow tells whether the refusal says nothing about the payment itself: a limit was met, or
// the directory or the provider could not answer. The same may be carried out later.
func (c RefusalCode) ForNow() bool { return refusals[c].forNow }

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

// Refusal says why a command was not carried out. Nothing of the command was journaled,
// except with AfterHold: then the hold was journaled and is released again.
type Refusal struct {
	Code    RefusalCode
	Field   string     // name of the request field that is wrong; empty: no single field
	Message string     // explanation in English
	Ceiling pix.Amount // the account's limit per payout; set with RefuseCeiling
	// AfterHold says that the refusal came after the money was held: from the directory,
	// from the provider, or because of the account's rule about the owner of the key.
	AfterHold bool
}

func refuse(c RefusalCode, message string) *Refusal { return &Refusal{Code: c, Message: message} }

func refuseField(c RefusalCode, field, message string) *Refusal {
	return &Refusal{Code: c, Field: field, Message: message}
}
