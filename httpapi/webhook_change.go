package httpapi

import (
	"context"
	"errors"

	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

// changeWebhook is PATCH /webhooks/:id: it changes url, events and active, as far as they are given.
func changeWebhook(c *call) {
	var f changeForm
	c.body.fields(func(name, value []byte) {
		switch string(name) {
		case "url":
			f.URL = readText(value)
		case "events":
			f.Events, f.HasEvents = readTexts(value), true
		case "active":
			f.Active = string(value)
		}
	})
	command, refusal := f.parse(c.webhookID())
	if refusal == nil && command.URL != nil {
		var checked bool
		if refusal, checked = c.checkURL(*command.URL); !checked {
			return
		}
	}
	if refusal != nil {
		c.refuse(refusal)
		return
	}
	if a, done := c.unclaimed(command); done {
		o := opened(c.camel, 512)
		o.flag("worked", true)
		o.webhook(a.Subscription)
		answer(c.ctx, fasthttp.StatusOK, o.closed())
	}
}

// checkURL returns the refusal of a URL that may not be called, or nil. Where that cannot be found out for
// now, it answers and returns false.
func (c *call) checkURL(url string) (r *ledger.Refusal, checked bool) {
	err := c.Webhooks.Check(context.Background(), c.key.Account, url)
	switch {
	case errors.Is(err, ledger.ErrBusy):
		c.failed(err)
		return nil, false
	case err != nil:
		return refuseURL(err.Error()), true
	}
	return nil, true
}

// testWebhook is POST /webhooks/:id/test: the subscription gets an event pix.test.
func testWebhook(c *call) {
	c.do(ledger.TestSubscription{ID: c.webhookID(), Claim: c.claimed()}, refuseOther)
}

// renderTested returns the answer to POST /webhooks/:id/test.
func renderTested(e *ledger.Event, camel bool) (int, []byte) {
	o := opened(camel, 128)
	o.flag("worked", true)
	o.text("event_id", e.ID.String())
	o.text("type", e.Kind.String())
	o.text("status", layout.DeliveryPending.String())
	return fasthttp.StatusAccepted, o.closed()
}

// rotateSecret is POST /webhooks/:id/rotate-secret.
func rotateSecret(c *call) {
	c.do(ledger.RotateSecret{ID: c.webhookID(), Secret: c.NewSecret(secretBytes), Claim: c.claimed()}, refuseOther)
}
