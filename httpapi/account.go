package httpapi

import (
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// readAccount is GET /account: the account's holder and terms, the institution's ISPB, and what the
// API key of the request may do.
func readAccount(c *call) {
	head := c.head()
	if head == nil {
		return
	}
	s := &head.Settings
	o := opened(c.camel, 512)
	o.flag("worked", true)
	o.text("account_id", c.key.Account.String())
	o.text("name", s.Name)
	o.text("document", s.Document)
	o.flag("active", true) // check 4 has refused the keys of any other account
	o.text("state", "active")
	o.text("ispb", c.ISPB)
	o.inner("fees")
	o.fee("cash_in", s.CashInFee)
	o.fee("cash_out", s.CashOutFee)
	o.end()
	if s.CashOutCeiling == 0 {
		o.null("cash_out_ceiling")
	} else {
		o.number("cash_out_ceiling", int64(s.CashOutCeiling))
	}
	if s.ApprovalThreshold == nil {
		o.null("approval_threshold")
	} else {
		o.number("approval_threshold", int64(*s.ApprovalThreshold))
	}
	o.text("repeat_window", s.RepeatWindow.Duration())
	o.texts("permissions", c.key.Permissions.Names())
	o.text("time", c.Now().String())
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// fee writes a fee: its fixed part in base units, and basis points of the amount.
func (o *object) fee(name string, f ledger.Fee) {
	o.inner(name)
	o.number("fixed", int64(f.Fixed))
	o.number("bps", f.BPS)
	o.end()
}
