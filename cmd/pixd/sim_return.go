package main

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"pixd/actors/scheme/provider"
	"pixd/cmd/terminal"
)

func simReturnCommand() *cobra.Command {
	f := simAsked()
	var amount int64
	var reason string
	c := &cobra.Command{
		Use:   "return END_TO_END_ID",
		Short: "Make the counterparty return a payout, or part of it",
		Long: "Makes the counterparty's bank return a settled payout, in full (what is left of it) or in part, and\n" +
			"shows the return's id. It answers once the engine took it, or after 2 s: the return then goes on.\n" +
			"Amounts are base units (1.00 BRL = 10000)." + simHelp,
		Example: "  pixd sim return E9999900420261029120000000000001 --amount 2500",
	}
	ofOne(c, "the payout to return, by its end-to-end id", func(c *cobra.Command, _ string) error {
		body := map[string]any{"end_to_end_id": c.Flags().Arg(0)}
		if c.Flags().Changed("amount") {
			body["amount"] = amount
		}
		if c.Flags().Changed("reason") {
			body["reason"] = reason
		}
		var got struct {
			ID string `json:"return_id"`
		}
		return f.reported(c, http.MethodPost, "/sim/returns", body, &got, func() string {
			return facts([]fact{{"return id", terminal.Plain(got.ID)}})
		})
	})
	f.Add(c)
	c.Flags().Int64Var(&amount, "amount", 0, "`N` base units (default what is left)")
	c.Flags().StringVar(&reason, "reason", "", "the scheme's `CODE` (default MD06, the receiver asked for it)")
	return c
}

// infractionAnswer is the API's answer to the two commands about infractions.
type infractionAnswer struct {
	ID     string `json:"infraction_id"`
	Status string
}

func (a *infractionAnswer) show() string {
	all := []fact{{"infraction id", terminal.Plain(a.ID)}}
	if a.Status != "" {
		all = append(all, fact{"status", terminal.Plain(a.Status)})
	}
	return facts(all)
}

func simInfractionCommand() *cobra.Command {
	f := simAsked()
	var amount int64
	var situation string
	c := &cobra.Command{
		Use:   "infraction END_TO_END_ID",
		Short: "Make a payer report a payment that an account received",
		Long: "Makes a payer report a received payment, by its end-to-end id, which opens a special-return case, and\n" +
			"shows the report's id. Amounts are base units (1.00 BRL = 10000)." + simHelp,
		Example: "  pixd sim infraction E9999900320261029120000000000002 --situation SCAM\n" +
			"  pixd sim infraction cancel 019ca945-0a00-7900-8000-000000000000",
	}
	ofOne(c, "the payment to report, by its end-to-end id", func(c *cobra.Command, _ string) error {
		body := map[string]any{"end_to_end_id": c.Flags().Arg(0)}
		if c.Flags().Changed("amount") {
			body["amount"] = amount
		}
		if c.Flags().Changed("situation") {
			body["situation"] = situation
		}
		var got infractionAnswer
		return f.reported(c, http.MethodPost, "/sim/infractions", body, &got, got.show)
	})
	f.Add(c)
	c.Flags().Int64Var(&amount, "amount", 0, "`N` base units (default the whole payment)")
	c.Flags().StringVar(&situation, "situation", "", "`ONE` of "+strings.Join(provider.Situations, ", ")+" (default "+provider.Situations[0]+")")
	c.AddCommand(ofOne(&cobra.Command{
		Use: "cancel INFRACTION_ID", Short: "Make the payer withdraw a report",
		Long:    "Makes the payer withdraw a report. Once is enough; again is harmless." + simHelp,
		Example: "  pixd sim infraction cancel 019ca945-0a00-7900-8000-000000000000",
	}, "the report to withdraw, by its infraction id", func(c *cobra.Command, id string) error {
		var got infractionAnswer
		return f.reported(c, http.MethodPost, "/sim/infractions/"+id+"/cancel", nil, &got, got.show)
	}))
	return c
}

func simCapacityCommand() *cobra.Command {
	f := simAsked()
	words := []string{"available", "client_limited", "bucket_exhausted"}
	c := &cobra.Command{
		Use:   "capacity " + strings.Join(words, "|"),
		Short: "Say what every directory lookup meets from now on",
		Long: "Says what every directory lookup meets from now on: nothing (available), the paying user's limit\n" +
			"(client_limited) or the institution's (bucket_exhausted). It outlives a restart of the simulator." + simHelp,
		Example:   "  pixd sim capacity bucket_exhausted",
		ValidArgs: words,
	}
	ofOne(c, "what lookups meet: "+strings.Join(words, ", "), func(c *cobra.Command, _ string) error {
		var got struct{ Lookups string }
		return f.reported(c, http.MethodPut, "/sim/capacity", map[string]any{"lookups": c.Flags().Arg(0)}, &got, func() string {
			return facts([]fact{{"lookups", terminal.Plain(got.Lookups)}})
		})
	})
	f.Add(c)
	return c
}
