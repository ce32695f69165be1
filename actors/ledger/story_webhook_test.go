package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"pixd/actors/pix"
)

// eventsLine describes the webhook events of a record, and which subscriptions get them.
func eventsLine(r *Record) string {
	s := fmt.Sprintf(" events %v to %d", r.Events, r.Totals.Events)
	for _, p := range r.Waiting() {
		s += fmt.Sprintf(" %d for %d", p.Sequence, p.Number)
	}
	return s
}

// subscriptionLine describes a subscription, with the first byte of each of its secrets where it has had others.
func subscriptionLine(k *Subscription) string {
	s := fmt.Sprintf(": subscription %d %s status %d to %v", k.ID.Number(), k.URL, k.Status, k.Events.Kinds())
	if len(k.Former) == 0 {
		return s
	}
	s += fmt.Sprintf(" secret %c", k.Secret[0])
	for _, f := range k.Former {
		s += fmt.Sprintf(" and %c until %v", f.Secret[0], f.Until)
	}
	return s
}

func testLine(r *Record) string {
	if len(r.Events) == 0 {
		return ""
	}
	return eventsLine(r)
}

// changeWebhook is a merchant's change of a subscription.
func (b *bench) changeWebhook(a args) (c ChangeSubscription) {
	c.ID = b.subscriptions[a["of"]]
	if url, given := a["url"]; given {
		c.URL = &url
	}
	if names, given := a["events"]; given {
		events := b.eventsOf(names)
		c.Events = &events
	}
	if active, given := a["active"]; given {
		c.Active = new(active == "true")
	}
	return c
}

func (b *bench) eventsOf(names string) (m pix.EventMask) {
	for _, name := range strings.Split(names, ",") {
		kind, ok := pix.ParseEventKind(name)
		if !ok {
			b.t.Fatalf("%s is no kind of event", name)
		}
		m = m.With(kind)
	}
	return m
}

// subscribe is a merchant's request for a webhook subscription. as names it.
func (b *bench) subscribe(a args) string {
	c := Subscribe{URL: a["url"], Events: b.eventsOf(a["events"]), Secret: bytes.Repeat([]byte(cmp.Or(a["secret"], "a")), 32), Claim: claimFor(a)}
	d := b.step(c)
	if d.Subscription != nil {
		b.subscriptions[a["as"]] = d.Subscription.ID
	}
	return b.tell(d)
}
