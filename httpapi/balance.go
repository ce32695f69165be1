package httpapi

import (
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// readBalance is GET /balance.
func readBalance(c *call) {
	head := c.head()
	if head == nil {
		return
	}
	t := head.Totals
	o := opened(c.camel, 128)
	o.flag("worked", true)
	o.number("balance", int64(t.Balance))
	o.number("available", int64(t.Available()))
	o.number("pending", int64(t.Held))
	o.text("currency", "BRL")
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// head returns the account's present state. Where it cannot be read, head answers and returns nil.
func (c *call) head() *ledger.Account {
	a, err := c.Engine.Do(c.key.Account, ledger.ReadAccount{})
	if err == nil && a.Head == nil {
		err = ledger.ErrInternal
	}
	if err != nil {
		c.failed(err)
		return nil
	}
	return a.Head
}
