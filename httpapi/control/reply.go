package control

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/strictjson"
	"pixd/httpapi"
)

// Problem is a request that cannot be carried out, as the operator is told.
type Problem struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return p.Message }

// Refuse makes a Problem.
func Refuse(status int, format string, args ...any) *Problem {
	return &Problem{status, fmt.Sprintf(format, args...)}
}

// Bad is a request's own fault.
func Bad(format string, args ...any) *Problem {
	return Refuse(fasthttp.StatusBadRequest, format, args...)
}

// Missing is what is asked for and not there.
func Missing(format string, args ...any) *Problem {
	return Refuse(fasthttp.StatusNotFound, format, args...)
}

// Handle answers with what serve returns: a status and a value to be sent as
// JSON, or an error. One that is no Problem is ours: logged, and not shown; at
// one that leaves the outcome open the connection is cut.
func Handle(log *slog.Logger, serve func(*fasthttp.RequestCtx) (int, any, error)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		status, value, err := serve(ctx)
		var problem *Problem
		var fault *strictjson.Fault
		switch {
		case err == nil:
			Answer(ctx, status, value)
		case errors.As(err, &problem):
			AnswerProblem(ctx, problem)
		case errors.As(err, &fault):
			AnswerProblem(ctx, Bad("%s", fault.Message))
		case errors.Is(err, ledger.ErrCut):
			httpapi.Cut(ctx)
		default:
			log.Error("control: request", "path", string(ctx.Path()), "error", err)
			AnswerProblem(ctx, Refuse(fasthttp.StatusInternalServerError, "internal error"))
		}
	}
}

// AnswerProblem sends {"error":{"status","message"}}.
func AnswerProblem(ctx *fasthttp.RequestCtx, p *Problem) {
	if p.Status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	Answer(ctx, p.Status, map[string]*Problem{"error": p})
}

// Answer sends a value as JSON.
func Answer(ctx *fasthttp.RequestCtx, status int, value any) {
	b, err := strictjson.Encode(value)
	if err != nil {
		panic(fmt.Sprintf("control: encode %T: %v", value, err))
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBody(b)
}
