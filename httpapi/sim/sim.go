// Package sim has the simulator's HTTP endpoints, with which a tester makes the simulated
// scheme, payers and counterparties act.
package sim

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/httpapi/control"
)

// Simulator has the methods of the simulator that the routes need.
type Simulator interface {
	Pay(ctx context.Context, p sim.Payment) (endToEnd string, amount pix.Amount, err error)
	ReturnPayout(ctx context.Context, r sim.PayoutReturn) (id string, err error)
	Report(ctx context.Context, r sim.Report) (id string, err error)
	Withdraw(ctx context.Context, infraction string) error
	SetCapacity(ctx context.Context, c sim.Capacity) error
	Book(ctx context.Context) (scheme.Book, error)
	Know(ctx context.Context, endToEnd string) (sim.Known, error)
	Settled(ctx context.Context, since pix.Millis, cursor string, limit int) (page []sim.SettledMovement, next string, err error)
}

type service struct {
	sim Simulator
	now func() pix.Millis
}

// Routes adds the simulator's endpoints to a router.
func Routes(r *router.Router, s Simulator, now func() pix.Millis, log *slog.Logger) {
	v := &service{s, now}
	for path, serve := range map[string]func(context.Context, *fasthttp.RequestCtx) (int, any, error){
		"POST /sim/payments":                v.pay,
		"POST /sim/returns":                 v.giveBack,
		"POST /sim/infractions":             v.report,
		"POST /sim/infractions/{id}/cancel": v.withdraw,
		"PUT /sim/capacity":                 v.capacity,
		"GET /sim/book":                     v.book,
		"GET /sim/book/movements":           v.movements,
		"GET /sim/book/{end_to_end_id}":     v.showPayment,
	} {
		method, path, _ := strings.Cut(path, " ")
		r.Handle(method, path, control.Handle(log, func(ctx *fasthttp.RequestCtx) (int, any, error) {
			within, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return serve(within, ctx)
		}))
	}
}

// patience is the longest time from a request's arrival until the simulator has carried it
// out.
const patience = 10 * time.Second

// answer is the answer to POST /sim/payments.
type answer struct {
	EndToEnd string     `json:"end_to_end_id"`
	Amount   pix.Amount `json:"amount"`
}

func (s *service) pay(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	payments, err := s.read(r.PostBody())
	if err != nil {
		return 0, nil, err
	}
	endToEnd, amount, err := s.first(ctx, payments)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusCreated, answer{endToEnd, amount}, nil
}

// problem turns the simulator's refusals into Problems for the tester. Any other error is
// returned as it is.
func problem(err error) error {
	switch {
	case errors.Is(err, sim.ErrUnknownPayment):
		return control.Missing("the scheme knows no such payment")
	case errors.Is(err, sim.ErrUnknownInfraction):
		return control.Missing("the scheme knows no such infraction")
	case errors.Is(err, sim.ErrNotSettled):
		return control.Refuse(fasthttp.StatusUnprocessableEntity, "the payment has not settled, or was rejected")
	case errors.Is(err, sim.ErrNothingLeft):
		return control.Refuse(fasthttp.StatusUnprocessableEntity, "the payment came back in full already")
	case errors.Is(err, sim.ErrBeyond):
		return control.Refuse(fasthttp.StatusUnprocessableEntity, "amount is more than is left of the payment")
	case errors.Is(err, sim.ErrCursor):
		return control.Bad("cursor must be a next_cursor of this list")
	}
	return err
}
