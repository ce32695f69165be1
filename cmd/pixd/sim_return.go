package main

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"pixd/actors/scheme/provider"
)

var simReturn = request{
	use:   "return END_TO_END_ID",
	short: "Make the counterparty return a payout, or part of it",
	long: "Makes the counterparty's bank return a settled payout, in full (what is left of it) or in part, and\n" +
		"shows the return's id. It answers once the engine took it, or after 2 s: the return then goes on.\n" +
		"Amounts are base units (1.00 BRL = 10000).",
	example: "  pixd sim return E9999900420261029120000000000001 --amount 2500",
	of:      "the payout to return, by its end-to-end id", member: "end_to_end_id",
	method: http.MethodPost, path: "/sim/returns", print: printReturn,
	fields: []field{
		{flag: "amount", member: "amount", kind: int64(0), help: "`N` base units (default what is left)"},
		{flag: "reason", member: "reason", kind: "", help: "the scheme's `CODE` (default MD06, the receiver asked for it)"},
	},
}

// payoutReturn is the API's answer to the return of a payout.
type payoutReturn struct {
	ID string `json:"return_id"`
}

var printReturn = printing("something else", func(r *payoutReturn) string { return facts([]fact{{"return id", r.ID}}) })

// infraction is the API's answer to the two commands about infractions.
type infraction struct {
	ID     string `json:"infraction_id"`
	Status string // empty in the answer to a report
}

var printInfraction = printing("something else", func(i *infraction) string {
	return facts([]fact{{"infraction id", i.ID}, {"status", cmp.Or(i.Status, leftOut)}})
})

func simInfractionCommand() *cobra.Command {
	f := simAsked()
	c := request{
		use:   "infraction END_TO_END_ID",
		short: "Make a payer report a payment that an account received",
		long: "Makes a payer report a received payment, by its end-to-end id, which opens a special-return case, and\n" +
			"shows the report's id. Amounts are base units (1.00 BRL = 10000).",
		example: "  pixd sim infraction E9999900320261029120000000000002 --situation SCAM\n" +
			"  pixd sim infraction cancel 019ca945-0a00-7900-8000-000000000000",
		of: "the payment to report, by its end-to-end id", member: "end_to_end_id",
		method: http.MethodPost, path: "/sim/infractions", print: printInfraction,
		fields: []field{
			{flag: "amount", member: "amount", kind: int64(0), help: "`N` base units (default the whole payment)"},
			{flag: "situation", member: "situation", kind: "", help: "`ONE` of " + strings.Join(provider.Situations, ", ") + " (default " + provider.Situations[0] + ")"},
		},
	}.alone(f)
	c.AddCommand(infractionCancel.command(f))
	return c
}

var infractionCancel = request{
	use: "cancel INFRACTION_ID", short: "Make the payer withdraw a report",
	long:    "Makes the payer withdraw a report. Once is enough; again is harmless.",
	example: "  pixd sim infraction cancel 019ca945-0a00-7900-8000-000000000000",
	of:      "the report to withdraw, by its infraction id",
	method:  http.MethodPost, path: "/sim/infractions/{id}/cancel", print: printInfraction,
}

func simCapacityCommand() *cobra.Command {
	words := []string{"available", "client_limited", "bucket_exhausted"}
	c := request{
		use:   "capacity " + strings.Join(words, "|"),
		short: "Say what every directory lookup meets from now on",
		long: "Says what every directory lookup meets from now on: nothing (available), the paying user's limit\n" +
			"(client_limited) or the institution's (bucket_exhausted). It outlives a restart of the simulator.",
		example: "  pixd sim capacity bucket_exhausted",
		of:      "what lookups meet: " + strings.Join(words, ", "), member: "lookups",
		method: http.MethodPut, path: "/sim/capacity", print: printCapacity,
	}.alone(simAsked())
	c.ValidArgs = words
	return c
}

// capacity is the API's answer to a change of the directory's capacity.
type capacity struct{ Lookups string }

var printCapacity = printing("something else", func(a *capacity) string { return facts([]fact{{"lookups", a.Lookups}}) })
