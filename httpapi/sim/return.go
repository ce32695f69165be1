package sim

import (
	"context"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/httpapi/control"
)

type returnAnswer struct {
	ID string `json:"return_id"`
}

// giveBack is POST /sim/returns: the counterparty returns a payout, or a part of it.
func (s *service) giveBack(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	var back sim.PayoutReturn
	f := control.Read(r.PostBody(), "end_to_end_id", "amount", "reason")
	f.Need("end_to_end_id")
	f.Text("end_to_end_id", &back.EndToEnd)
	amount(f, &back.Amount)
	if f.Text("reason", &back.Reason) && !isReason(back.Reason) {
		f.Refuse("reason", "4 capital letters or digits, such as MD06")
	}
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	id, err := s.sim.ReturnPayout(ctx, back)
	return fasthttp.StatusCreated, returnAnswer{id}, problem(err)
}

// isReason reports whether s has the form of one of the scheme's reason codes.
func isReason(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return len(s) == 4
}

type reportAnswer struct {
	ID     string `json:"infraction_id"`
	Status string `json:"status,omitempty"`
}

// report is POST /sim/infractions: a payer reports a payment that an account received.
func (s *service) report(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	about := sim.Report{Situation: provider.Situations[0]}
	f := control.Read(r.PostBody(), "end_to_end_id", "amount", "situation")
	f.Need("end_to_end_id")
	f.Text("end_to_end_id", &about.EndToEnd)
	amount(f, &about.Amount)
	if f.Text("situation", &about.Situation) && !slices.Contains(provider.Situations, about.Situation) {
		f.Refuse("situation", "one of "+strings.Join(provider.Situations, ", "))
	}
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	id, err := s.sim.Report(ctx, about)
	return fasthttp.StatusCreated, reportAnswer{ID: id}, problem(err)
}

// withdraw is POST /sim/infractions/{id}/cancel: the payer withdraws a report.
func (s *service) withdraw(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	if err := noBody(r); err != nil {
		return 0, nil, err
	}
	id, _ := r.UserValue("id").(string)
	return fasthttp.StatusOK, reportAnswer{id, "cancelled"}, problem(s.sim.Withdraw(ctx, id))
}

// noBody returns an error unless the body is empty or an object without fields.
func noBody(r *fasthttp.RequestCtx) error {
	if len(r.PostBody()) == 0 {
		return nil
	}
	return control.Read(r.PostBody()).Fault()
}

type capacityAnswer struct {
	Lookups string `json:"lookups"`
}

// capacity is PUT /sim/capacity: it sets the directory's capacity, on which the outcome of
// every look-up depends.
func (s *service) capacity(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	var lookups string
	f := control.Read(r.PostBody(), "lookups")
	f.Need("lookups")
	f.Text("lookups", &lookups)
	c, ok := sim.ParseCapacity(lookups)
	if !ok {
		f.Refuse("lookups", "available, client_limited or bucket_exhausted")
	}
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusOK, capacityAnswer{lookups}, s.sim.SetCapacity(ctx, c)
}
