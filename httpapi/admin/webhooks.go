package admin

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// Webhooks puts deliveries of webhooks back in line. Errors: layout.ErrNoDelivery,
// layout.ErrSubscriptionEnded.
type Webhooks interface {
	Retry(t layout.Target, e ledger.Event) error
	RetryAll(t layout.Target) (n int, err error)
}

// Webhook is a subscription, as operators see it.
type Webhook struct {
	ID        string   `json:"id"`
	Account   string   `json:"account_id"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	Active    bool     `json:"active"`
	Removed   bool     `json:"removed"`
	CreatedAt string   `json:"created_at"`
	Pending   uint64   `json:"pending"`
	Dead      uint64   `json:"dead"`
}

// listWebhooks is GET /admin/webhooks?account_id=: it lists webhook subscriptions by account,
// removed ones included.
func (s *service) listWebhooks(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	account, err := s.accountAsked(ctx)
	if err != nil {
		return 0, nil, err
	}
	after, err := readCursor(ctx, func(k []byte) bool { _, _, err := layout.DecodeSubscriptionKey(k); return err == nil })
	if err != nil {
		return 0, nil, err
	}
	return listBehind(func() (layout.Listed[*ledger.Subscription], error) {
		return s.History.AllSubscriptions(account, after, limit)
	}, s.webhookRow)
}

func (s *service) webhookRow(k *ledger.Subscription) (w Webhook, err error) {
	w = Webhook{
		ID: k.ID.String(), Account: k.ID.Account().String(), URL: k.URL, Active: k.Status == ledger.SubscriptionActive,
		Removed: k.Status == ledger.SubscriptionRemoved, CreatedAt: k.CreatedAt.String(),
	}
	for _, kind := range k.Events.Kinds() {
		w.Events = append(w.Events, kind.String())
	}
	w.Pending, w.Dead, err = s.History.Backlog(layout.Target{Account: k.ID.Account(), Number: k.ID.Number()})
	return w, err
}

// webhookAsked returns the subscription with an id; a Problem where there is none.
func (s *service) webhookAsked(name string) (*ledger.Subscription, error) {
	id, ok := pix.ParseSubscriptionID(name)
	if !ok {
		return nil, control.Missing("no webhook %q", name)
	}
	k, err := s.History.Subscription(layout.Target{Account: id.Account(), Number: id.Number()})
	if err == nil && (k == nil || k.ID != id) {
		err = control.Missing("no webhook %q", name)
	}
	return k, err
}

// webhook returns the subscription that the path names.
func (s *service) webhook(ctx *fasthttp.RequestCtx) (*ledger.Subscription, error) {
	return s.webhookAsked(httpapi.PathText(ctx, "id"))
}

// changeWebhook is PATCH /admin/webhooks/:id: it stops a subscription, or lets it go on, as its
// merchant may.
func (s *service) changeWebhook(ctx *fasthttp.RequestCtx, k *ledger.Subscription) (int, any, error) {
	f, active := control.Read(ctx.PostBody(), "active"), false
	f.Need("active")
	f.Flag("active", &active)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	if k.Status == ledger.SubscriptionRemoved {
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "the webhook was removed")
	}
	a, err := s.do(k.ID.Account(), ledger.ChangeSubscription{ID: k.ID, Active: &active})
	if err != nil {
		return 0, nil, err
	}
	row, err := s.webhookRow(a.Subscription)
	return fasthttp.StatusOK, row, err
}

// Attempt is one attempt to deliver an event.
type Attempt struct {
	At       string  `json:"at"`
	Status   *int    `json:"status_code"`
	Err      *string `json:"error"`
	Duration int64   `json:"duration_ms"`
}

// Delivery is a delivery, as operators see it.
type Delivery struct {
	ID        string    `json:"id"`
	Account   string    `json:"account_id"`
	Webhook   string    `json:"webhook_id"`
	Event     string    `json:"event_id"`
	Type      string    `json:"type"`
	Sequence  uint64    `json:"sequence"`
	Status    string    `json:"status"`
	Reason    *string   `json:"reason"` // why it is dead, where not after its last attempt
	CreatedAt string    `json:"created_at"`
	Held      bool      `json:"held"` // no attempt follows until it is retried
	Next      *string   `json:"next_attempt_at"`
	Attempts  []Attempt `json:"attempts"`
}

func deliveryOf(d *ledger.DeliveryItem, webhook pix.SubscriptionID) Delivery {
	row := Delivery{
		ID: layout.DeliveryID{Target: d.Target, Sequence: d.Event.Sequence}.String(), Account: d.Target.Account.String(),
		Webhook: webhook.String(), Event: d.Event.ID.String(), Type: d.Event.Kind.String(), Sequence: d.Event.Sequence,
		Status: d.State.String(), Reason: orNull(d.Status.Why), CreatedAt: d.Status.CreatedAt.String(), Attempts: []Attempt{},
		Held: d.Status.Due == layout.Held, Next: instant(d.Status.NextAttempt()),
	}
	for _, a := range d.Status.Attempts {
		one := Attempt{At: a.At.String(), Err: orNull(a.Err), Duration: int64(a.Took)}
		if a.Status != 0 {
			one.Status = &a.Status
		}
		row.Attempts = append(row.Attempts, one)
	}
	return row
}

// listDeliveries is GET /admin/webhook-deliveries?account_id=&webhook_id=&status=.
func (s *service) listDeliveries(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	account, err := s.accountAsked(ctx)
	if err != nil {
		return 0, nil, err
	}
	q := ctx.QueryArgs()
	var number uint32
	if name := string(q.Peek("webhook_id")); name != "" {
		k, err := s.webhookAsked(name)
		if err != nil {
			return 0, nil, err
		}
		if account != 0 && k.ID.Account() != account {
			return 0, nil, control.Missing("no webhook %q of this account", name)
		}
		account, number = k.ID.Account(), k.ID.Number()
	}
	var state layout.DeliveryState
	if name := string(q.Peek("status")); name != "" {
		var known bool
		if state, known = layout.ParseDeliveryState(name); !known {
			return 0, nil, control.Bad("status must be pending, delivered or dead")
		}
	}
	after, err := readCursor(ctx, func(k []byte) bool { _, is := layout.TargetOf(k); return is })
	if err != nil {
		return 0, nil, err
	}
	ids := map[layout.Target]pix.SubscriptionID{}
	return listBehind(func() (layout.Listed[ledger.DeliveryItem], error) {
		return s.History.AllDeliveries(account, number, state, after, limit)
	}, func(d ledger.DeliveryItem) (Delivery, error) { return s.deliveryRow(&d, ids) })
}

// deliveryRow returns a delivery with the id of its subscription, which it keeps in ids.
func (s *service) deliveryRow(d *ledger.DeliveryItem, ids map[layout.Target]pix.SubscriptionID) (Delivery, error) {
	id, known := ids[d.Target]
	if !known {
		k, err := s.History.Subscription(d.Target)
		if err != nil {
			return Delivery{}, err
		}
		if k != nil {
			id = k.ID
		}
		ids[d.Target] = id
	}
	return deliveryOf(d, id), nil
}

// delivery returns the delivery that the path names.
func (s *service) delivery(ctx *fasthttp.RequestCtx) (*ledger.DeliveryItem, error) {
	name, _ := ctx.UserValue("id").(string)
	text, _ := url.PathUnescape(name)
	id, ok := layout.ParseDeliveryID(text)
	if !ok {
		return nil, control.Missing("no delivery %q", name)
	}
	d, err := s.History.Delivery(id.Target, id.Sequence)
	if err == nil && d == nil {
		err = control.Missing("no delivery %q", name)
	}
	return d, err
}

// showDelivery is GET /admin/webhook-deliveries/:id.
func (s *service) showDelivery(_ *fasthttp.RequestCtx, d *ledger.DeliveryItem) (int, any, error) {
	row, err := s.deliveryRow(d, map[layout.Target]pix.SubscriptionID{})
	return fasthttp.StatusOK, row, err
}

// retryDelivery is POST /admin/webhook-deliveries/:id/retry.
func (s *service) retryDelivery(ctx *fasthttp.RequestCtx, d *ledger.DeliveryItem) (int, any, error) {
	if err := retried(s.Webhooks.Retry(d.Target, d.Event)); err != nil {
		return 0, nil, err
	}
	d, err := s.delivery(ctx) // as it is now
	if err != nil {
		return 0, nil, err
	}
	_, row, err := s.showDelivery(ctx, d)
	return fasthttp.StatusAccepted, row, err
}

// retryWebhook is POST /admin/webhooks/:id/retry: it puts all dead and all held deliveries of a
// subscription back in line.
func (s *service) retryWebhook(ctx *fasthttp.RequestCtx) (int, any, error) {
	k, err := s.webhook(ctx)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.Webhooks.RetryAll(layout.Target{Account: k.ID.Account(), Number: k.ID.Number()})
	if err := retried(err); err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusAccepted, struct {
		Webhook string `json:"webhook_id"`
		Retried int    `json:"retried"`
	}{k.ID.String(), n}, nil
}

// retried makes a Problem of an error that is the operator's.
func retried(err error) error {
	switch {
	case errors.Is(err, layout.ErrNoDelivery):
		return control.Missing("the delivery is gone")
	case errors.Is(err, layout.ErrSubscriptionEnded):
		return control.Refuse(fasthttp.StatusConflict, "%v", layout.ErrSubscriptionEnded)
	case errors.Is(err, ledger.ErrBusy), errors.Is(err, ledger.ErrWaited):
		return errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable, "%v", err), err)
	}
	return err
}
