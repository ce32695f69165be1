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
	var r *ledger.Refusal
	c.Events, r = parseEvents(f.Events)
	return c, r
}

func parseEvents(names []textField) (m pix.EventMask, r *ledger.Refusal) {
	if len(names) == 0 {
		return m, refuseField(ledger.RefuseWebhook, "events", "events must be a list of at least one kind of event")
	}
	for _, e := range names {
		kind, known := pix.ParseEventKind(e.Value)
		switch {
		case e.Wrong:
			return m, refuseField(ledger.RefuseWebhook, "events", "events must be a list of strings")
		case !known:
			return m, refuseField(ledger.RefuseWebhook, "events", "unknown kind of event "+strconv.Quote(e.Value))
		}
		m = m.With(kind)
	}
	return m, nil
}

// changeForm is the fields of a request to change a webhook subscription before any of them is checked.
type changeForm struct {
	URL       textField
	Events    []textField
	HasEvents bool   // the field events is present and not null
	Active    string // the value as it is spelled; empty: the field is missing or null
}

// parse checks the fields in the documented order (url, events, active) and makes the command from those
// that are given. It does not look at where the URL leads.
func (f changeForm) parse(id pix.SubscriptionID) (ledger.ChangeSubscription, *ledger.Refusal) {
	c := ledger.ChangeSubscription{ID: id}
	if f.URL.Given {
		if f.URL.Wrong || f.URL.Value == "" {
			return c, refuseURL("url must be a string")
		}
		c.URL = &f.URL.Value
	}
	if f.HasEvents {
		events, r := parseEvents(f.Events)
		if r != nil {
			return c, r
		}
		c.Events = &events
	}
	switch f.Active {
	case "":
	case "true", "false":
		c.Active = new(f.Active == "true")
	default:
		return c, refuseField(ledger.RefuseWebhook, "active", "active must be true or false")
	}
	return c, nil
}

// refuseURL is the refusal of a webhook's URL; why is for the merchant.
func refuseURL(why string) *ledger.Refusal { return refuseField(ledger.RefuseWebhook, "url", why) }
