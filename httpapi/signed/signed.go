// Package signed serves messages that carry a signature. It admits messages that the other
// side of the scheme protocol has signed, acknowledges repeats of acknowledged messages
// without any effect, and signs the answers.
package signed

import (
	"errors"
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
)

// Serve carries out a message and returns the answer. It calls end once it is known whether
// the message counts as acknowledged; that may be after Serve has returned. Before that call
// a repeat of the message is answered 503, which tells the sender to send it again.
type Serve func(ctx *fasthttp.RequestCtx, end func(acknowledged bool)) (int, any, error)

// Handle returns a handler that checks a message's signature before serve. A message that
// the other side did not sign gets an answer without a signature.
func Handle(g *provider.Guard, log *slog.Logger, serve Serve) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		m := message(ctx)
		if len(m.Body) > provider.MaxBody {
			control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusRequestEntityTooLarge, "the message is longer than %d bytes", provider.MaxBody))
			return
		}
		end, err := g.Admit(m, string(ctx.Request.Header.Peek(provider.HeaderSignature)))
		switch {
		case errors.Is(err, provider.ErrKnown):
			control.Answer(ctx, fasthttp.StatusOK, provider.Done{Known: true})
		case errors.Is(err, provider.ErrInWork):
			control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusServiceUnavailable, "%v: send it again", err))
		case err != nil:
			log.Debug("signed: message refused", "path", m.Path, "from", ctx.RemoteAddr().String(), "error", err)
			control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusUnauthorized, "%v", err))
			return
		default:
			carryOut(ctx, log, serve, end)
		}
		sign(ctx, g, m)
	}
}

// carryOut calls serve. If serve panics, carryOut also ends the message as not acknowledged,
// because its outcome is unknown: the sender may send it again.
func carryOut(ctx *fasthttp.RequestCtx, log *slog.Logger, serve Serve, end func(bool)) {
	finished := false
	defer func() {
		if !finished {
			end(false)
		}
	}()
	control.Handle(log, func(ctx *fasthttp.RequestCtx) (int, any, error) { return serve(ctx, end) })(ctx)
	finished = true
}

func message(ctx *fasthttp.RequestCtx) provider.Message {
	h := &ctx.Request.Header
	return provider.Message{
		Method: string(ctx.Method()), Path: string(h.RequestURI()), Body: ctx.PostBody(),
		Timestamp: string(h.Peek(provider.HeaderTimestamp)), ID: string(h.Peek(provider.HeaderMessageID)),
	}
}

func sign(ctx *fasthttp.RequestCtx, g *provider.Guard, m provider.Message) {
	if ctx.Hijacked() {
		return // serve has cut the connection, so no answer is sent
	}
	at, signature := g.Answer(m, ctx.Response.StatusCode(), ctx.Response.Body())
	ctx.Response.Header.Set(provider.HeaderTimestamp, at)
	ctx.Response.Header.Set(provider.HeaderSignature, signature)
}
