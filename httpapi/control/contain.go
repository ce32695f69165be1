package control

import (
	"log/slog"
	"runtime/debug"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// Contain cuts the connection of a request whose handler panicked, because nobody knows what
// the handler had booked before the panic. Other connections go on.
func Contain(log *slog.Logger, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("control: panic", "request_id", httpapi.RequestID(ctx), "panic", p, "stack", string(debug.Stack()))
				httpapi.Cut(ctx)
			}
		}()
		next(ctx)
	}
}

// Strict makes a router accept only registered paths and methods, and answer all others
// with a Problem.
func Strict(r *router.Router) {
	httpapi.Strict(r, func(ctx *fasthttp.RequestCtx) {
		AnswerProblem(ctx, Missing("no such path"))
	}, func(ctx *fasthttp.RequestCtx) {
		AnswerProblem(ctx, Refuse(fasthttp.StatusMethodNotAllowed, "this path does not take this method"))
	})
}

// NotReady answers while a process is starting or ending: /healthz says that the process is
// alive, and any other request is answered 503.
func NotReady(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) == "/healthz" && ctx.IsGet() {
		Answer(ctx, fasthttp.StatusOK, map[string]string{"status": "ok"})
		return
	}
	AnswerProblem(ctx, Refuse(fasthttp.StatusServiceUnavailable, "not ready: recovering or shutting down"))
}
