package httpapi

import (
	"errors"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// secretBytes is the length of the key with which a webhook's events are signed.
const secretBytes = 32

// subscribe is POST /webhooks.
func subscribe(c *call) {
	command, refusal := readSubscription(c).parse()
	if refusal == nil {
		var checked bool
		if refusal, checked = c.checkURL(command.URL); !checked {
			return
		}
	}
	if refusal != nil {
		c.malformed(refusal, refuseOther)
		return
	}
	command.Secret, command.Claim = c.NewSecret(secretBytes), c.claimed()
	c.do(command, refuseOther)
}

func readSubscription(c *call) (f subscriptionForm) {
	c.body.fields(func(name, value []byte) {
		switch string(name) {
		case "url":
			f.URL = readText(value)
		case "events":
			f.Events = readTexts(value)
		}
	})
	return f
}

// readTexts reads a value that should be a list of strings; nil for anything but a list.
func readTexts(value []byte) (all []textField) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return nil
	}
	for _, v := range list {
		all = append(all, readText(v))
	}
	return all
}

// renderSubscribed returns the answer to POST /webhooks, and to a rotation of the secret: then it says
// until when the secret before signs too. No other answer shows the secret.
func renderSubscribed(s *ledger.Subscription, camel bool) (int, []byte) {
	o := opened(camel, 512)
	o.flag("worked", true)
	o.text("id", s.ID.String())
	o.text("url", s.URL)
	o.kinds(s.Events)
	o.flag("active", s.Status == ledger.SubscriptionActive)
	o.text("secret", s.Shown())
	if until := s.FormerUntil(); until != 0 {
		o.text("previous_secret_expires_at", until.String())
	}
	o.text("created_at", s.CreatedAt.String())
	return fasthttp.StatusOK, o.closed()
}

// webhook writes all members of a subscription but the secret.
func (o *object) webhook(s *ledger.Subscription) {
	o.text("id", s.ID.String())
	o.text("url", s.URL)
	o.kinds(s.Events)
	o.flag("active", s.Status == ledger.SubscriptionActive)
	o.text("created_at", s.CreatedAt.String())
}

// kinds writes the member events.
func (o *object) kinds(m pix.EventMask) {
	o.name("events")
	o.b = append(o.b, '[')
	for i, k := range m.Kinds() {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendText(o.b, k.String())
	}
	o.b = append(o.b, ']')
}

// listWebhooks is GET /webhooks.
func listWebhooks(c *call) {
	head := c.head()
	if head == nil {
		return
	}
	all, err := c.History.Subscriptions(c.key.Account, head.SubscriptionNumbers())
	if err != nil {
		c.failed(err)
		return
	}
	o := opened(c.camel, 512)
	o.flag("worked", true)
	o.entries("data", len(all), func(i int) { o.webhook(all[i]) })
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// webhookID returns the id of a subscription in the path; the id zero, which no subscription
// has, where it is of another form.
func (c *call) webhookID() pix.SubscriptionID {
	id, _ := pix.ParseSubscriptionID(PathText(c.ctx, "id"))
	return id
}

// removeWebhook is DELETE /webhooks/:id.
func removeWebhook(c *call) {
	id := c.webhookID()
	if _, done := c.unclaimed(ledger.EndSubscription{ID: id}); !done {
		return
	}
	o := opened(c.camel, 64)
	o.flag("worked", true)
	o.text("id", id.String())
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// unclaimed has the engine carry out a command whose answer is not kept under an idempotency key. Where it
// is not carried out, unclaimed answers and returns false.
func (c *call) unclaimed(command ledger.Command) (a ledger.Answer, done bool) {
	a, err := c.Engine.Do(c.key.Account, command)
	switch {
	case err != nil:
		c.failed(err)
	case a.Refusal != nil:
		c.refuse(a.Refusal)
	default:
		return a, true
	}
	return a, false
}

// refuse answers a request that is no cash-out.
func (c *call) refuse(r *ledger.Refusal) {
	status, body := refuseOther(r, c.camel)
	answer(c.ctx, status, body)
}

// unknownWebhook answers 404. The answer is the same for another merchant's webhook as for an
// id that no webhook has.
func (c *call) unknownWebhook() {
	answerErrors(c.ctx, fasthttp.StatusNotFound, "not_found", "webhook not found")
}

// ownWebhook returns the account's subscription in the path. Where there is none, or it was removed and
// removed is false, it answers and returns false.
func (c *call) ownWebhook(removed bool) (layout.Target, bool) {
	id := c.webhookID()
	t := layout.Target{Account: c.key.Account, Number: id.Number()}
	s, err := c.History.Subscription(t)
	switch {
	case err != nil:
		c.failed(err)
	case s == nil || s.ID != id || s.Status == ledger.SubscriptionRemoved && !removed:
		c.unknownWebhook()
	default:
		return t, true
	}
	return layout.Target{}, false
}

// listDeliveries is GET /webhooks/:id/deliveries: events that the merchant has not
// acknowledged, or with status=delivered those that it has, of a subscription that was removed too.
func listDeliveries(c *call) {
	q := c.query("page", "per_page", "status")
	page, perPage := q.pages()
	state := layout.DeliveryPending
	if text, given := q.values["status"]; given {
		var known bool
		if state, known = layout.ParseDeliveryState(text); !known {
			q.refuse("status", "status must be pending, dead or delivered")
		}
	}
	if q.answered(c) {
		return
	}
	t, ok := c.ownWebhook(true)
	if !ok {
		return
	}
	all, err := c.History.Deliveries(t, state, layout.Page{Number: page, Size: perPage})
	if err != nil {
		c.failed(err)
		return
	}
	c.list(len(all), page, perPage, func(o *object, i int) { o.delivery(&all[i]) })
}

// delivery writes the members of a delivery, as merchants see it.
func (o *object) delivery(d *ledger.DeliveryItem) {
	o.text("event_id", d.Event.ID.String())
	o.text("type", d.Event.Kind.String())
	o.number("sequence", int64(d.Event.Sequence))
	o.text("status", d.State.String())
	o.text("created_at", d.Status.CreatedAt.String())
	o.instant("next_attempt_at", d.Status.NextAttempt())
	o.entries("attempts", len(d.Status.Attempts), func(i int) {
		a := d.Status.Attempts[i]
		o.text("at", a.At.String())
		if a.Status != 0 {
			o.number("status_code", int64(a.Status))
		} else {
			o.null("status_code")
		}
		o.textOrNull("error", a.Err)
		o.number("duration_ms", int64(a.Took))
	})
}

// retryDelivery is POST /webhooks/:id/deliveries/:event_id/retry: it puts a delivery back in
// line. To repeat it does no harm, so that only its answer is kept under an idempotency key.
func retryDelivery(c *call) {
	if _, answered := c.recalled(); answered {
		return
	}
	t, ok := c.ownWebhook(false)
	if !ok {
		return
	}
	id, known := pix.ParseEventID(PathText(c.ctx, "event_id"))
	if !known {
		c.unknownDelivery()
		return
	}
	if !c.retried(t, id) {
		return
	}
	o := opened(c.camel, 128)
	o.flag("worked", true)
	o.text("event_id", id.String())
	o.text("status", layout.DeliveryPending.String())
	kept := ledger.Stored{Code: fasthttp.StatusAccepted, Body: o.closed()}
	claim := c.claimed()
	if claim == nil {
		answer(c.ctx, kept.Code, kept.Body)
		return
	}
	c.do(ledger.KeepAnswer{Claim: claim, Stored: kept}, refuseOther)
}

// retried puts a delivery back in line. Where it cannot, it answers and returns false.
func (c *call) retried(t layout.Target, id pix.EventID) bool {
	err := c.Webhooks.Retry(t, id)
	switch {
	case errors.Is(err, layout.ErrNoDelivery):
		c.unknownDelivery()
	case errors.Is(err, layout.ErrSubscriptionEnded):
		answerErrors(c.ctx, fasthttp.StatusUnprocessableEntity, "unprocessable_entity", layout.ErrSubscriptionEnded.Error())
	case err != nil:
		c.failed(err)
	}
	return err == nil
}

func (c *call) unknownDelivery() {
	answerErrors(c.ctx, fasthttp.StatusNotFound, "not_found", layout.ErrNoDelivery.Error())
}
