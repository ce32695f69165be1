package simulation

import (
	"encoding/json"
	"net/http"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/httpapi"
)

// hookTimeout is how long an attempt lasts at most, in ms.
const hookTimeout = pix.Millis(15_000)

// arrives checks an event that leaves the engine, and draws the receiver's answer.
func (l *life) arrives(a *attempt, d *hookDelivery, r *ledger.Record) {
	t := &a.task
	event := r.Event(int(t.Event))
	l.say("event %d (%v) goes to subscription %v, try %d", event.Sequence, event.Kind, t.Target, t.Tries)
	s := l.hooks.made[t.Target]
	if s == nil { // its making is durable, and not confirmed to the merchant
		s = &subscriber{Subscription: *t.Subscription}
	}
	if !l.durable(t.Account, t.Record) {
		l.fail("event %d for subscription %v leaves before record %d is durable", t.Sequence, t.Target, t.Record)
	}
	if event.Sequence != t.Sequence || !s.Events.Has(event.Kind) && event.Kind != pix.EventTest || t.Subscription.URL != s.URL || string(t.Subscription.Secret) != string(s.Secret) {
		l.fail("event %+v goes to subscription %+v as %d", event, *t.Subscription, t.Sequence)
	}
	name := eventName{t.Account, t.Sequence}
	if first, seen := l.hooks.ids[event.ID]; seen && first != name || d.id != (pix.EventID{}) && d.id != event.ID {
		l.fail("event %d of %v has the id %v, as another event or not as before", t.Sequence, t.Account, event.ID)
	}
	l.hooks.ids[event.ID], d.id, d.kind = name, event.ID, event.Kind
	if l.odds(8) {
		l.bodyOf(event)
	}
	l.receives(a, s)
	d.acked = d.acked || a.answer.Status/100 == 2
}

// bodyOf checks that the body of an event says what its record says.
func (l *life) bodyOf(e ledger.Event) {
	var body struct {
		ID       string
		Type     string
		Account  string `json:"account_id"`
		Sequence uint64
	}
	err := json.Unmarshal(httpapi.Event(e, nil), &body)
	if err != nil || body.ID != e.ID.String() || body.Type != e.Kind.String() || body.Account != e.Record.Account.String() || body.Sequence != e.Sequence {
		l.fail("event %d of %v is told as %+v: %v", e.Sequence, e.Record.Account, body, err)
	}
}

// receives draws what a receiver answers, and when.
func (l *life) receives(a *attempt, s *subscriber) {
	a.answer.Status = http.StatusNoContent
	if l.healed != 0 || !l.living {
		return
	}
	a.until += pix.Millis(l.rng.IntN(1_500) * l.rng.IntN(2))
	if l.odds(150) {
		a.answer.Status = http.StatusGone
		return
	}
	if !l.odds(s.temper) {
		return
	}
	switch l.rng.IntN(6) {
	case 0:
		l.count("webhook: no answer in time")
		a.until, a.answer = l.clock+hookTimeout, webhook.Answer{Err: "timeout"}
	case 1:
		l.count("webhook: a late answer")
		a.until = l.clock + hookTimeout - 1
	case 2:
		a.answer = webhook.Answer{Err: "connection refused"}
	case 3:
		a.answer = webhook.Answer{Status: http.StatusTooManyRequests, RetryAfter: time.Duration(l.rng.IntN(20)) * time.Second}
	default:
		a.answer.Status = [...]int{301, 404, 500, 503}[l.rng.IntN(4)]
	}
}
