package httpapi

import (
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// requestPayout is POST /pix/cash-out.
func requestPayout(c *call) {
	command, refusal := readPayout(c).parse()
	if refusal != nil {
		c.malformed(refusal, refusePayout)
		return
	}
	command.Claim = c.claimed()
	if command.EndToEnd != "" && !(c.wouldPay(command) && c.reserveEndToEnd(command.EndToEnd)) {
		return
	}
	c.do(command, refusePayout)
}

// wouldPay has the account decide about a payout, of which nothing is held: one that it refuses reserves no end-to-end id.
// Otherwise requests without money would take any number of ids from others for ever. Of several at once that have money
// for one, each may reserve its id. It returns false if it has already answered the request.
func (c *call) wouldPay(p ledger.RequestPayout) bool {
	p.Trial = true
	a, err := c.Engine.Do(c.key.Account, p)
	if err == nil && a == (ledger.Answer{}) {
		return true
	}
	c.answered(&a, err, refusePayout)
	return false
}

// reserveEndToEnd reserves the end-to-end id that the merchant chose for its account, before
// any money is held under the id. It returns false if it has already answered the request.
func (c *call) reserveEndToEnd(id string) bool {
	ours, err := c.Registry.ReserveEndToEnd(c.key.Account, id)
	switch {
	case err != nil:
		c.failed(err)
		return false
	case !ours:
		c.malformed(refuseField(ledger.RefuseEndToEnd, "end_to_end_id", "end_to_end_id is used already"), refusePayout)
		return false
	}
	return true
}

func readPayout(c *call) payoutForm {
	var f payoutForm
	c.body.fields(func(name, value []byte) {
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

// Queueing has the two times, set by the operator, that the answer to a queued payout
// contains.
type Queueing struct {
	Retry time.Duration // time between two tries to send a queued payout
	TTL   time.Duration // time from a payout's entry into the queue until it fails for want of directory capacity
}

// The texts that tell merchants the status of a payout.
const (
	detailAccepted = "Payment accepted, settlement follows"
	detailSettled  = "Payment settled"
	detailQueued   = "Payment is rate-limited by the directory and enqueued for automatic retry"
	detailPending  = "Payment awaits approval by the institution"
)

// renderPayout returns the answer to a payout that the account has accepted. It shows the
// payout as it was when the request was answered, even if its status has changed since. The
// status is settled only if the scheme settled the payout before the answer.
func renderPayout(t *ledger.Transaction, q Queueing, camel bool) (int, []byte) {
	status, code, detail := "accepted", fasthttp.StatusAccepted, detailAccepted
	switch t.Status {
	case pix.StatusSettled:
		status, code, detail = "settled", fasthttp.StatusOK, detailSettled
	case pix.StatusQueued:
		status, detail = "queued", detailQueued
	case pix.StatusPending:
		status, detail = "pending_approval", detailPending
	}
	o := opened(camel, 512)
	o.flag("worked", true)
	o.flag("final", t.Status == pix.StatusSettled)
	o.text("transaction_id", t.Public())
	o.text("end_to_end_id", t.EndToEnd)
	o.textOrNull("external_id", t.ExternalID)
	o.number("amount", int64(t.Amount))
	o.number("fee_amount", int64(t.Fee))
	o.number("net_amount", int64(t.Net()))
	o.text("status", status)
	if t.Status == pix.StatusQueued {
		o.text("type", "pix")
		o.text("outbound_request_id", t.ID.String())
		o.text("message", detail)
		o.number("estimated_retry_seconds", seconds(q.Retry))
		o.number("queue_ttl_seconds", seconds(q.TTL))
	} else {
		o.text("detail", detail)
	}
	return code, o.closed()
}

// seconds returns a duration in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
