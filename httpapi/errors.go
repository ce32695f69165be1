package httpapi

import (
	"errors"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// This file alone turns a refusal into a status and a body.

// refusePayout is a cash-out's refusal: a field or a message under bad_request
// (format B) where the request's form is wrong, a code (format A) where the form
// is right and the payment cannot be.
func refusePayout(r *ledger.Refusal, camel bool) (int, []byte) {
	switch r.Code {
	case ledger.RefuseAmount, ledger.RefuseKeyInvalid:
		return fasthttp.StatusBadRequest, atomBody(camel, "bad_request", r.Code.String())
	case ledger.RefuseKeyType, ledger.RefuseDescription, ledger.RefuseRecipientISPB, ledger.RefuseEndToEnd, ledger.RefusePurpose:
		return fasthttp.StatusBadRequest, fieldBody(opened(camel, 256), r.Code.String(), r.Message)
	case ledger.RefuseSetting, ledger.RefuseCredit, ledger.RefuseReference, ledger.RefuseNotOpened, ledger.RefuseAlreadyThere,
		ledger.RefuseCPF, ledger.RefuseUnknownPayout, ledger.RefuseNotPending, ledger.RefuseInactive, ledger.RefuseExpired:
		return internalBody()
	case ledger.RefuseOverflow:
		return fasthttp.StatusUnprocessableEntity, atomBody(camel, "unprocessable_entity", r.Message)
	}
	return codeStatus(r), codeBody(r, camel)
}

// codeStatus is 422 for what is known before the payment is held, and 400 for
// what the directory or the provider says.
func codeStatus(r *ledger.Refusal) int {
	if r.AfterHold || r.Code >= ledger.RefuseKeyNotFound && r.Code <= ledger.RefuseProviderOther {
		return fasthttp.StatusBadRequest
	}
	return fasthttp.StatusUnprocessableEntity
}

func codeBody(r *ledger.Refusal, camel bool) []byte {
	o := opened(camel, 256)
	o.text("status", "failed")
	if r.Code == ledger.RefuseKeyAmbiguous {
		o.text("failure_reason", "ambiguous key")
	}
	o.name("errors")
	o.b = append(o.b, `[{`...)
	o.text("code", r.Code.String())
	o.text("message", codeMessage(r))
	o.inner("params")
	if r.Code == ledger.RefuseCeiling {
		o.number("ceiling", int64(r.Ceiling))
	}
	o.end()
	o.b = append(o.b, `}]`...)
	return o.closed()
}

// outsideMessages say what the directory's and the provider's codes mean: those
// who refuse send the code alone.
var outsideMessages = map[ledger.RefusalCode]string{
	ledger.RefuseCNPJBlocked:    "the key belongs to a CNPJ that payouts are not authorized to",
	ledger.RefuseKeyNotFound:    "the directory does not know the key",
	ledger.RefuseKeyBlocked:     "the directory blocks the key",
	ledger.RefuseLookupFailed:   "the directory could not be asked; no money has left",
	ledger.RefuseRateLimited:    "the directory's limit for this payer is reached, try again later",
	ledger.RefuseBucket:         "the directory's capacity for this institution is used up, try again later",
	ledger.RefuseProvider:       "the provider refused the payment",
	ledger.RefuseProviderSchema: "the provider could not read the payment",
	ledger.RefuseProviderOther:  "the provider refused the payment with an unexpected status",
}

func codeMessage(r *ledger.Refusal) string {
	if m := outsideMessages[r.Code]; r.AfterHold && m != "" {
		return m
	}
	return r.Message
}

// refuseField is the refusal of what has no codes of its own: a field under
// bad_request.
func refuseField(r *ledger.Refusal, camel bool) (int, []byte) {
	switch r.Code {
	case ledger.RefuseAmount, ledger.RefuseDescription, ledger.RefuseCPF:
		o := opened(camel, 256)
		o.flag("worked", false)
		return fasthttp.StatusBadRequest, fieldBody(o, r.Field, r.Message)
	}
	return internalBody()
}

// fieldBody closes o with {"errors":{"bad_request":{field:[message]}}}.
func fieldBody(o object, field, message string) []byte {
	o.inner("errors")
	o.inner("bad_request")
	o.name(field)
	o.b = append(o.b, '[')
	o.b = appendText(o.b, message)
	o.b = append(o.b, ']')
	o.end()
	o.end()
	return o.closed()
}

// internalBody is for what only a mistake of ours can bring about.
func internalBody() (int, []byte) {
	return fasthttp.StatusInternalServerError, []byte(`{"error":{"status":500,"message":"internal error"}}`)
}

// failed answers for an engine that could not carry a command out at all.
func (c *call) failed(err error) {
	switch {
	case errors.Is(err, ledger.ErrCut):
		Cut(c.ctx)
	case errors.Is(err, ledger.ErrBusy):
		unavailable(c.ctx, ledger.ErrBusy.Error()) // and not what it was wrapped in on its way
	case errors.Is(err, ledger.ErrWaited):
		unavailable(c.ctx, ledger.ErrWaited.Error())
	case errors.Is(err, ledger.ErrQuarantined):
		unavailable(c.ctx, ledger.ErrQuarantined.Error())
	case errors.Is(err, ledger.ErrUnknown):
		answerError(c.ctx, fasthttp.StatusUnauthorized, invalidCredentials, "")
	default:
		c.Log.Error("http: engine", "path", c.route.path, "account", c.key.Account.String(), "error", err)
		status, body := internalBody()
		answer(c.ctx, status, body)
	}
}
