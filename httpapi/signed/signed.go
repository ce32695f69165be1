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
		a := reply{}
		if err != nil {
			a = repeat(err)
		} else if a = carryOut(log, m.Path, m.Body, serve, end); a.status == 0 {
			control.Cut(ctx)
			return
		}
		send(ctx, g, m, a)
	}
}

// reply is what a message is answered with. The status 0 means that no answer is to be sent, because
// the outcome is unknown.
type reply struct {
	status int
	body   []byte
}

func refusal(p *control.Problem) reply { return reply{p.Status, control.Encode(p.Body())} }

func repeated(err error) bool {
	return errors.Is(err, provider.ErrKnown) || errors.Is(err, provider.ErrInWork)
}

// repeat returns the reply to a repeated message, which has no effect.
func repeat(err error) reply {
	if errors.Is(err, provider.ErrKnown) {
		return reply{fasthttp.StatusOK, control.Encode(provider.Done{Known: true})}
	}
	return refusal(control.Refuse(fasthttp.StatusServiceUnavailable, "%v: send it again", err))
}

// refuseUnsigned answers a message that the other side did not sign.
func refuseUnsigned(ctx *fasthttp.RequestCtx, log *slog.Logger, path string, err error) {
	log.Debug("signed: message refused", "path", path, "from", ctx.RemoteAddr().String(), "error", err)
	control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusUnauthorized, "%v", err))
}

// carryOut calls serve. If serve panics, the message has ended as not acknowledged: the sender may
// send it again.
func carryOut(log *slog.Logger, path string, body []byte, serve Serve, end func(bool)) reply {
	finished := false
	defer func() {
		if !finished {
			end(false)
		}
	}()
	status, value, err := serve(body, end)
	finished = true
	if err == nil {
		return reply{status, control.Encode(value)}
	}
	if p := control.Judge(log.With("path", path), err); p != nil {
		return refusal(p)
	}
	return reply{}
}

func message(ctx *fasthttp.RequestCtx) provider.Message {
	h := &ctx.Request.Header
	return provider.Message{
		Method: string(ctx.Method()), Path: string(h.RequestURI()), Body: ctx.PostBody(),
		Timestamp: string(h.Peek(provider.HeaderTimestamp)), ID: string(h.Peek(provider.HeaderMessageID)),
	}
}

// send signs and sends the answer to a message.
func send(ctx *fasthttp.RequestCtx, g *provider.Guard, m provider.Message, a reply) {
	at, signature := g.Answer(m, a.status, a.body)
	if a.status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	ctx.SetStatusCode(a.status)
	ctx.SetContentType("application/json")
	ctx.SetBody(a.body)
	ctx.Response.Header.Set(provider.HeaderTimestamp, at)
	ctx.Response.Header.Set(provider.HeaderSignature, signature)
}
