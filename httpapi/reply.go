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

// answerError is shape 1: {"error":{"status","message"}}, with a hint where there
// is one.
func answerError(ctx *fasthttp.RequestCtx, status int, message, hint string) {
	o := object{b: []byte(`{"error":{`)}
	o.number("status", int64(status))
	o.text("message", message)
	if hint != "" {
		o.text("hint", hint)
	}
	answer(ctx, status, append(o.b, "}}"...))
}

// answerForbidden is shape 2.
func answerForbidden(ctx *fasthttp.RequestCtx, message string) {
	o := opened()
	o.text("error", "forbidden")
	o.text("message", message)
	answer(ctx, fasthttp.StatusForbidden, o.closed())
}

// answerDetail is shape 3.
func answerDetail(ctx *fasthttp.RequestCtx, status int, detail string) {
	o := opened()
	o.flag("worked", false)
	o.text("detail", detail)
	answer(ctx, status, o.closed())
}

// answerErrors is shape 4 with a message under its atom.
func answerErrors(ctx *fasthttp.RequestCtx, status int, atom, message string) {
	answer(ctx, status, atomBody(atom, message))
}

func atomBody(atom, message string) []byte {
	o := object{b: []byte(`{"errors":{`)}
	o.text(atom, message)
	return append(o.b, "}}"...)
}

// unavailable asks the client to come again: nothing of its request was kept.
func unavailable(ctx *fasthttp.RequestCtx, message string) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	answerError(ctx, fasthttp.StatusServiceUnavailable, message, "")
}

const retryAfter = 1 // seconds

// Cut ends the connection without an answer, where nobody knows what became of
// the request: any status would be read as an outcome.
func Cut(ctx *fasthttp.RequestCtx) {
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {}) // the connection is closed when this returns
}
