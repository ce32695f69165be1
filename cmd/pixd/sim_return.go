package main

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"pixd/actors/scheme/provider"
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
		addIfGiven(c, "amount", body, "amount", amount)
		addIfGiven(c, "reason", body, "reason", reason)
		return returnAnswer.print(c, f, http.MethodPost, "/sim/returns", body)
	})
	f.Add(c)
	c.Flags().Int64Var(&amount, "amount", 0, "`N` base units (default what is left)")
	c.Flags().StringVar(&reason, "reason", "", "the scheme's `CODE` (default MD06, the receiver asked for it)")
	return c
}

// payoutReturn is the API's answer to the return of a payout.
type payoutReturn struct {
	ID string `json:"return_id"`
}

var returnAnswer = answer[payoutReturn]{"something else", func(r *payoutReturn) string {
	return facts([]fact{{"return id", r.ID}})
}}

// infraction is the API's answer to the two commands about infractions.
type infraction struct {
	ID     string `json:"infraction_id"`
	Status string // empty in the answer to a report
}

var infractionAnswer = answer[infraction]{"something else", func(i *infraction) string {
	return facts([]fact{{"infraction id", i.ID}, {"status", cmp.Or(i.Status, leftOut)}})
}}

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
		addIfGiven(c, "amount", body, "amount", amount)
		addIfGiven(c, "situation", body, "situation", situation)
		return infractionAnswer.print(c, f, http.MethodPost, "/sim/infractions", body)
	})
	f.Add(c)
	c.Flags().Int64Var(&amount, "amount", 0, "`N` base units (default the whole payment)")
	c.Flags().StringVar(&situation, "situation", "", "`ONE` of "+strings.Join(provider.Situations, ", ")+" (default "+provider.Situations[0]+")")
	c.AddCommand(ofOne(&cobra.Command{
		Use: "cancel INFRACTION_ID", Short: "Make the payer withdraw a report",
		Long:    "Makes the payer withdraw a report. Once is enough; again is harmless." + simHelp,
		Example: "  pixd sim infraction cancel 019ca945-0a00-7900-8000-000000000000",
	}, "the report to withdraw, by its infraction id", func(c *cobra.Command, id string) error {
		return infractionAnswer.print(c, f, http.MethodPost, "/sim/infractions/"+id+"/cancel", nil)
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
		return capacityAnswer.print(c, f, http.MethodPut, "/sim/capacity", map[string]any{"lookups": c.Flags().Arg(0)})
	})
	f.Add(c)
	return c
}

// capacity is the API's answer to a change of the directory's capacity.
type capacity struct{ Lookups string }

var capacityAnswer = answer[capacity]{"something else", func(a *capacity) string {
	return facts([]fact{{"lookups", a.Lookups}})
}}
