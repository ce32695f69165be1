package console

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/admin"
)

// delivery is a delivery of the operator API.
type delivery struct{ admin.Delivery }

// Retryable reports whether the delivery can be put back in line.
func (d *delivery) Retryable() bool { return d.Status == "dead" || d.Held }

// webhooks lists the subscriptions.
func webhooks(v *visit) error {
	var l list[admin.Webhook]
	q := url.Values{"limit": {"100"}, "cursor": {v.arg("cursor")}}
	if a := v.Arg("account_id"); a != "" {
		q.Set("account_id", a)
	}
	err := v.get("/admin/webhooks?"+q.Encode(), &l)
	v.Data = l
	return err
}

// deliveries lists deliveries: those that are dead, where nothing else is asked for.
func deliveries(v *visit) error {
	var l list[delivery]
	q := url.Values{"limit": {"50"}, "cursor": {v.arg("cursor")}}
	status := "dead"
	if v.ctx.QueryArgs().Has("status") {
		status = v.Arg("status")
	}
	for name, text := range map[string]string{"status": status, "webhook_id": v.Arg("webhook_id"), "account_id": v.Arg("account_id")} {
		if text != "" {
			q.Set(name, text)
		}
	}
	err := v.get("/admin/webhook-deliveries?"+q.Encode(), &l)
	v.Data = map[string]any{"List": l, "Status": status, "All": []string{"dead", "pending", "delivered"}}
	return err
}

// retryDelivery puts a delivery back in line, and retryWebhook all of a subscription's that are dead or held.
func retryDelivery(v *visit) outcome {
	return v.did(v.post("/admin/webhook-deliveries/"+url.PathEscape(v.field("delivery"))+"/retry", nil, nil), "delivery_retried")
}

func retryWebhook(v *visit) outcome {
	var n struct {
		Retried int `json:"retried"`
	}
	err := v.post("/admin/webhooks/"+url.PathEscape(v.field("webhook"))+"/retry", nil, &n)
	return v.did(err, "webhook_retried", n.Retried)
}

// pauseWebhook pauses a subscription, or lets it go on.
func pauseWebhook(v *visit) outcome {
	active := v.field("active") == "yes"
	word := map[bool]string{true: "webhook_on", false: "webhook_paused"}[active]
	err := v.call(fasthttp.MethodPatch, "/admin/webhooks/"+url.PathEscape(v.field("webhook")), map[string]bool{"active": active}, nil)
	return v.did(err, word)
}
