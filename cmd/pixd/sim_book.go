package main

import (
	"net/http"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/scheme/provider"
	"pixd/cmd/terminal"
	"pixd/httpapi/sim"
)

func simBookCommand() *cobra.Command {
	f := simAsked()
	c := request{
		use:   "book [END_TO_END_ID|RETURN_ID]",
		short: "Show what has settled at the scheme, or one payment",
		long: "Shows the scheme's own book: what each institution and each account has sent, received and returned,\n" +
			"settled movements alone, in base units (1.00 BRL = 10000). With an end-to-end id it shows what the\n" +
			"scheme knows of that payment, and with a refund's return id (D…) what it knows of that refund.",
		example: "  pixd sim book\n  pixd sim book E9999900420261029120000000000001\n  pixd sim book movements --since 2026-10-29T00:00:00Z",
		of:      "a payment or a refund", method: http.MethodGet, path: "/sim/book/{id}", print: printing("something else", paymentFacts),
	}.command(f)
	showOne, whole := c.RunE, request{method: http.MethodGet, path: "/sim/book", print: printing("something else", bookText)}.command(f).RunE
	c.Args = cobra.MaximumNArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return whole(c, args)
		}
		return showOne(c, args)
	}
	f.Add(c)
	c.AddCommand(simMovements.command(f))
	return c
}

// bookText shows the scheme's book.
func bookText(b *provider.Book) string {
	oldest := "none"
	if b.OldestOpen != "" {
		oldest = moment(b.OldestOpen)
	}
	head := facts([]fact{{"read at", moment(b.At)}, {"oldest notice not acknowledged", oldest}})
	if len(b.Participants) == 0 {
		return head + "\nnothing has settled\n"
	}
	sums := []string{">sent", ">received", ">returned by", ">returned to"}
	return head + "\n" +
		rows(slices.Concat([]string{"participant"}, sums, []string{">messages"}), b.Participants, func(p *provider.Participant) table.Row {
			return table.Row{p.ISPB, p.Sent, p.Received, p.ReturnedBy, p.ReturnedTo, p.Messages}
		}) + "\n" +
		rows(slices.Concat([]string{"account"}, sums), b.Accounts, func(a *provider.Account) table.Row {
			return table.Row{a.AccountID, a.Sent, a.Received, a.ReturnedBy, a.ReturnedTo}
		})
}

func paymentFacts(p *sim.Payment) string {
	status := p.Status
	if p.Reason != nil {
		status += " (" + *p.Reason + ")"
	}
	returned := money(p.ReturnedAmount)
	if p.ReturnID != nil {
		returned = leftOut
	}
	all := []fact{
		{"kind", p.Kind},
		{"transaction id", orElse(p.TransactionID, leftOut, terminal.Plain)},
		{"id", orElse(p.ID, leftOut, terminal.Plain)},
		{"end-to-end id", p.EndToEndID},
		{"return id", orElse(p.ReturnID, leftOut, terminal.Plain)},
		{"return code", orElse(p.ReturnCode, leftOut, terminal.Plain)},
		{"account", p.AccountID},
		{"pix key", orElse(p.PixKey, leftOut, terminal.Plain)},
		{"amount", money(p.Amount)},
		{"status", status},
		{"created", moment(p.CreatedAt)},
		{"final", orElse(p.FinalAt, leftOut, moment)},
		{"returned", returned},
	}
	for _, r := range p.Returns {
		all = append(all, fact{"return", r.ID + " of " + money(r.Amount) + ", " + r.Reason + ", " + moment(r.At)})
	}
	return facts(all)
}

var simMovements = listing[sim.Movement]{
	use:   "movements [--since TIME]",
	short: "List the movements that have settled, the oldest first",
	long: "Lists every settled movement, the oldest first: payouts, customers' payments, returns of payouts and\n" +
		"refunds of customers' payments.",
	example: "  pixd sim book movements --since 2026-10-29T00:00:00Z --limit 20",
	path:    "/sim/book/movements", show: movementTable,
	filters: []listFilter{{"since", "since", "those that settled at or after an ISO 8601 `TIME`"}},
}

func movementTable(all []sim.Movement) string {
	if len(all) == 0 {
		return "no movements\n"
	}
	return rows([]string{"at", "kind", ">amount", "account", "transaction", "end-to-end id", "return id"}, all, func(m *sim.Movement) table.Row {
		return table.Row{
			moment(m.At), m.Kind, m.Amount, m.AccountID, orElse(m.TransactionID, "", terminal.Plain), m.EndToEndID, orElse(m.ReturnID, "", terminal.Plain),
		}
	})
}
