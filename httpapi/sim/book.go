package sim

import (
	"context"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/httpapi/control"
)

// book answers with the simulator's book: the sums of all movements that have settled.
func (s *service) book(ctx context.Context, _ *fasthttp.RequestCtx) (int, any, error) {
	b, err := s.sim.Book(ctx)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusOK, provider.TellBook(b), nil
}

var kindNames = map[sim.MovementKind]string{
	sim.MovedPayout: "payout", sim.MovedPayment: "payment", sim.MovedReturn: "return", sim.MovedRefund: "refund",
	sim.MovedRefused: "refused_payment",
}

// accountIDs are the ids of a payout or a refund in its account; both are null for a
// customer's payment.
type accountIDs struct {
	ID            *string `json:"id"`
	TransactionID *string `json:"transaction_id"`
}

func idsOf(kind sim.MovementKind, tx pix.TxID) accountIDs {
	if tx == (pix.TxID{}) {
		return accountIDs{}
	}
	of := pix.TxPayout
	if kind == sim.MovedRefund {
		of = pix.TxRefund
	}
	id, public := tx.String(), tx.Public(of)
	return accountIDs{&id, &public}
}

// optional returns nil for an empty text, so that the field is null.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Payment is one payment or refund. A field that does not apply, or is not known yet,
// is null. A refund has two end-to-end ids: return_id is its own, and end_to_end_id is that of
// the payment that it returns. reason says why a payout or a refund was rejected; return_code
// is the code that came with a refund.
type Payment struct {
	Kind string `json:"kind"`
	accountIDs
	EndToEndID     string     `json:"end_to_end_id"`
	ReturnID       *string    `json:"return_id"`
	AccountID      string     `json:"account_id"`
	PixKey         *string    `json:"pix_key"`
	Amount         pix.Amount `json:"amount"`
	Status         string     `json:"status"`
	Reason         *string    `json:"reason"`
	ReturnCode     *string    `json:"return_code"`
	CreatedAt      string     `json:"created_at"`
	FinalAt        *string    `json:"final_at"`
	ReturnedAmount pix.Amount `json:"returned_amount"`
	Returns        []Return   `json:"returns"`
}

// Return is the return of a payout, or a refund of a payment.
type Return struct {
	ID     string     `json:"return_id"`
	Amount pix.Amount `json:"amount"`
	Reason string     `json:"reason"`
	At     string     `json:"at"`
}

// showPayment answers with one payment or refund of the book.
func (s *service) showPayment(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	endToEnd, _ := r.UserValue("end_to_end_id").(string)
	k, err := s.sim.Know(ctx, endToEnd)
	if err != nil {
		return 0, nil, problem(err)
	}
	m := Payment{
		Kind: kindNames[k.Kind], accountIDs: idsOf(k.Kind, k.Tx), EndToEndID: k.EndToEnd, ReturnID: optional(k.ReturnID),
		AccountID: k.Account.String(), PixKey: optional(k.Key), ReturnCode: optional(k.ReturnCode),
		Amount: k.Amount, Status: "pending", CreatedAt: k.At.String(), Returns: make([]Return, 0, len(k.Returns)),
	}
	switch k.State.Progress {
	case scheme.Settled:
		m.Status = "settled"
	case scheme.Rejected:
		m.Status, m.Reason = "rejected", &k.State.Reason
	}
	if k.FinalAt != 0 {
		at := k.FinalAt.String()
		m.FinalAt = &at
	}
	for _, r := range k.Returns {
		m.ReturnedAmount += r.Amount
		m.Returns = append(m.Returns, Return{r.ID, r.Amount, r.Reason, r.At.String()})
	}
	return fasthttp.StatusOK, m, nil
}

// Movement is one settled movement of money. For the return of a payout, it has the ids of
// that payout. For a refund, it has the refund's own ids in the account, and end_to_end_id is
// that of the payment that was returned.
type Movement struct {
	At   string `json:"at"`
	Kind string `json:"kind"`
	accountIDs
	EndToEndID   string     `json:"end_to_end_id"`
	ReturnID     *string    `json:"return_id"`
	AccountID    string     `json:"account_id"`
	Amount       pix.Amount `json:"amount"`
	Counterparty string     `json:"counterparty_ispb"`
}

type movements struct {
	Data []Movement `json:"data"`
	Next *string    `json:"next_cursor"`
}

const (
	defaultMovements = 100
	maxMovements     = 1000
)

// movements answers with the settled movements, oldest first.
func (s *service) movements(ctx context.Context, r *fasthttp.RequestCtx) (int, any, error) {
	since, limit, err := window(r.QueryArgs())
	if err != nil {
		return 0, nil, err
	}
	page, next, err := s.sim.Settled(ctx, since, string(r.QueryArgs().Peek("cursor")), limit)
	if err != nil {
		return 0, nil, problem(err)
	}
	m := movements{Data: make([]Movement, 0, len(page))}
	for _, p := range page {
		m.Data = append(m.Data, Movement{
			At: p.At.String(), Kind: kindNames[p.Kind], accountIDs: idsOf(p.Kind, p.Tx), EndToEndID: p.EndToEnd,
			ReturnID: optional(p.ReturnID), AccountID: p.Account.String(), Amount: p.Amount, Counterparty: p.Other,
		})
	}
	if next != "" {
		m.Next = &next
	}
	return fasthttp.StatusOK, m, nil
}

// window reads since and limit from the query.
func window(q *fasthttp.Args) (since pix.Millis, limit int, err error) {
	limit = defaultMovements
	if q.Has("limit") {
		if limit, err = strconv.Atoi(string(q.Peek("limit"))); err != nil || limit < 1 || limit > maxMovements {
			return 0, 0, control.Bad("limit must be an integer from 1 to %d", maxMovements)
		}
	}
	if q.Has("since") {
		t, err := time.Parse(time.RFC3339Nano, string(q.Peek("since")))
		if err != nil {
			return 0, 0, control.Bad("since must be an ISO 8601 time, such as 2026-01-31T12:00:00Z")
		}
		since = pix.Millis(t.UnixMilli())
	}
	return since, limit, nil
}
