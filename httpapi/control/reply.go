package control

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/redact"
	"pixd/actors/strictjson"
	"pixd/httpapi"
)

// Problem is the answer to a request that cannot be carried out.
type Problem struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return p.Message }

// Refuse makes a Problem with a status.
func Refuse(status int, format string, args ...any) *Problem {
	return &Problem{status, fmt.Sprintf(format, args...)}
}

// Bad makes a Problem with status 400: the request itself is wrong.
func Bad(format string, args ...any) *Problem {
	return Refuse(fasthttp.StatusBadRequest, format, args...)
}

// Missing makes a Problem with status 404: the thing that the request names does not exist.
func Missing(format string, args ...any) *Problem {
	return Refuse(fasthttp.StatusNotFound, format, args...)
}

// Handle returns a handler that sends the result of serve: a status and a value as JSON, or a
// *Stream, or an error, of which Judge says how it is answered.
func Handle(log *slog.Logger, serve func(*fasthttp.RequestCtx) (int, any, error)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		status, value, err := serve(ctx)
		long, isLong := value.(*Stream)
		switch {
		case err == nil && isLong:
			long.Send(ctx, log)
		case err == nil:
			Answer(ctx, status, value)
		default:
			problem := Judge(About(log, ctx), err)
			if problem == nil {
				Cut(ctx)
				return
			}
			AnswerProblem(ctx, problem)
		}
	}
}

// About returns a logger that names a request in its lines, without the PIX key that its path may have.
func About(log *slog.Logger, ctx *fasthttp.RequestCtx) *slog.Logger {
	return log.With("request_id", httpapi.RequestID(ctx), "path", redact.Path(string(ctx.Path())))
}

// Judge returns the Problem with which an error is answered. A Problem is answered as it is, and
// a fault in the body's form as a Problem. ledger.ErrCut, which means that the outcome is unknown,
// has none: the connection is cut. Any other error is logged and answered 500 without its text.
func Judge(log *slog.Logger, err error) *Problem {
	var problem *Problem
	var fault *strictjson.Fault
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &fault):
		return Bad("%s", fault.Message)
	case errors.Is(err, ledger.ErrCut):
		return nil
	}
	log.Error("control: request", "error", err)
	return Refuse(fasthttp.StatusInternalServerError, "internal error")
}

// Cut cuts the connection of a request whose outcome is unknown.
func Cut(ctx *fasthttp.RequestCtx) { httpapi.Cut(ctx) }

// AnswerProblem sends {"error":{"status","message"}}.
func AnswerProblem(ctx *fasthttp.RequestCtx, p *Problem) {
	if p.Status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	Answer(ctx, p.Status, p.Body())
}

// Body returns the value that is sent as the body of the Problem's answer.
func (p *Problem) Body() any { return map[string]*Problem{"error": p} }

// Answer sends a value as JSON.
func Answer(ctx *fasthttp.RequestCtx, status int, value any) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBody(Encode(value))
}

// Encode returns a value as JSON, in one line. It panics if it cannot, because our answers can
// always be encoded.
func Encode(value any) []byte {
	b, err := strictjson.Encode(value)
	if err != nil {
		panic(fmt.Sprintf("control: encode %T: %v", value, err))
	}
	return b
}
