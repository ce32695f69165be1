package admin

import (
	"errors"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// History looks transactions and special-return cases up, over all accounts, and reads one
// account's movements.
type History interface {
	Anyone(id string) (*ledger.Owned, error)
	Life(id string) (*ledger.Life, error)
	InFlight(a pix.AccountID, statuses []pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error)
	Transactions(a pix.AccountID, external string, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error)
	FinalPayouts(a pix.AccountID, status pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error)
	Cases(a pix.AccountID, status pix.CaseStatus, page, perPage int) ([]*ledger.Case, error)
	AnyCase(id string) (*ledger.OwnedCase, error)
	Booked(a pix.AccountID, from, until pix.Millis) (first, last uint64, err error)
	Movements(a pix.AccountID, first, last uint64) ([]*ledger.Transaction, error)
	AllCases(status pix.CaseStatus, after []byte, limit int) (layout.Listed[ledger.OwnedCase], error)

	Subscription(t layout.Target) (*ledger.Subscription, error)
	AllSubscriptions(a pix.AccountID, after []byte, limit int) (layout.Listed[*ledger.Subscription], error)
	Backlog(t layout.Target) (pending, dead uint64, err error)
	Delivery(t layout.Target, sequence uint64) (*ledger.DeliveryItem, error)
	AllDeliveries(a pix.AccountID, number uint32, state layout.DeliveryState, after []byte, limit int) (layout.Listed[ledger.DeliveryItem], error)
}

// ownedItem returns a transaction as merchants see it, preceded by its account and its state.
// The state is the exact status: to merchants every payout in flight is pending. A payout that waits for an operator since a
// restore says so.
func (s *service) ownedItem(o ledger.Owned) json.RawMessage {
	begin := `{"account_id":"` + o.Account.String() + `","state":"` + o.Tx.Status.String() + `",`
	if s.Holds != nil && s.Holds(o.Tx) {
		begin += `"awaits_operator":true,`
	}
	if s.ApprovalBy > 1 && s.waits(&o) {
		names := []string{}
		if first := s.Operators.FirstApproval(o.Tx.ID); first != nil {
			names = append(names, first.Operator)
		}
		begin += `"approved_by":` + string(control.Encode(names)) + `,"approvals_needed":2,`
	}
	return append([]byte(begin), httpapi.Item(o.Tx, s.Banks)[1:]...)
}

// showTransaction is GET /admin/transactions/:id.
func (s *service) showTransaction(ctx *fasthttp.RequestCtx) (int, any, error) {
	id, err := readPath(ctx, "id", "no transaction %q")
	if err != nil {
		return 0, nil, err
	}
	o, err := s.History.Anyone(id)
	if err != nil {
		return 0, nil, err
	}
	if o == nil {
		return 0, nil, control.Missing("no transaction %q", id)
	}
	return fasthttp.StatusOK, s.ownedItem(*o), nil
}

// showReceipt is GET /admin/transactions/:id/receipt: the receipt as the merchant gets it, a PDF.
func (s *service) showReceipt(ctx *fasthttp.RequestCtx) {
	id := httpapi.PathText(ctx, "id")
	file, err := s.receipt(id)
	if err != nil {
		control.Handle(s.Log, func(*fasthttp.RequestCtx) (int, any, error) { return 0, nil, err })(ctx)
		return
	}
	ctx.SetContentType("application/pdf")
	ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `inline; filename="comprovante.pdf"`)
	ctx.SetBody(file)
}

func (s *service) receipt(id string) ([]byte, error) {
	o, err := s.History.Anyone(id)
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, control.Missing("no transaction %q", id)
	case !o.Tx.Status.MovedMoney():
		return nil, control.Refuse(fasthttp.StatusUnprocessableEntity, "only a transaction that has settled has a receipt")
	}
	a, err := s.do(o.Account, ledger.ReadAccount{})
	if err != nil {
		return nil, err
	}
	file, err := s.Receipt(o.Account, o.Tx, &a.Head.Settings)
	if errors.Is(err, ledger.ErrBusy) {
		err = errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable, "receipts of account %v: %v", o.Account, err), err)
	}
	return file, err
}

// listTransactions is GET /admin/accounts/:account_id/transactions: an account's transactions, the newest first, or
// those that the parameters select. The cursor is a number of a page, so that transactions which come
// between two requests move the pages on.
func (s *service) listTransactions(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	f, external, fault := httpapi.ReadSelection(ctx)
	if fault != "" {
		return 0, nil, control.Bad("%s", fault)
	}
	page, err := readPageNumber(ctx)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.History.Transactions(a.ID, external, f, layout.Page{Number: page, Size: limit})
	if err != nil {
		return 0, nil, tooLong(err)
	}
	l := control.List{Data: make([]any, len(all)), Next: pageAfter(page, len(all), limit)}
	for i, t := range all {
		l.Data[i] = s.ownedItem(ledger.Owned{Account: a.ID, Tx: t})
	}
	return fasthttp.StatusOK, l, nil
}

// inFlight maps each value of the query's status to the statuses of the payouts in flight
// that the value selects.
var inFlight = map[string][]pix.TxStatus{
	"accepted": {pix.StatusAccepted, pix.StatusSending}, // a payout that is being sent may be accepted soon
	"sending":  {pix.StatusSending},
	"queued":   {pix.StatusQueued}, "pending_approval": {pix.StatusPending},
}

// ended maps each value of the query's status to the final status that the value selects.
var ended = map[string]pix.TxStatus{
	"settled": pix.StatusSettled, "rejected": pix.StatusRejected, "failed": pix.StatusFailed,
}

// listPayouts is GET /admin/payouts?account_id=&status=: it lists the payouts in flight, or
// the payouts that have ended in the given status.
func (s *service) listPayouts(ctx *fasthttp.RequestCtx) (int, any, error) {
	q := ctx.QueryArgs()
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	account, err := s.accountAsked(ctx)
	if err != nil {
		return 0, nil, err
	}
	text := string(q.Peek("status"))
	statuses, flies := inFlight[text]
	end, over := ended[text]
	if text != "" && !flies && !over {
		return 0, nil, control.Bad("status must be pending_approval, queued, sending, accepted, settled, rejected or failed")
	}
	key := layout.IsOpenKey
	if over {
		key = layout.IsItemKey
	}
	after, err := readCursor(ctx, key)
	if err != nil {
		return 0, nil, err
	}
	return listBehind(func() (layout.Listed[ledger.Owned], error) {
		if over {
			return s.History.FinalPayouts(account, end, after, limit)
		}
		return s.History.InFlight(account, statuses, after, limit)
	}, func(o ledger.Owned) (json.RawMessage, error) { return s.ownedItem(o), nil })
}
