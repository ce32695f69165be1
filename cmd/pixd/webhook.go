package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"pixd/cmd/operator"
	"pixd/httpapi/admin"
)

func webhookCommand() *cobra.Command {
	f := &adminFlags{}
	return group("webhook", "Show webhook subscriptions and deliveries, retry, pause and resume", "  pixd webhook list --status dead", f,
		webhookList.command(f), webhookShow.command(f), webhookRetry(f), webhookSubscriptions.command(f),
		webhookPause.command(f), webhookResume.command(f))
}

var webhookList = listing[admin.Delivery]{
	use:   "list [--account ID] [--webhook ID] [--status STATUS]",
	short: "List the deliveries of webhooks",
	long: "Lists the deliveries of webhooks, of all accounts or some. A delivery is one event for one\n" +
		"subscription: pending until the subscriber has answered 2xx, dead when the engine has given up.\n" +
		"Delivered ones are kept for 7 days.",
	example: "  pixd webhook list --status dead",
	path:    "/admin/webhook-deliveries", show: deliveries,
	filters: []listFilter{
		{"account", "account_id", "only this account's, by its `ID` (acc_…)"},
		{"webhook", "webhook_id", "only this subscription's, by its `ID` (whk_…)"},
		{"status", "status", "only deliveries in this `STATUS`: pending, delivered or dead"},
	},
}

var webhookSubscriptions = listing[admin.Webhook]{
	use:   "subscriptions [--account ID]",
	short: "List webhook subscriptions",
	long: "Lists the webhook subscriptions of all accounts, or of one, with the number of their deliveries that\n" +
		"are pending and dead. A stopped subscription gets no webhooks: its URL answered 410, or its merchant\n" +
		"or an operator stopped it; either may let it go on. A removed one was removed by its merchant.",
	example: "  pixd webhook subscriptions --account acc_7oi7njakvirg4",
	path:    "/admin/webhooks", show: subscriptions,
	filters: []listFilter{{"account", "account_id", "only this account's, by its `ID` (acc_…)"}},
}

var webhookShow = request{
	use:     "show DELIVERY_ID",
	short:   "Show a delivery of a webhook",
	long:    "Shows a delivery of a webhook, with each attempt and what came of it.",
	example: "  pixd webhook show dlv_agoksrikabyabyfvmcpxy5dmne",
	of:      "the delivery, as `pixd webhook list` has it",
	method:  http.MethodGet, path: "/admin/webhook-deliveries/{id}", print: printDelivery,
}

var webhookPause = request{
	use:   "pause ID",
	short: "Stop a webhook subscription",
	long: "Stops a webhook subscription, as its merchant may, and shows it. What waits for it becomes dead; of\n" +
		"events that happen until it goes on it gets no delivery, not later either.",
	example: "  pixd webhook pause whk_agoksrikabyabyfvmcpxy5dmne",
	of:      subscriptionAsked,
	method:  http.MethodPatch, path: "/admin/webhooks/{id}", with: map[string]any{"active": false}, print: printSubscription,
}

var webhookResume = request{
	use:   "resume ID",
	short: "Let a stopped webhook subscription go on",
	long: "Lets a stopped webhook subscription go on, as its merchant may, and shows it. It gets the events\n" +
		"from now on. `pixd webhook retry --webhook ID` sends what became dead when it was stopped.",
	example: "  pixd webhook resume whk_agoksrikabyabyfvmcpxy5dmne",
	of:      subscriptionAsked,
	method:  http.MethodPatch, path: "/admin/webhooks/{id}", with: map[string]any{"active": true}, print: printSubscription,
}

const subscriptionAsked = "the subscription, as `pixd webhook subscriptions` has it"

func webhookRetry(f *adminFlags) *cobra.Command {
	c := request{
		use:   "retry DELIVERY_ID | --webhook ID",
		short: "Retry a delivery, or all dead and held ones of a subscription",
		long: "Puts a delivery of a webhook back, so that the engine tries it again, and shows it; or, with\n" +
			"--webhook, all deliveries of a subscription that are dead, or held since a restore. The webhook has the\n" +
			"same id as before, so that its receiver can tell that it is the same.",
		example: "  pixd webhook retry dlv_agoksrikabyabyfvmcpxy5dmne\n  pixd webhook retry --webhook whk_agoksrikabyabyfvmcpxy5dmne",
		of:      "the delivery, as `pixd webhook list` has it, or a subscription with --webhook",
		method:  http.MethodPost, path: "/admin/webhook-deliveries/{id}/retry", print: printDelivery,
	}.command(f)
	webhook := c.Flags().String("webhook", "", "retry all dead and held deliveries of this subscription, by its `ID` (whk_…)")
	one, retryOne := c.Args, c.RunE
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		given := c.Flags().Changed("webhook")
		switch {
		case given && len(args) > 0:
			return errors.New("name a delivery or --webhook, not both")
		case given:
			return f.retryAll(c, *webhook)
		}
		if err := one(c, args); err != nil {
			return err
		}
		return retryOne(c, args)
	}
	return c
}

func (f *adminFlags) retryAll(c *cobra.Command, webhook string) error {
	id, err := operator.Segment(webhook)
	if err != nil {
		return fmt.Errorf("--webhook: %w", err)
	}
	got, err := f.ask(c, http.MethodPost, "/admin/webhooks/"+id+"/retry", nil)
	if err != nil {
		return err
	}
	return printRetried(c, f, got)
}

// retried is the API's answer to the retrying of a subscription's dead and held deliveries.
type retried struct {
	Webhook string `json:"webhook_id"`
	Retried int
}

var printRetried = printing("something else", func(r *retried) string {
	return facts([]fact{{"subscription", r.Webhook}, {"retried", fmt.Sprint(r.Retried)}})
})
