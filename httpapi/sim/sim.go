// Package sim is the simulator's HTTP face: what a tester makes the outside
// world do.
package sim

import (
	"context"
	"log/slog"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/scheme/sim"
	"pixd/httpapi/operator"
)

// Simulator is what the routes need of the simulator.
type Simulator interface {
	Pay(ctx context.Context, p sim.Payment) (endToEnd string, amount ledger.Amount, err error)
}

type service struct {
	sim Simulator
	now func() ledger.Millis
}

// Routes adds the simulator's endpoints to a router.
func Routes(r *router.Router, s Simulator, now func() ledger.Millis, log *slog.Logger) {
	v := &service{s, now}
	r.POST("/sim/payments", operator.Handle(log, v.pay))
}

// answer is what POST /sim/payments tells.
type answer struct {
	EndToEnd string        `json:"end_to_end_id"`
	Amount   ledger.Amount `json:"amount"`
}

func (s *service) pay(ctx *fasthttp.RequestCtx) (int, any, error) {
	payments, err := s.read(ctx.PostBody())
	if err != nil {
		return 0, nil, err
	}
	endToEnd, amount, err := s.first(payments)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusCreated, answer{endToEnd, amount}, nil
}
