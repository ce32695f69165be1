package main

import (
	"net/http"
	"net/url"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

func simBookCommand() *cobra.Command {
	f := simAsked()
	c := &cobra.Command{
		Use:   "book [END_TO_END_ID|RETURN_ID]",
		Short: "Show what has settled at the scheme, or what it knows of one payment",
		Long: "Shows the scheme's own book: what each institution and each account has sent, received and returned,\n" +
			"settled movements alone, in base units (1.00 BRL = 10000). With an end-to-end id it shows what the\n" +
			"scheme knows of that payment, and with a refund's return id (D…) what it knows of that refund." + simHelp,
		Example: "  pixd sim book\n  pixd sim book E9999900420261029120000000000001\n  pixd sim book movements --since 2026-10-29T00:00:00Z",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				var b simBook
				return f.reported(c, http.MethodGet, "/sim/book", nil, &b, func() string { return b.show() })
			}
			id, err := operator.Segment(args[0])
			if err != nil {
				return err
			}
			var p simPayment
			return f.reported(c, http.MethodGet, "/sim/book/"+id, nil, &p, func() string { return p.show() })
		},
	}
	f.Add(c)
	c.AddCommand(simMovementsCommand(f))
	return c
}

// simSums are the sums of the settled movements of an institution or an account.
type simSums struct {
	Sent, Received pix.Amount
	ReturnedBy     pix.Amount `json:"returned_by"`
	ReturnedTo     pix.Amount `json:"returned_to"`
}

func (s *simSums) row(who string, more ...any) table.Row {
	return append(table.Row{terminal.Plain(who), s.Sent, s.Received, s.ReturnedBy, s.ReturnedTo}, more...)
}

type simBook struct {
	At           string
	OldestOpen   *string `json:"oldest_open"`
	Participants []struct {
		ISPB string
		simSums
		Messages uint64
	}
	Accounts []struct {
		ID string `json:"account_id"`
		simSums
	}
}

func (b *simBook) show() string {
	sums := []string{"SENT", "RECEIVED", "RETURNED BY", "RETURNED TO", "MESSAGES"}
	participants, accounts := terminal.NewTable(), terminal.NewTable()
	participants.AppendHeader(table.Row{"PARTICIPANT", sums[0], sums[1], sums[2], sums[3], sums[4]})
	accounts.AppendHeader(table.Row{"ACCOUNT", sums[0], sums[1], sums[2], sums[3]})
	terminal.RightAligned(participants, sums...)
	terminal.RightAligned(accounts, sums[:4]...)
	for _, p := range b.Participants {
		participants.AppendRow(p.row(p.ISPB, p.Messages))
	}
	for _, a := range b.Accounts {
		accounts.AppendRow(a.row(a.ID))
	}
	open := "none"
	if b.OldestOpen != nil {
		open = moment(*b.OldestOpen)
	}
	head := facts([]fact{{"read at", moment(b.At)}, {"oldest notice not acknowledged", open}})
	if len(b.Participants) == 0 {
		return head + "\nnothing has settled\n"
	}
	return head + "\n" + participants.Render() + "\n\n" + accounts.Render() + "\n"
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
	all := []fact{{"kind", terminal.Plain(p.Kind)}}
	given := func(name string, text *string) {
		if text != nil {
			all = append(all, fact{name, terminal.Plain(*text)})
		}
	}
	given("transaction id", p.TransactionID)
	given("id", p.ID)
	status := terminal.Plain(p.Status)
	if p.Reason != nil {
		status += " (" + terminal.Plain(*p.Reason) + ")"
	}
	all = append(all, fact{"end-to-end id", terminal.Plain(p.EndToEndID)})
	given("return id", p.ReturnID)
	given("return code", p.ReturnCode)
	all = append(all, fact{"account", terminal.Plain(p.AccountID)})
	given("pix key", p.PixKey)
	all = append(all, fact{"amount", money(p.Amount)}, fact{"status", status}, fact{"created", moment(p.CreatedAt)})
	if p.FinalAt != nil {
		all = append(all, fact{"final", moment(*p.FinalAt)})
	}
	if p.ReturnID == nil {
		all = append(all, fact{"returned", money(p.ReturnedAmount)})
	}
	for _, r := range p.Returns {
		all = append(all, fact{"return", terminal.Plain(r.ID) + " of " + money(r.Amount) + ", " + terminal.Plain(r.Reason) + ", " + moment(r.At)})
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

func simMovementsCommand(f *adminFlags) *cobra.Command {
	var p listFlags
	var since string
	c := &cobra.Command{
		Use:   "movements [--since TIME]",
		Short: "List the movements that have settled, the oldest first",
		Long: "Lists every settled movement, the oldest first: payouts, customers' payments, returns of payouts and\n" +
			"refunds of customers' payments." + listHelp +
			simHelp,
		Example: "  pixd sim book movements --since 2026-10-29T00:00:00Z --limit 20",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			path, again := "/sim/book/movements", "pixd sim book movements"
			if since != "" {
				path += "?" + url.Values{"since": {since}}.Encode()
				again += " --since " + terminal.Plain(since)
			}
			return showList(c, f, &p, path, again, movementTable)
		},
	}
	p.add(c)
	c.Flags().StringVar(&since, "since", "", "those that settled at or after an ISO 8601 `TIME`")
	return c
}

func movementTable(all []simMovement) string {
	if len(all) == 0 {
		return "no movements\n"
	}
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"AT", "KIND", "AMOUNT", "ACCOUNT", "TRANSACTION", "END-TO-END ID", "RETURN ID"})
	terminal.RightAligned(t, "AMOUNT")
	for _, m := range all {
		t.AppendRow(table.Row{
			moment(m.At), terminal.Plain(m.Kind), m.Amount, terminal.Plain(m.AccountID), named(m.TransactionID), terminal.Plain(m.EndToEndID), named(m.ReturnID),
		})
	}
	return t.Render() + "\n"
}

// named returns an id, or "" for a nil id.
func named(id *string) string {
	if id == nil {
		return ""
	}
	return terminal.Plain(*id)
}
