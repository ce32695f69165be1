package main

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/httpapi/admin"
)

func transactionCommand() *cobra.Command {
	return request{
		use:   "transaction ID",
		short: "Show what happened to one transaction, the oldest first",
		long: "Shows one transaction of any account, and all that happened to it, the oldest first: each record of\n" +
			"the journal about it, its refunds or returns, cases, webhook events and each attempt to deliver them.",
		example: "  pixd transaction PIXOUTAGQ7RZY2LJF6Z4WSG3PR",
		of:      "the transaction, by its transaction_id, id or end-to-end id", method: http.MethodGet, path: "/admin/transactions/{id}/history",
		print: printing("no transaction", (*life).shown),
	}.alone(&adminFlags{})
}

// life is the API's answer about what happened to a transaction.
type life struct {
	Transaction payout
	Data        []admin.LifeEntry
	Complete    bool
}

func (l *life) shown() string {
	t := &l.Transaction
	text := facts([]fact{
		{"transaction", t.Transaction}, {"account", t.Account}, {"state", t.State}, {"end-to-end id", cmp.Or(t.EndToEnd, leftOut)}, {"amount", money(t.Amount)},
	}) + "\n" + rows([]string{"at", "what", "status", ">BRL", "about", "details"}, l.Data, func(e *admin.LifeEntry) table.Row {
		return table.Row{e.At, e.Kind, cmp.Or(e.Status, "–"), orElse(e.Amount, "–", reais), cmp.Or(e.ID, "–"), cmp.Or(entryDetails(e), "–")}
	})
	if !l.Complete {
		text += "\nnot complete: there is more than one request reads\n"
	}
	return text
}

// entryDetails says what else is known of an entry.
func entryDetails(e *admin.LifeEntry) string {
	all := []string{e.Type, e.Reason}
	if e.Operator != "" {
		all = append(all, "by "+e.Operator)
	}
	if e.Code != 0 {
		all = append(all, strconv.Itoa(e.Code))
	}
	text := strings.Join(strings.Fields(strings.Join(append(all, e.Err), " ")), " ")
	return cut(text, longestResult)
}
