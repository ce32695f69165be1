package control

import (
	"log/slog"
	"runtime/debug"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// Contain cuts the connection where a handler panicked, because what was booked
// by then is not known here, and keeps the others running.
func Contain(log *slog.Logger, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("control: panic", "panic", p, "stack", string(debug.Stack()))
				httpapi.Cut(ctx)
			}
		}()
		next(ctx)
	}
}

// Strict makes a router answer unknown paths and methods in this side's shape.
func Strict(r *router.Router) {
	httpapi.Strict(r, func(ctx *fasthttp.RequestCtx) {
		AnswerProblem(ctx, Missing("no such path"))
	}, func(ctx *fasthttp.RequestCtx) {
		AnswerProblem(ctx, Refuse(fasthttp.StatusMethodNotAllowed, "this path does not take this method"))
	})
}

// NotReady answers while a process is being restored: it is alive, and takes
// nothing yet.
func NotReady(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) == "/healthz" && ctx.IsGet() {
		Answer(ctx, fasthttp.StatusOK, map[string]string{"status": "ok"})
		return
	}
	AnswerProblem(ctx, Refuse(fasthttp.StatusServiceUnavailable, "not ready: recovering or shutting down"))
}
