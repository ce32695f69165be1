package httpapi

import (
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// originals are the names of the field that names the payment to refund, in the order of the
// contract: if a body has several of them, the first counts.
var originals = []string{"original_transaction_id", "original_e2e_id", "originalTransactionId", "transaction_id", "end_to_end_id"}

// originalAliases are those of them that have one snake_case form.
var originalAliases = []string{"original_transaction_id", "originalTransactionId"}

// reasons are the names of the field with the return code, in the order of the contract.
var reasons = []string{"reason", "return_code"}

// requestRefund is POST /pix/refund.
func requestRefund(c *call) {
	command, refusal := readRefund(c).parse()
	if refusal != nil {
		c.malformed(refusal, refuseOther)
		return
	}
	command.Claim = c.claimed()
	c.do(command, refuseOther)
}

func readRefund(c *call) refundForm {
	var f refundForm
	original, reason := len(originals), len(reasons)
	c.body.fields(func(name, value []byte) {
		switch string(name) {
		case "amount":
			f.Amount, f.Centavos = true, readCentavos(value)
		case "description":
			f.Description = readText(value)
		case "external_id":
			f.ExternalID = readText(value)
		}
		// With camelCase both spellings of the first name come as that name, the one in
		// snake_case last; it is the one that counts.
		if i := slices.Index(originals, string(name)); i >= 0 && i <= original {
			f.Original, original = readText(value), i
		}
		if i := slices.Index(reasons, string(name)); i >= 0 && i <= reason {
			f.Reason, reason = readText(value), i
		}
	})
	return f
}

// The texts that tell merchants the status of a refund.
const (
	detailRefundAccepted = "Refund accepted, settlement follows"
	detailRefundSettled  = "Refund settled"
)

// renderRefund returns the answer to a refund. It shows the refund as it was when the request
// was answered; a refund that the scheme refused inside the call was accepted too, and failed
// afterwards.
func renderRefund(t *ledger.Transaction, camel bool) (int, []byte) {
	status, code, detail := "accepted", fasthttp.StatusAccepted, detailRefundAccepted
	if t.Status == pix.StatusSettled {
		status, code, detail = "settled", fasthttp.StatusOK, detailRefundSettled
	}
	o := opened(camel, 256)
	o.flag("worked", true)
	o.text("transaction_id", t.Public())
	o.text("end_to_end_id", t.EndToEnd)
	o.textOrNull("external_id", t.ExternalID)
	o.number("amount", int64(t.Amount))
	o.text("status", status)
	o.text("detail", detail)
	return code, o.closed()
}
