package httpapi

import (
	"net/url"

	"github.com/valyala/fasthttp"
)

// readTransaction is GET /transactions/:id.
func readTransaction(c *call) {
	name, _ := c.ctx.UserValue("id").(string)
	id, err := url.PathUnescape(name)
	if err != nil {
		c.unknownTransaction()
		return
	}
	t, err := c.History.Transaction(c.key.Account, id)
	switch {
	case err != nil:
		c.failed(err)
	case t == nil:
		c.unknownTransaction()
	default:
		o := opened(c.camel, 1024)
		o.flag("worked", true)
		if t.Kind.Outbound() {
			o.flag("final", !t.Status.InFlight())
		}
		o.item(t)
		answer(c.ctx, fasthttp.StatusOK, o.closed())
	}
}

// unknownTransaction answers 404. The answer is the same for another merchant's transaction
// as for an id that no transaction has.
func (c *call) unknownTransaction() {
	answerErrors(c.ctx, fasthttp.StatusNotFound, "not_found", "transaction not found")
}
