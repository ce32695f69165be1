package httpapi

import (
	"strconv"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// subscriptionForm is the fields of a request for a webhook subscription before any of them is
// checked.
type subscriptionForm struct {
	URL    textField
	Events []textField // nil: the field is missing or no list
}

// parse checks the fields in the documented order (url, events) and makes the command from
// them. It does not look at where the URL leads.
func (f subscriptionForm) parse() (ledger.Subscribe, *ledger.Refusal) {
	c := ledger.Subscribe{URL: f.URL.Value}
	if !f.URL.Given || f.URL.Wrong || c.URL == "" {
		return c, refuseURL("url must be a string")
	}
	if len(f.Events) == 0 {
		return c, refuseField(ledger.RefuseWebhook, "events", "events must be a list of at least one kind of event")
	}
	for _, e := range f.Events {
		kind, known := pix.ParseEventKind(e.Value)
		switch {
		case e.Wrong:
			return c, refuseField(ledger.RefuseWebhook, "events", "events must be a list of strings")
		case !known:
			return c, refuseField(ledger.RefuseWebhook, "events", "unknown kind of event "+strconv.Quote(e.Value))
		}
		c.Events = c.Events.With(kind)
	}
	return c, nil
}

// refuseURL is the refusal of a webhook's URL; why is for the merchant.
func refuseURL(why string) *ledger.Refusal { return refuseField(ledger.RefuseWebhook, "url", why) }
