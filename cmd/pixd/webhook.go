package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"pixd/cmd/operator"
)

func webhookCommand() *cobra.Command {
	f := &adminFlags{}
	return group("webhook", "Show webhook subscriptions and deliveries, and retry dead deliveries", "  pixd webhook list --status dead", f,
		webhookList(f), webhookShow(f), webhookRetry(f), webhookSubscriptions(f))
}

func webhookList(f *adminFlags) *cobra.Command {
	return listing[delivery]{
		words: "pixd webhook list", path: "/admin/webhook-deliveries", show: deliveries,
		filters: []listFilter{
			{"account", "account_id", "only this account's, by its `ID` (acc_…)"},
			{"webhook", "webhook_id", "only this subscription's, by its `ID` (whk_…)"},
			{"status", "status", "only deliveries in this `STATUS`: pending, delivered or dead"},
		},
	}.command(f, &cobra.Command{
		Use:   "list [--account ID] [--webhook ID] [--status STATUS]",
		Short: "List the deliveries of webhooks",
		Long: "Lists the deliveries of webhooks, of all accounts or some. A delivery is one event for one\n" +
			"subscription: pending until the subscriber has answered 2xx, dead when the engine has given up.\n" +
			"Delivered ones are kept for 7 days." + listHelp + adminHelp,
		Example: "  pixd webhook list --status dead",
	})
}

func webhookSubscriptions(f *adminFlags) *cobra.Command {
	return listing[subscription]{
		words: "pixd webhook subscriptions", path: "/admin/webhooks", show: subscriptions,
		filters: []listFilter{{"account", "account_id", "only this account's, by its `ID` (acc_…)"}},
	}.command(f, &cobra.Command{
		Use:   "subscriptions [--account ID]",
		Short: "List webhook subscriptions",
		Long: "Lists the webhook subscriptions of all accounts, or of one, with the number of their deliveries that\n" +
			"are pending and dead. A stopped subscription gets no more webhooks: its URL answered 410. A removed\n" +
			"one was removed by its merchant." + listHelp + adminHelp,
		Example: "  pixd webhook subscriptions --account acc_7oi7njakvirg4",
	})
}

func webhookShow(f *adminFlags) *cobra.Command {
	return ofOne(&cobra.Command{
		Use:     "show DELIVERY_ID",
		Short:   "Show a delivery of a webhook",
		Long:    "Shows a delivery of a webhook, with each attempt and what came of it." + adminHelp,
		Example: "  pixd webhook show dlv_agoksrikabyabyfvmcpxy5dmne",
	}, "the delivery, as `pixd webhook list` has it", func(c *cobra.Command, id string) error {
		return deliveryAnswer.print(c, f, http.MethodGet, "/admin/webhook-deliveries/"+id, nil)
	})
}

func webhookRetry(f *adminFlags) *cobra.Command {
	var webhook string
	c := &cobra.Command{
		Use:   "retry DELIVERY_ID | --webhook ID",
		Short: "Retry a delivery of a webhook, or all dead ones of a subscription",
		Long: "Puts a delivery of a webhook back, so that the engine tries it again, and shows it; or, with\n" +
			"--webhook, all dead deliveries of a subscription. The webhook has the same id as before, so that its\n" +
			"receiver can tell that it is the same." + adminHelp,
		Example: "  pixd webhook retry dlv_agoksrikabyabyfvmcpxy5dmne\n  pixd webhook retry --webhook whk_agoksrikabyabyfvmcpxy5dmne",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		given := c.Flags().Changed("webhook")
		switch {
		case given && len(args) > 0:
			return errors.New("name a delivery or --webhook, not both")
		case given:
			return f.retryAll(c, webhook)
		case len(args) == 0:
			return errors.New("name the delivery, as `pixd webhook list` has it, or a subscription with --webhook")
		}
		return f.retryOne(c, args)
	}
	c.Flags().StringVar(&webhook, "webhook", "", "retry all dead deliveries of this subscription, by its `ID` (whk_…)")
	return c
}

func (f *adminFlags) retryOne(c *cobra.Command, args []string) error {
	if err := exactly(1, "")(c, args); err != nil {
		return err
	}
	id, err := operator.Segment(args[0])
	if err != nil {
		return err
	}
	return deliveryAnswer.print(c, f, http.MethodPost, "/admin/webhook-deliveries/"+id+"/retry", nil)
}

func (f *adminFlags) retryAll(c *cobra.Command, webhook string) error {
	id, err := operator.Segment(webhook)
	if err != nil {
		return fmt.Errorf("--webhook: %w", err)
	}
	return retriedAnswer.print(c, f, http.MethodPost, "/admin/webhooks/"+id+"/retry", nil)
}

// retried is the API's answer to the retrying of a subscription's dead deliveries.
type retried struct {
	Webhook string `json:"webhook_id"`
	Retried int
}

var retriedAnswer = answer[retried]{"something else", func(r *retried) string {
	return facts([]fact{{"subscription", r.Webhook}, {"retried", fmt.Sprint(r.Retried)}})
}}
