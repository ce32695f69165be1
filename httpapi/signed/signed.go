// Package signed serves messages that carry a signature. It admits messages that the other
// side of the scheme protocol has signed, acknowledges repeats of acknowledged messages
// without any effect, and signs the answers. Messages may come in groups.
package signed

import (
	"errors"
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
)

// Serve carries out a message, given its body, and returns the answer. It calls end once it is
// known whether the message counts as acknowledged; that may be after Serve has returned. Before
// that call a repeat of the message is answered 503, which tells the sender to send it again.
// An error is answered as control.Judge says.
type Serve func(body []byte, end func(acknowledged bool)) (int, any, error)

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
		if err != nil && !repeated(err) {
			refuseUnsigned(ctx, log, m.Path, err)
			return
		}
		status, body, ok := carryOut(log, m.Path, m.Body, serve, end, err)
		if !ok {
			control.Cut(ctx)
			return
		}
		send(ctx, g, m, status, body)
	}
}

func repeated(err error) bool {
	return errors.Is(err, provider.ErrKnown) || errors.Is(err, provider.ErrInWork)
}

// refuseUnsigned answers a message that the other side did not sign.
func refuseUnsigned(ctx *fasthttp.RequestCtx, log *slog.Logger, path string, err error) {
	log.Debug("signed: message refused", "path", path, "from", ctx.RemoteAddr().String(), "error", err)
	control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusUnauthorized, "%v", err))
}

// carryOut calls serve, unless admitted says that the message is a repeat, and returns the status
// and the body of the answer; false: none is to be sent, because the outcome is unknown. If serve
// panics, the message has ended as not acknowledged: the sender may send it again.
func carryOut(log *slog.Logger, path string, body []byte, serve Serve, end func(bool), admitted error) (status int, answer []byte, ok bool) {
	switch {
	case errors.Is(admitted, provider.ErrKnown):
		return fasthttp.StatusOK, control.Encode(provider.Done{Known: true}), true
	case admitted != nil:
		p := control.Refuse(fasthttp.StatusServiceUnavailable, "%v: send it again", admitted)
		return p.Status, control.Encode(p.Body()), true
	}
	finished := false
	defer func() {
		if !finished {
			end(false)
		}
	}()
	status, value, err := serve(body, end)
	finished = true
	if err == nil {
		return status, control.Encode(value), true
	}
	p := control.Judge(log, path, err)
	if p == nil {
		return 0, nil, false
	}
	return p.Status, control.Encode(p.Body()), true
}

func message(ctx *fasthttp.RequestCtx) provider.Message {
	h := &ctx.Request.Header
	return provider.Message{
		Method: string(ctx.Method()), Path: string(h.RequestURI()), Body: ctx.PostBody(),
		Timestamp: string(h.Peek(provider.HeaderTimestamp)), ID: string(h.Peek(provider.HeaderMessageID)),
	}
}

// send signs and sends the answer to a message.
func send(ctx *fasthttp.RequestCtx, g *provider.Guard, m provider.Message, status int, body []byte) {
	at, signature := g.Answer(m, status, body)
	if status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
	ctx.Response.Header.Set(provider.HeaderTimestamp, at)
	ctx.Response.Header.Set(provider.HeaderSignature, signature)
}
