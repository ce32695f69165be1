package httpapi

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// The four shapes of an error, and the functions that send them.

func answer(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

// camelCase is the only value of the header X-Key-Case that has an effect.
const camelCase = "camelCase"

// camel reports whether the answer to a request has its keys in camelCase. It reads the
// request itself, so it also works for an answer that is given before any check.
func camel(ctx *fasthttp.RequestCtx) bool {
	return string(ctx.Request.Header.Peek("X-Key-Case")) == camelCase
}

// answerError answers with an error of shape 1: {"error":{"status","message"}}, with a hint
// unless hint is empty. All its keys are single words, so camelCase does not change them.
func answerError(ctx *fasthttp.RequestCtx, status int, message, hint string) {
	o := opened(false, 128)
	o.inner("error")
	o.number("status", int64(status))
	o.text("message", message)
	if hint != "" {
		o.text("hint", hint)
	}
	o.end()
	answer(ctx, status, o.closed())
}

// answerBoth answers 401 with shapes 1 and 4 in one body. All its keys are single words.
func answerBoth(ctx *fasthttp.RequestCtx, message string) {
	o := opened(false, 256)
	o.inner("error")
	o.number("status", fasthttp.StatusUnauthorized)
	o.text("message", message)
	o.end()
	o.flag("worked", false)
	o.inner("errors")
	o.text("unauthorized", message)
	o.end()
	answer(ctx, fasthttp.StatusUnauthorized, o.closed())
}

// answerForbidden answers 403 with an error of shape 2: {"error":"forbidden","message"}.
// All its keys are single words.
func answerForbidden(ctx *fasthttp.RequestCtx, message string) {
	o := opened(false, 128)
	o.text("error", "forbidden")
	o.text("message", message)
	answer(ctx, fasthttp.StatusForbidden, o.closed())
}

// answerDetail answers with an error of shape 3: {"worked":false,"detail"}. All its keys
// are single words.
func answerDetail(ctx *fasthttp.RequestCtx, status int, detail string) {
	o := opened(false, 128)
	o.flag("worked", false)
	o.text("detail", detail)
	answer(ctx, status, o.closed())
}

// answerErrors answers with an error of shape 4: {"errors":{atom:message}}.
func answerErrors(ctx *fasthttp.RequestCtx, status int, atom, message string) {
	answer(ctx, status, atomBody(camel(ctx), atom, message))
}

func atomBody(camel bool, atom, message string) []byte {
	o := opened(camel, 128)
	o.inner("errors")
	o.text(atom, inCase(message, camel))
	o.end()
	return o.closed()
}

// Unavailable answers 503 in the shape of the merchant API, with Retry-After: nothing was done.
func Unavailable(ctx *fasthttp.RequestCtx, message string) { unavailable(ctx, message) }

// unavailable answers 503 and asks the client to send the request again: nothing of the
// request was kept.
func unavailable(ctx *fasthttp.RequestCtx, message string) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	answerError(ctx, fasthttp.StatusServiceUnavailable, message, "")
}

// tooMany answers 429 to a request that was counted at the time now, because the address has reached
// a limit for this minute.
func tooMany(ctx *fasthttp.RequestCtx, now pix.Millis) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "60") // the contract's, whatever is left of the minute
	sayReset(ctx, now)
	answerError(ctx, fasthttp.StatusTooManyRequests, "Too many requests", "")
}

// sayReset tells in a header how many seconds after the time now, at which the request was counted,
// its window ends: 1 to 60.
func sayReset(ctx *fasthttp.RequestCtx, now pix.Millis) {
	var digits [2]byte
	ctx.Response.Header.SetBytesV("x-ratelimit-reset", strconv.AppendInt(digits[:0], windowLeft(now), 10))
}

const retryAfter = 1 // the Retry-After of a 503, in seconds

// Cut ends the connection without an answer. It is for requests of which nobody knows whether
// they were carried out: the client would take any status for an outcome.
func Cut(ctx *fasthttp.RequestCtx) {
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {}) // the connection is closed when this returns
}
