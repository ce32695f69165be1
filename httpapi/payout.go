package httpapi

import (
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// requestPayout is POST /pix/cash-out.
func requestPayout(c *call) {
	command, refusal := readPayout(c).Parse()
	if refusal != nil {
		c.malformed(refusal, refusePayout)
		return
	}
	_, command.KeyIsOurs = c.Registry.PixKey(command.Key.Value)
	command.OwnISPB = c.ISPB
	command.OrphanAfter = ledger.Millis(c.OrphanAfter / time.Millisecond)
	command.Claim = c.claimed()
	c.do(command, refusePayout)
}

func readPayout(c *call) ledger.PayoutForm {
	var f ledger.PayoutForm
	c.eachField(func(name, value []byte) {
		switch string(name) {
		case "amount":
			f.Centavos = readCentavos(value)
		case "pix_key":
			f.Key = readText(value)
		case "pix_key_type":
			f.KeyType = readText(value)
		case "description":
			f.Description = readText(value)
		case "external_id":
			f.ExternalID = readText(value)
		case "recipient_ispb":
			f.RecipientISPB = readText(value)
		case "end_to_end_id":
			f.EndToEnd = readText(value)
		case "purpose":
			f.Purpose = readText(value)
		case "recipient_document":
			f.RecipientDocument = readText(value)
		}
	})
	return f
}

// renderPayout writes the answer to a payout that was taken: settled where the
// scheme settled it inside the call, else accepted, whatever it may have come to
// since.
func renderPayout(t *ledger.Transaction, camel bool) (int, []byte) {
	status, code, detail := "accepted", fasthttp.StatusAccepted, "Payment accepted, settlement follows"
	settled := t.Status == ledger.StatusSettled
	if settled {
		status, code, detail = "settled", fasthttp.StatusOK, "Payment settled"
	}
	o := opened(camel, 512)
	o.flag("worked", true)
	o.flag("final", settled)
	o.text("transaction_id", t.Public())
	o.text("end_to_end_id", t.EndToEnd)
	o.textOrNull("external_id", t.ExternalID)
	o.number("amount", int64(t.Amount))
	o.number("fee_amount", int64(t.Fee))
	o.number("net_amount", int64(t.Net()))
	o.text("status", status)
	o.text("detail", detail)
	return code, o.closed()
}
