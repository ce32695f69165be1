package httpapi

import "github.com/valyala/fasthttp"

// readTransaction is GET /transactions/:id.
func readTransaction(c *call) { c.lookUp("id", c.History.Transaction) }

// unknownTransaction answers 404. The answer is the same for another merchant's transaction
// as for an id that no transaction has.
func (c *call) unknownTransaction() {
	answerErrors(c.ctx, fasthttp.StatusNotFound, "not_found", "transaction not found")
}
