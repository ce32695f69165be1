package ledger

import (
	"fmt"
	"strings"
)

// eventsLine describes the webhook events of a record, and which subscriptions get them.
func eventsLine(r *Record) string {
	s := fmt.Sprintf(" events %v to %d", r.Events, r.Totals.Events)
	for _, p := range r.Waiting() {
		s += fmt.Sprintf(" %d for %d", p.Sequence, p.Number)
	}
	return s
}

// subscribe is a merchant's request for a webhook subscription. as names it.
func (b *bench) subscribe(a args) string {
	f := SubscriptionForm{URL: text1(a, "url")}
	if events, given := a["events"]; given {
		for _, name := range strings.Split(events, ",") {
			f.Events = append(f.Events, Text{Value: name, Given: true, Wrong: name == "wrong"})
		}
	}
	c, r := f.Parse()
	if r != nil {
		return b.refused(r)
	}
	c.Secret, c.Claim = make([]byte, 32), claimFor(a)
	d := b.step(c)
	if d.Subscription != nil {
		b.subscriptions[a["as"]] = d.Subscription.ID
	}
	return b.tell(d)
}
