package main

import (
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/goccy/go-json"

	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func approveCommand() *cobra.Command {
	return decision("approve", "Let a payout out that waits for approval",
		"Lets a payout out that waits for approval: it goes on as if just requested, under a fresh end-to-end\n"+
			"id where its own has aged. A payout of an inactive account cannot be approved; one whose end-to-end\n"+
			"id was the merchant's own and is over 11 hours old fails instead.")
}

func declineCommand() *cobra.Command {
	return decision("decline", "Fail a payout that waits for approval",
		"Fails a payout that waits for approval, with approval_declined, and gives its hold back.")
}

// decision returns the command by which an operator approves or declines a payout.
func decision(word, short, long string) *cobra.Command {
	f := &adminFlags{}
	var operator string
	c := ofOne(&cobra.Command{
		Use:   word + " TRANSACTION_ID --operator NAME",
		Short: short,
		Long: long + "\nIt shows the payout. The same word again changes nothing; the other one is refused. Which payouts\n" +
			"wait, GET /admin/payouts?status=pending_approval of the operator API lists." + adminHelp,
		Example: "  pixd " + word + " PIXOUTAGQ7RZY2LJF6Z4WSG3PR --operator ana",
	}, "the payout, by its transaction_id", func(c *cobra.Command, id string) error {
		if !utf8.ValidString(operator) { // JSON would replace the invalid bytes
			return fmt.Errorf("--operator is not in UTF-8")
		}
		return f.payout(c, "/admin/payouts/"+id+"/"+word, map[string]any{"operator": operator})
	})
	f.Add(c)
	c.Flags().StringVar(&operator, "operator", "", "the `NAME` of who decides, 1 to 100 characters; it is kept with the payout")
	_ = c.MarkFlagRequired("operator")
	return c
}

// payout sends a command's request about one payout and shows the answer.
func (f *adminFlags) payout(c *cobra.Command, path string, body map[string]any) error {
	got, err := f.ask(c, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.OutOrStdout(), got)
	}
	var p payout
	if err := json.Unmarshal(got, &p); err != nil {
		return fmt.Errorf("%s answers no payout: %w", f.URL, err)
	}
	_, err = io.WriteString(c.OutOrStdout(), p.facts())
	return err
}

// payout is a payout in the API's answer.
type payout struct {
	Account     string `json:"account_id"`
	Transaction string `json:"transaction_id"`
	State       string
	EndToEnd    string `json:"end_to_end_id"`
	Key         string `json:"recipient_key"`
	Amount      pix.Amount
	Fee         pix.Amount `json:"fee_amount"`
	Reason      *string    `json:"reason_code"`
	CreatedAt   string     `json:"created_at"`
}

func (p *payout) facts() string {
	all := []fact{
		{"transaction", terminal.Plain(p.Transaction)},
		{"account", terminal.Plain(p.Account)},
		{"state", terminal.Plain(p.State)},
	}
	if p.Reason != nil {
		all = append(all, fact{"reason", terminal.Plain(*p.Reason)})
	}
	return facts(append(all,
		fact{"amount", money(p.Amount)},
		fact{"fee", money(p.Fee)},
		fact{"to", terminal.Plain(p.Key)},
		fact{"end-to-end id", terminal.Plain(p.EndToEnd)},
		fact{"created", moment(p.CreatedAt)},
	))
}
