package ledger

import (
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

// subscribe is a merchant's request for a webhook subscription. as names it.
func (b *bench) subscribe(a args) string {
	c := Subscribe{URL: a["url"], Secret: make([]byte, 32), Claim: claimFor(a)}
	for _, name := range strings.Split(a["events"], ",") {
		kind, ok := pix.ParseEventKind(name)
		if !ok {
			b.t.Fatalf("%s is no kind of event", name)
		}
		c.Events = c.Events.With(kind)
	}
	d := b.step(c)
	if d.Subscription != nil {
		b.subscriptions[a["as"]] = d.Subscription.ID
	}
	return b.tell(d)
}
