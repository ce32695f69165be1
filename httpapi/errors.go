package httpapi

import (
	"errors"

	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

// Only this file turns a refusal into a status and a body.

// form is the JSON shape in which a refusal is written.
type form uint8

const (
	ours     form = iota // no client should get this refusal: it means a bug in the engine, answered 500
	named                // {"errors":{"bad_request":name}}, format B
	detailed             // {"errors":{"bad_request":name},"detail":message}, format B
	field                // {"errors":{"bad_request":{name:[message]}}}, format B
	message              // {"errors":{"unprocessable_entity":message}}
	code                 // {"status":"failed","errors":[{"code":name,…}]}, format A
)

// refusal says how the refusals of one code are answered.
type refusal struct {
	payout  form   // shape of the refusal in the answer to a payout request
	status  int    // status with that shape; a code (format A) after the hold is always 400
	name    string // the code or field in the body
	outside string // message if the directory or the provider refuses, because they send a code without a text
	other   int    // status in the answer to any other request (see refuseOther); 0: no other request gets this refusal
	admin   int    // status to operators; 0: operators never get this refusal
}

// refusalRows has a row for each refusal code of the ledger.
var refusalRows = map[ledger.RefusalCode]refusal{
	ledger.RefuseAmount:        {payout: named, status: 400, name: "invalid or missing amount", other: 400},
	ledger.RefuseKeyInvalid:    {payout: detailed, status: 400, name: "invalid pix_key"},
	ledger.RefuseKeyType:       {payout: field, status: 400, name: "pix_key_type"},
	ledger.RefuseKeyAmbiguous:  {payout: code, status: 422, name: "pix_key_ambiguous"},
	ledger.RefuseDescription:   {payout: field, status: 400, name: "description", other: 400},
	ledger.RefuseRecipientISPB: {payout: field, status: 400, name: "recipient_ispb"},
	ledger.RefuseEndToEnd:      {payout: field, status: 400, name: "end_to_end_id"},
	ledger.RefusePurpose:       {payout: field, status: 400, name: "purpose"},

	ledger.RefuseSameInstitution:  {payout: code, status: 422, name: "same_institution_transfer"},
	ledger.RefuseDocumentRequired: {payout: code, status: 422, name: "cnpj_out_document_required"},
	ledger.RefuseCNPJBlocked: {
		payout: code, status: 422, name: "cnpj_out_blocked",
		outside: "the key belongs to a CNPJ that payouts are not authorized to",
	},
	ledger.RefuseCeiling:  {payout: code, status: 422, name: "ceiling_exceeded"},
	ledger.RefuseUnderMED: {payout: code, status: 422, name: "funds_under_med_hold"},
	ledger.RefuseBalance:  {payout: code, status: 422, name: "insufficient_balance"},

	ledger.RefuseKeyNotFound: {
		payout: code, status: 400, name: "dict_key_not_found",
		outside: "the directory does not know the key",
	},
	ledger.RefuseKeyBlocked: {
		payout: code, status: 400, name: "dict_key_blocked",
		outside: "the directory blocks the key",
	},
	ledger.RefuseLookupFailed: {
		payout: code, status: 400, name: "dict_lookup_failed",
		outside: "the directory could not be asked; no money has left",
	},
	ledger.RefuseRateLimited: {
		payout: code, status: 400, name: "dict_rate_limited",
		outside: "the directory's limit for this payer is reached, try again later",
	},
	ledger.RefuseBucket: {
		payout: code, status: 400, name: "dict_bucket_exhausted",
		outside: "the directory's capacity for this institution is used up, try again later",
	},
	ledger.RefuseProvider: {
		payout: code, status: 400, name: "provider_rejected",
		outside: "the provider refused the payment",
	},
	ledger.RefuseProviderSchema: {
		payout: code, status: 400, name: "provider_schema_error",
		outside: "the provider could not read the payment",
	},
	ledger.RefuseProviderOther: {
		payout: code, status: 400, name: "provider_unknown_error",
		outside: "the provider refused the payment with an unexpected status",
	},

	ledger.RefuseSetting:      {admin: 400},
	ledger.RefuseCredit:       {admin: 400},
	ledger.RefuseReference:    {admin: 409},
	ledger.RefuseOverflow:     {payout: message, status: 422, other: 422, admin: 422},
	ledger.RefuseNotOpened:    {admin: 400},
	ledger.RefuseAlreadyThere: {admin: 400},

	ledger.RefuseCPF: {name: "cpf", other: 400},

	ledger.RefuseUnknownPayout: {admin: 404},
	ledger.RefuseNotPending:    {admin: 409},
	ledger.RefuseInactive:      {admin: 409},
	ledger.RefuseExpired:       {admin: 409},

	ledger.RefuseOriginal:        {other: 400},
	ledger.RefuseReason:          {other: 400},
	ledger.RefuseUnknownOriginal: {other: 404},
	ledger.RefuseOverRefund:      {other: 422},
	ledger.RefuseSafeBalance:     {other: 422},

	ledger.RefuseDefense:     {other: 400},
	ledger.RefuseUnknownCase: {other: 404, admin: 404},
	ledger.RefuseCaseOver:    {other: 422},
	ledger.RefuseCaseResult:  {admin: 409},
	ledger.RefuseAnalysis:    {admin: 400},
	ledger.RefuseNotFailed:   {admin: 409},
	ledger.RefuseNotAwaiting: {admin: 409},
	ledger.RefuseReturnOpen:  {admin: 409},

	ledger.RefuseWebhook:              {other: 400},
	ledger.RefuseTooManySubscriptions: {other: 422},
	ledger.RefuseUnknownSubscription:  {other: 404, admin: 404},
	ledger.RefuseStoppedSubscription:  {other: 422},
	ledger.RefuseTooManySecrets:       {other: 422},
}

// AdminStatus returns the status with which an account's refusal is answered to operators:
// 400 to 499, or 500 for a refusal that operators should never get.
func AdminStatus(r *ledger.Refusal) int {
	if status := refusalRows[r.Code].admin; status != 0 {
		return status
	}
	return fasthttp.StatusInternalServerError
}

// refusePayout makes the answer to a refused cash-out. If the request's form is wrong, it has
// a field or a message under bad_request (format B); if the form is right but the payment is
// not possible, it has a code (format A).
func refusePayout(r *ledger.Refusal, camel bool) (int, []byte) {
	row := refusalRows[r.Code]
	switch row.payout {
	case named:
		return row.status, namedBody(row.name, "", camel)
	case detailed:
		return row.status, namedBody(row.name, r.Message, camel)
	case field:
		return row.status, fieldBody(opened(camel, 256), row.name, r.Message)
	case message:
		return row.status, atomBody(camel, "unprocessable_entity", r.Message)
	case code:
		if r.AfterHold {
			row.status = fasthttp.StatusBadRequest
		}
		return row.status, codeBody(r, &row, camel)
	}
	return internalBody()
}

// namedBody returns {"errors":{"bad_request":name}}, and the member detail unless that is empty. The
// name is the contract's, by which clients know the error, and is the same in both cases of keys.
func namedBody(name, detail string, camel bool) []byte {
	o := opened(camel, 256)
	o.inner("errors")
	o.text("bad_request", name)
	o.end()
	if detail != "" {
		o.text("detail", inCase(detail, camel))
	}
	return o.closed()
}

func codeBody(r *ledger.Refusal, row *refusal, camel bool) []byte {
	text := r.Message
	if r.AfterHold && row.outside != "" {
		text = row.outside
	}
	o := opened(camel, 256)
	o.text("status", "failed")
	if r.Code == ledger.RefuseKeyAmbiguous {
		o.text("failure_reason", "ambiguous key")
	}
	o.name("errors")
	o.b = append(o.b, `[{`...)
	o.text("code", row.name)
	o.text("message", inCase(text, camel))
	o.inner("params")
	if r.Code == ledger.RefuseCeiling {
		o.number("ceiling", int64(r.Ceiling))
	}
	o.end()
	o.b = append(o.b, `}]`...)
	return o.closed()
}

// refuseOther makes the answer to any refused request but a cash-out: {"worked":false} with
// the field at fault and a message, or with a message alone.
func refuseOther(r *ledger.Refusal, camel bool) (int, []byte) {
	status := refusalRows[r.Code].other
	o := opened(camel, 256)
	o.flag("worked", false)
	switch {
	case status == 0:
		return internalBody()
	case r.Field != "":
		return status, fieldBody(o, r.Field, r.Message)
	}
	o.inner("errors")
	o.text(atoms[status], inCase(r.Message, camel))
	o.end()
	return status, o.closed()
}

// atoms has the key of the message in shape 4 for each status.
var atoms = map[int]string{
	fasthttp.StatusBadRequest: "bad_request", fasthttp.StatusNotFound: "not_found", fasthttp.StatusUnprocessableEntity: "unprocessable_entity",
}

// fieldBody appends {"errors":{"bad_request":{field:[message]}}} to o and closes o.
func fieldBody(o object, field, message string) []byte {
	o.inner("errors")
	o.inner("bad_request")
	o.name(field)
	o.b = append(o.b, '[')
	o.b = appendText(o.b, inCase(message, o.camel))
	o.b = append(o.b, ']')
	o.end()
	o.end()
	return o.closed()
}

// internalBody returns the answer to a request that fails because of a bug in the engine.
func internalBody() (int, []byte) {
	return fasthttp.StatusInternalServerError, []byte(`{"error":{"status":500,"message":"internal error"}}`)
}

// failed answers a request whose command the engine did not carry out, or whose outcome is
// unknown.
func (c *call) failed(err error) {
	switch {
	case errors.Is(err, ledger.ErrCut):
		Cut(c.ctx)
	case errors.Is(err, ledger.ErrBusy):
		unavailable(c.ctx, ledger.ErrBusy.Error()) // the plain text of ErrBusy, without the text that wraps it in err
	case errors.Is(err, ledger.ErrWaited):
		unavailable(c.ctx, ledger.ErrWaited.Error())
	case errors.Is(err, ledger.ErrQuarantined):
		unavailable(c.ctx, ledger.ErrQuarantined.Error())
	case errors.Is(err, layout.ErrTooLong):
		unavailable(c.ctx, layout.ErrTooLong.Error())
	case errors.Is(err, ledger.ErrUnknown):
		c.unauthorized(invalidCredentials)
	default:
		c.Log.Error("http: engine", "request_id", RequestID(c.ctx), "path", c.route.path, "account", c.key.Account.String(), "error", err)
		status, body := internalBody()
		answer(c.ctx, status, body)
	}
}
