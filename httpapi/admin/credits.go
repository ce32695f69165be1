package admin

import (
	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// creditKinds maps the types of credit that an operator may book.
var creditKinds = map[string]pix.TxKind{"ted": pix.TxTED, "internal": pix.TxInternal}

// createCredit books money on an account. A second request with the same reference is
// answered with the first request's result.
func (s *service) createCredit(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	f := control.Read(ctx.PostBody(), "amount", "type", "description", "payer_name", "payer_document", "reference")
	f.Need("amount", "type")
	var c ledger.Credit
	var kind string
	f.Integer("amount", (*int64)(&c.Amount))
	if f.Text("type", &kind) && creditKinds[kind] == 0 {
		f.Refuse("type", `"ted" or "internal"`)
	}
	c.Kind = creditKinds[kind]
	f.Text("description", &c.Description)
	f.Text("payer_name", &c.PayerName)
	f.Text("payer_document", &c.PayerDocument)
	f.Text("reference", &c.Reference)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	booked, err := s.do(a.ID, c)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusCreated, json.RawMessage(httpapi.Item(booked.Tx, s.Banks)), nil
}
