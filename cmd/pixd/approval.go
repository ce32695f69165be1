package main

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func approveCommand() *cobra.Command {
	return decision("approve", "Let a payout out that waits for approval",
		"Lets a payout out that waits for approval: it goes on as if just requested, under a fresh end-to-end\n"+
			"id where its own has aged. A payout of an inactive account cannot be approved; one whose end-to-end\n"+
			"id was the merchant's own and is over 11 hours old fails instead. After a restore whose gap was\n"+
			"accepted it lets any payout go on that waits since before: see that it was not paid meanwhile.")
}

func declineCommand() *cobra.Command {
	return decision("decline", "Fail a payout that waits for approval",
		"Fails a payout that waits for approval, with approval_declined, and gives its hold back.")
}

// decision returns the command by which an operator approves or declines a payout.
func decision(word, short, long string) *cobra.Command {
	return request{
		use:   word + " TRANSACTION_ID [--operator NAME]",
		short: short,
		long: long + "\nIt shows the payout. The same word again changes nothing; the other one is refused. Which payouts\n" +
			"wait, GET /admin/payouts?status=pending_approval of the operator API lists.",
		example: "  pixd " + word + " PIXOUTAGQ7RZY2LJF6Z4WSG3PR --operator ana",
		of:      "the payout, by its transaction_id", method: http.MethodPost, path: "/admin/payouts/{id}/" + word,
		fields: []field{operatorField("kept with the payout")}, print: printing("no payout", (*payout).facts),
	}.alone(&adminFlags{})
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
	ApprovedBy  []string   `json:"approved_by"`
}

// firstOf says who has approved a payout that another operator must approve too.
func firstOf(names []string) string {
	if len(names) == 0 {
		return leftOut
	}
	return terminal.Plain(strings.Join(names, ", ")) + "; another operator must approve it too"
}

func (p *payout) facts() string {
	return facts([]fact{
		{"transaction", p.Transaction},
		{"account", p.Account},
		{"state", p.State},
		{"approved by", firstOf(p.ApprovedBy)},
		{"reason", orElse(p.Reason, leftOut, terminal.Plain)},
		{"amount", money(p.Amount)},
		{"fee", money(p.Fee)},
		{"to", p.Key},
		{"end-to-end id", p.EndToEnd},
		{"created", moment(p.CreatedAt)},
	})
}
