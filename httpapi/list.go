package httpapi

import (
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// readStatement is GET /statement.
func readStatement(c *call) {
	q := c.query("page", "per_page", "status", "type", "date_from", "date_to")
	page, perPage := q.pages()
	f := q.filter(statementStatuses)
	if q.answered(c) {
		return
	}
	all, err := c.History.Statement(c.key.Account, f, layout.Page{Number: page, Size: perPage})
	c.transactions(all, err, page, perPage)
}

// listTransactions is GET /transactions.
func listTransactions(c *call) {
	q := c.query(append([]string{"page", "per_page"}, selections...)...)
	page, perPage := q.pages()
	f := q.selected()
	if q.answered(c) {
		return
	}
	all, err := c.History.Transactions(c.key.Account, q.values["external_id"], f, layout.Page{Number: page, Size: perPage})
	c.transactions(all, err, page, perPage)
}

// selections are the parameters that select transactions of an account.
var selections = []string{"status", "type", "date_from", "date_to", "direction", "external_id", "original_transaction_id"}

// selected reads the parameters that select transactions.
func (q *query) selected() layout.Filter {
	f := q.filter(transactionStatuses)
	f.Direction = choice(q, "direction", directions)
	for _, id := range []string{"external_id", "original_transaction_id"} {
		if text, given := q.values[id]; given && text == "" {
			q.refuse(id, id+" must not be empty")
		}
	}
	f.Original = q.values["original_transaction_id"]
	return f
}

// ReadSelection reads which transactions of an account an operator's request asks for, by the parameters that
// merchants have too. fault begins with the name of the parameter that is at fault; empty: none is.
func ReadSelection(ctx *fasthttp.RequestCtx) (f layout.Filter, external, fault string) {
	q := queryOf(ctx, false, selections)
	f = q.selected()
	return f, q.values["external_id"], q.fault
}

// transactions answers with one page of transactions.
func (c *call) transactions(all []*ledger.Transaction, err error, page, perPage int) {
	if err != nil {
		c.failed(err)
		return
	}
	c.list(len(all), page, perPage, func(o *object, i int) { o.item(all[i], c.Banks) })
}

// list answers with a page of a list of n entries; write writes the members of the i-th one.
func (c *call) list(n, page, perPage int, write func(o *object, i int)) {
	o := opened(c.camel, 128+itemLength*n)
	o.flag("worked", true)
	o.entries("data", n, func(i int) { write(&o, i) })
	o.number("page", int64(page))
	o.number("per_page", int64(perPage))
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// word is a value of a query parameter and what it stands for.
type word[T any] struct {
	text string
	is   T
}

// The values of the parameters that select transactions.
var (
	statementStatuses = []word[layout.FilterStatus]{
		{"settled", layout.FilterSettled}, {"rejected", layout.FilterRejected}, {"failed", layout.FilterFailed}, {"processing", layout.FilterProcessing},
	}
	transactionStatuses = append(statementStatuses[:len(statementStatuses):len(statementStatuses)], word[layout.FilterStatus]{"active", layout.FilterActive})
	types               = []word[layout.FilterType]{{"pix", layout.FilterPIX}, {"ted", layout.FilterTED}, {"internal", layout.FilterInternal}}
	directions          = []word[layout.FilterDirection]{{"inbound", layout.FilterInbound}, {"outbound", layout.FilterOutbound}}
)

// choice reads a parameter that takes one of some words; zero where it is not given.
func choice[T any](q *query, name string, words []word[T]) (is T) {
	text, given := q.values[name]
	if !given {
		return is
	}
	takes := ""
	for i, w := range words {
		if w.text == text {
			return w.is
		}
		switch {
		case i == 0:
		case i == len(words)-1:
			takes += " or "
		default:
			takes += ", "
		}
		takes += w.text
	}
	q.refuse(name, name+" must be "+takes)
	return is
}

// filter reads status, type, date_from and date_to.
func (q *query) filter(statuses []word[layout.FilterStatus]) layout.Filter {
	f := layout.Filter{Status: choice(q, "status", statuses), Type: choice(q, "type", types)}
	f.From, f.Until = q.date("date_from"), q.date("date_to")
	if f.From > 0 && f.Until > 0 && f.From > f.Until {
		q.refuse("date_from", "date_from must not be after date_to")
	}
	if f.Until > 0 {
		f.Until += pix.Millis(24 * time.Hour / time.Millisecond) // the whole day counts
	}
	return f
}

// date reads a day as its first instant, UTC; 0 where it is not given.
func (q *query) date(name string) pix.Millis {
	text, given := q.values[name]
	if !given {
		return 0
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		q.refuse(name, name+" must be a day as YYYY-MM-DD")
		return 0
	}
	return max(1, pix.Millis(at.UnixMilli()))
}

// readEndToEnd is GET /transactions/e2e/:e2e_id.
func readEndToEnd(c *call) { c.lookUp("e2e_id", c.History.EndToEnd) }

// readTag is GET /transactions/tag/:tag.
func readTag(c *call) { c.lookUp("tag", c.History.Tag) }

// readReference is GET /transactions/ref/:external_id.
func readReference(c *call) { c.lookUp("external_id", c.History.Reference) }

// lookUp answers with the transaction that find finds by a parameter of the path.
func (c *call) lookUp(parameter string, find func(pix.AccountID, string) (*ledger.Transaction, error)) {
	t := c.found(parameter, find)
	if t == nil {
		return
	}
	o := opened(c.camel, itemLength)
	o.flag("worked", true)
	if t.Kind.Outbound() {
		o.flag("final", !t.Status.InFlight())
	}
	o.item(t, c.Banks)
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// found returns the transaction that find finds by a parameter of the path. If there is none,
// found has answered the request and returns nil.
func (c *call) found(parameter string, find func(pix.AccountID, string) (*ledger.Transaction, error)) *ledger.Transaction {
	t, err := find(c.key.Account, PathText(c.ctx, parameter))
	switch {
	case err != nil:
		c.failed(err)
		return nil
	case t == nil:
		c.unknownTransaction()
	}
	return t
}
