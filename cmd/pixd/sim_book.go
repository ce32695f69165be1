package main

import (
	"net/http"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func simBookCommand() *cobra.Command {
	f := simAsked()
	c := request{
		use:   "book [END_TO_END_ID|RETURN_ID]",
		short: "Show what has settled at the scheme, or what it knows of one payment",
		long: "Shows the scheme's own book: what each institution and each account has sent, received and returned,\n" +
			"settled movements alone, in base units (1.00 BRL = 10000). With an end-to-end id it shows what the\n" +
			"scheme knows of that payment, and with a refund's return id (D…) what it knows of that refund.",
		example: "  pixd sim book\n  pixd sim book E9999900420261029120000000000001\n  pixd sim book movements --since 2026-10-29T00:00:00Z",
		of:      "a payment or a refund", method: http.MethodGet, path: "/sim/book/{id}", print: printing("something else", (*simPayment).show),
	}.command(f)
	showOne, whole := c.RunE, request{method: http.MethodGet, path: "/sim/book", print: printing("something else", (*simBook).show)}.command(f).RunE
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

// simSums are the sums of the settled movements of an institution or an account.
type simSums struct {
	Sent, Received pix.Amount
	ReturnedBy     pix.Amount `json:"returned_by"`
	ReturnedTo     pix.Amount `json:"returned_to"`
}

func (s *simSums) row(who string, more ...any) table.Row {
	return append(table.Row{who, s.Sent, s.Received, s.ReturnedBy, s.ReturnedTo}, more...)
}

type simParticipant struct {
	ISPB string
	simSums
	Messages uint64
}

type simAccount struct {
	ID string `json:"account_id"`
	simSums
}

type simBook struct {
	At           string
	OldestOpen   *string `json:"oldest_open"`
	Participants []simParticipant
	Accounts     []simAccount
}

func (b *simBook) show() string {
	head := facts([]fact{{"read at", moment(b.At)}, {"oldest notice not acknowledged", orElse(b.OldestOpen, "none", moment)}})
	if len(b.Participants) == 0 {
		return head + "\nnothing has settled\n"
	}
	return head + "\n" +
		rows([]string{"participant", ">sent", ">received", ">returned by", ">returned to", ">messages"}, b.Participants,
			func(p *simParticipant) table.Row { return p.row(p.ISPB, p.Messages) }) + "\n" +
		rows([]string{"account", ">sent", ">received", ">returned by", ">returned to"}, b.Accounts,
			func(a *simAccount) table.Row { return a.row(a.ID) })
}

type simPayment struct {
	Kind           string
	ID             *string
	TransactionID  *string `json:"transaction_id"`
	EndToEndID     string  `json:"end_to_end_id"`
	ReturnID       *string `json:"return_id"`
	AccountID      string  `json:"account_id"`
	PixKey         *string `json:"pix_key"`
	Amount         pix.Amount
	Status         string
	Reason         *string
	ReturnCode     *string    `json:"return_code"`
	CreatedAt      string     `json:"created_at"`
	FinalAt        *string    `json:"final_at"`
	ReturnedAmount pix.Amount `json:"returned_amount"`
	Returns        []struct {
		ID     string `json:"return_id"`
		Amount pix.Amount
		Reason string
		At     string
	}
}

func (p *simPayment) show() string {
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

type simMovement struct {
	At            string
	Kind          string
	TransactionID *string `json:"transaction_id"`
	EndToEndID    string  `json:"end_to_end_id"`
	ReturnID      *string `json:"return_id"`
	AccountID     string  `json:"account_id"`
	Amount        pix.Amount
}

var simMovements = listing[simMovement]{
	use:   "movements [--since TIME]",
	short: "List the movements that have settled, the oldest first",
	long: "Lists every settled movement, the oldest first: payouts, customers' payments, returns of payouts and\n" +
		"refunds of customers' payments.",
	example: "  pixd sim book movements --since 2026-10-29T00:00:00Z --limit 20",
	path:    "/sim/book/movements", show: movementTable,
	filters: []listFilter{{"since", "since", "those that settled at or after an ISO 8601 `TIME`"}},
}

func movementTable(all []simMovement) string {
	if len(all) == 0 {
		return "no movements\n"
	}
	return rows([]string{"at", "kind", ">amount", "account", "transaction", "end-to-end id", "return id"}, all, func(m *simMovement) table.Row {
		return table.Row{
			moment(m.At), m.Kind, m.Amount, m.AccountID, orElse(m.TransactionID, "", terminal.Plain), m.EndToEndID, orElse(m.ReturnID, "", terminal.Plain),
		}
	})
}
