package httpapi

import (
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// readBalance is GET /balance.
func readBalance(c *call) {
	a, err := c.Engine.Do(c.key.Account, ledger.ReadAccount{})
	if err != nil {
		c.failed(err)
		return
	}
	if a.Head == nil {
		c.failed(ledger.ErrInternal)
		return
	}
	t := a.Head.Totals
	o := opened(c.camel, 128)
	o.flag("worked", true)
	o.number("balance", int64(t.Balance))
	o.number("available", int64(t.Available()))
	o.number("pending", int64(t.Held))
	o.text("currency", "BRL")
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}
