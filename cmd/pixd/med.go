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
		medList(f), medShow(f), medClose(f), medRefund(f), medResume(f))
}

func medList(f *adminFlags) *cobra.Command {
	return listing[medCase]{
		words: "pixd med list", path: "/admin/med", show: cases,
		filters: []listFilter{{"status", "status", "only cases in this `STATUS`: open, defended, closed or cancelled"}},
	}.command(f, &cobra.Command{
		Use:   "list [--status STATUS]",
		Short: "List the special-return cases of all accounts",
		Long: "Lists the special-return cases of all accounts, the oldest first. held is what a case holds of its\n" +
			"account's money; covered is the part of it for which there is money now." + listHelp + adminHelp,
		Example: "  pixd med list --status defended",
	})
}

func medShow(f *adminFlags) *cobra.Command {
	return ofOne(&cobra.Command{
		Use:     "show CASE_ID",
		Short:   "Show a special-return case",
		Long:    "Shows a special-return case, with the merchant's defense." + adminHelp,
		Example: "  pixd med show med_agoksrikabyabyfvmcpxy5dmne",
	}, "the case", func(c *cobra.Command, id string) error {
		return caseAnswer.print(c, f, http.MethodGet, "/admin/med/"+id, nil)
	})
}

func medClose(f *adminFlags) *cobra.Command {
	var result, details string
	c := ofOne(&cobra.Command{
		Use:   "close CASE_ID --result AGREED|DISAGREED",
		Short: "Decide a special-return case",
		Long: "Decides a special-return case, as the institution's analyst, and shows it. AGREED refunds what the case\n" +
			"holds, as far as there is money; the rest stays held and is refunded from later credits until 90 days\n" +
			"after the payment. DISAGREED releases the hold. The same result again changes nothing; the other one\n" +
			"is refused." + adminHelp,
		Example: "  pixd med close med_agoksrikabyabyfvmcpxy5dmne --result DISAGREED --details \"goods were delivered\"",
	}, "the case", func(c *cobra.Command, id string) error {
		if err := checkText("details", details); err != nil {
			return err
		}
		body := map[string]any{"result": result}
		addIfGiven(c, "details", body, "details", details)
		return caseAnswer.print(c, f, http.MethodPost, "/admin/med/"+id+"/analysis", body)
	})
	c.Flags().StringVar(&result, "result", "", "the `RESULT` of the analysis: AGREED or DISAGREED")
	c.Flags().StringVar(&details, "details", "", "the analyst's `TEXT`, at most 2,000 characters; it is kept with the case")
	requireFlags(c, "result")
	return c
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

var caseAnswer = answer[medCase]{"something else", (*medCase).facts}

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
