package httpapi

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
)

// The four shapes of an error, and how they are sent.

func answer(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

// camelCase is the header X-Key-Case's one value that means anything.
const camelCase = "camelCase"

// camel tells whether a request's answer takes its keys in camelCase, also one
// that is given before any check.
func camel(ctx *fasthttp.RequestCtx) bool {
	return string(ctx.Request.Header.Peek("X-Key-Case")) == camelCase
}

// answerError is shape 1: {"error":{"status","message"}}, with a hint where there
// is one. No key of it has two words.
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

// answerForbidden is shape 2, with keys of one word.
func answerForbidden(ctx *fasthttp.RequestCtx, message string) {
	o := opened(false, 128)
	o.text("error", "forbidden")
	o.text("message", message)
	answer(ctx, fasthttp.StatusForbidden, o.closed())
}

// answerDetail is shape 3, with keys of one word.
func answerDetail(ctx *fasthttp.RequestCtx, status int, detail string) {
	o := opened(false, 128)
	o.flag("worked", false)
	o.text("detail", detail)
	answer(ctx, status, o.closed())
}

// answerErrors is shape 4 with a message under its atom.
func answerErrors(ctx *fasthttp.RequestCtx, status int, atom, message string) {
	answer(ctx, status, atomBody(camel(ctx), atom, message))
}

func atomBody(camel bool, atom, message string) []byte {
	o := opened(camel, 128)
	o.inner("errors")
	o.text(atom, message)
	o.end()
	return o.closed()
}

// unavailable asks the client to come again: nothing of its request was kept.
func unavailable(ctx *fasthttp.RequestCtx, message string) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	answerError(ctx, fasthttp.StatusServiceUnavailable, message, "")
}

// tooMany refuses what is over a limit of the minute.
func tooMany(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
	answerError(ctx, fasthttp.StatusTooManyRequests, "Too many requests", "")
}

const retryAfter = 1 // seconds

// Cut ends the connection without an answer, where nobody knows what became of
// the request: any status would be read as an outcome.
func Cut(ctx *fasthttp.RequestCtx) {
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {}) // the connection is closed when this returns
}
