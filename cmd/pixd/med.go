package main

import (
	"net/http"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func medCommand() *cobra.Command {
	f := &adminFlags{}
	return group("med", "Show, close and let go on special-return cases (MED)", "  pixd med list --status defended", f,
		medList.command(f), medShow.command(f), medClose.command(f), medRefund.command(f), medResume(f))
}

var medList = listing[medCase]{
	use:   "list [--status STATUS]",
	short: "List the special-return cases of all accounts",
	long: "Lists the special-return cases of all accounts, the oldest first. held is what a case holds of its\n" +
		"account's money; covered is the part of it for which there is money now.",
	example: "  pixd med list --status defended",
	path:    "/admin/med", show: cases,
	filters: []listFilter{{"status", "status", "only cases in this `STATUS`: open, defended, closed or cancelled"}},
}

var medShow = request{
	use:     "show CASE_ID",
	short:   "Show a special-return case",
	long:    "Shows a special-return case, with the merchant's defense.",
	example: "  pixd med show med_agoksrikabyabyfvmcpxy5dmne",
	of:      "the case", method: http.MethodGet, path: "/admin/med/{id}", print: printCase,
}

var medClose = request{
	use:   "close CASE_ID --result AGREED|DISAGREED",
	short: "Decide a special-return case",
	long: "Decides a special-return case, as the institution's analyst, and shows it. AGREED refunds what the case\n" +
		"holds, as far as there is money; the rest stays held and is refunded from later credits until 90 days\n" +
		"after the payment. DISAGREED releases the hold. The same result again changes nothing; the other one\n" +
		"is refused.",
	example: "  pixd med close med_agoksrikabyabyfvmcpxy5dmne --result DISAGREED --details \"goods were delivered\"",
	of:      "the case", method: http.MethodPost, path: "/admin/med/{id}/analysis", print: printCase,
	fields: []field{
		{flag: "result", member: "result", kind: "", must: true, help: "the `RESULT` of the analysis: AGREED or DISAGREED"},
		{flag: "details", member: "details", kind: "", help: "the analyst's `TEXT`, at most 2,000 characters; it is kept with the case"},
	},
}

// medCase is a special-return case in the API's answer.
type medCase struct {
	ID          string
	Account     string `json:"account_id"`
	Infraction  string `json:"infraction_id"`
	Transaction string `json:"transaction_id"`
	EndToEnd    string `json:"end_to_end_id"`
	Amount      pix.Amount
	Held        pix.Amount `json:"held_amount"`
	Covered     pix.Amount `json:"covered_amount"`
	Refunded    pix.Amount `json:"refunded_amount"`
	Situation   string
	Status      string
	Result      *string `json:"analysis_result"`
	Details     *string `json:"analysis_details"`
	Failed      bool    `json:"refund_failed"`
	Awaits      bool    `json:"awaits_resume"`
	Defense     *struct {
		Justification, Result string
		Contact               *string
	}
	OpenedAt   string  `json:"opened_at"`
	DeadlineAt string  `json:"deadline_at"`
	AnalysisAt string  `json:"analysis_due_at"`
	DefendedAt *string `json:"defended_at"`
	ClosedAt   *string `json:"closed_at"`
}

var printCase = printing("something else", (*medCase).facts)

func (k *medCase) facts() string {
	merchant, justification, contact := leftOut, leftOut, leftOut
	if d := k.Defense; d != nil {
		merchant, justification, contact = d.Result, d.Justification, orElse(d.Contact, leftOut, terminal.Plain)
	}
	refund, waits := leftOut, leftOut
	if k.Failed {
		refund = "failed for good: pixd med refund tries again"
	}
	if k.Awaits {
		waits = "since a restore: pixd med resume lets it go on"
	}
	return facts([]fact{
		{"case", k.ID},
		{"account", k.Account},
		{"status", k.Status},
		{"situation", k.Situation},
		{"payment", k.Transaction},
		{"end-to-end id", k.EndToEnd},
		{"infraction id", k.Infraction},
		{"disputed", money(k.Amount)},
		{"held", money(k.Held)},
		{"covered", money(k.Covered)},
		{"refunded", money(k.Refunded)},
		{"opened", moment(k.OpenedAt)},
		{"defense until", moment(k.DeadlineAt)},
		{"analysis until", moment(k.AnalysisAt)},
		{"defended", orElse(k.DefendedAt, leftOut, moment)},
		{"merchant proposes", merchant},
		{"justification", justification},
		{"contact", contact},
		{"refund", refund},
		{"waits", waits},
		{"closed", orElse(k.ClosedAt, leftOut, moment)},
		{"result", orElse(k.Result, leftOut, terminal.Plain)},
		{"details", orElse(k.Details, leftOut, terminal.Plain)},
	})
}

func cases(all []medCase) string {
	if len(all) == 0 {
		return "no cases\n"
	}
	columns := []string{"case", "account", "status", "result", ">disputed BRL", ">held BRL", ">covered BRL", ">refunded BRL", "defense until", "opened"}
	return rows(columns, all, func(k *medCase) table.Row {
		return table.Row{
			k.ID, k.Account, k.Status, orElse(k.Result, "–", terminal.Plain), reais(k.Amount), reais(k.Held), reais(k.Covered), reais(k.Refunded),
			moment(k.DeadlineAt), moment(k.OpenedAt),
		}
	})
}
