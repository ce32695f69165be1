package engine

import (
	"errors"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/cmd/machine"
	"pixd/httpapi"
	"pixd/wal"
)

// webhookRows reads the rows of deliveries, and subscriptions, from the store.
type webhookRows struct{ *wal.Store }

// Subscription implements webhook.Rows.
func (r webhookRows) Subscription(t layout.Target) (*ledger.Subscription, error) {
	return history.Subscription(r.Store, t)
}

// subscriptions checks merchants' URLs and puts deliveries back in line.
type subscriptions struct {
	*webhook.Targets
	e *Engine
}

// Retry implements httpapi.Webhooks.
func (s subscriptions) Retry(t layout.Target, event pix.EventID) error {
	d, err := s.e.History.Delivery(t, event.Sequence())
	switch {
	case err != nil:
		return err
	case d == nil || d.Event.ID != event:
		return layout.ErrNoDelivery
	}
	return s.e.webhooks.Retry(t, d.Event)
}

// newWebhooks makes the dispatcher of the merchants' webhooks.
func (e *Engine) newWebhooks() error {
	c := &e.Config
	banks, err := c.banks()
	if err != nil {
		return err
	}
	e.targets = webhook.NewTargets(c.WebhookInsecure, nil)
	e.sender = webhook.NewSender(e.targets, c.WebhookTimeout)
	read, post := rows{e.Store}, e.sender.Post
	if c.post != nil {
		post = c.post
	}
	e.webhooks = webhook.NewDispatcher(webhook.Options{
		Rows: webhookRows{e.Store}, Journal: e.Store, Record: read.Record,
		Render: func(v ledger.Event) []byte { return httpapi.Event(v, banks) },
		Busy:   e.load.Busy,
		Post:   post, End: e.endSubscription, Alerts: c.alerts, Schedule: c.WebhookRetries,
		Now: e.Clock.Read, Entropy: e.entropy.Draw, Log: c.Log,
	})
	e.load.Keys = func() uint64 { keys, _ := e.Store.Written(); return keys }
	e.load.Delivered, e.load.CPU = e.webhooks.Written, machine.CPUTime
	return nil
}

// endSubscription stops a subscription whose receiver wants no more events.
func (e *Engine) endSubscription(id pix.AccountID, c ledger.EndSubscription) error {
	a, err := e.Accounts.Do(id, c)
	if err == nil && a.Refusal != nil {
		err = errors.New(a.Refusal.Message)
	}
	return err
}
