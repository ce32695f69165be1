package ledger

import (
	"strconv"

	"pixd/actors/pix"
)

// SubscriptionForm is the fields of a request for a webhook subscription before any of them is
// checked.
type SubscriptionForm struct {
	URL    Text
	Events []Text // nil: the field is missing or no list
}

// Parse checks the fields in the documented order (url, events) and makes the command from
// them. It does not look at where the URL leads.
func (f SubscriptionForm) Parse() (Subscribe, *Refusal) {
	c := Subscribe{URL: f.URL.Value}
	if !f.URL.Given || f.URL.Wrong || c.URL == "" {
		return c, RefuseURL("url must be a string")
	}
	if len(f.Events) == 0 {
		return c, refuseField(RefuseWebhook, "events", "events must be a list of at least one kind of event")
	}
	for _, e := range f.Events {
		kind, known := pix.ParseEventKind(e.Value)
		switch {
		case e.Wrong:
			return c, refuseField(RefuseWebhook, "events", "events must be a list of strings")
		case !known:
			return c, refuseField(RefuseWebhook, "events", "unknown kind of event "+strconv.Quote(e.Value))
		}
		c.Events = c.Events.With(kind)
	}
	return c, nil
}

// RefuseURL is the refusal of a webhook's URL; why is for the merchant.
func RefuseURL(why string) *Refusal { return refuseField(RefuseWebhook, "url", why) }
