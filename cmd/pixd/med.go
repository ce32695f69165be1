package main

import (
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf8"

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
	var p listFlags
	var status string
	c := &cobra.Command{
		Use:   "list [--status STATUS]",
		Short: "List the special-return cases of all accounts",
		Long: "Lists the special-return cases of all accounts, the oldest first. held is what a case holds of its\n" +
			"account's money; covered is the part of it for which there is money now." + listHelp + adminHelp,
		Example: "  pixd med list --status defended",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			path, again := "/admin/med", "pixd med list"
			if c.Flags().Changed("status") {
				path += "?" + url.Values{"status": {status}}.Encode()
				again += " --status " + terminal.Plain(status)
			}
			return showList(c, f, &p, path, again, cases)
		},
	}
	p.add(c)
	c.Flags().StringVar(&status, "status", "", "only cases in this `STATUS`: open, defended, closed or cancelled")
	return c
}

func medShow(f *adminFlags) *cobra.Command {
	return ofOne(&cobra.Command{
		Use:     "show CASE_ID",
		Short:   "Show a special-return case",
		Long:    "Shows a special-return case, with the merchant's defense." + adminHelp,
		Example: "  pixd med show med_agoksrikabyabyfvmcpxy5dmne",
	}, "the case", func(c *cobra.Command, id string) error {
		var k medCase
		return f.reported(c, http.MethodGet, "/admin/med/"+id, nil, &k, func() string { return k.facts() })
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
		if !utf8.ValidString(details) { // JSON would replace the invalid bytes
			return fmt.Errorf("--details is not in UTF-8")
		}
		body := map[string]any{"result": result}
		if c.Flags().Changed("details") {
			body["details"] = details
		}
		var k medCase
		return f.reported(c, http.MethodPost, "/admin/med/"+id+"/analysis", body, &k, func() string { return k.facts() })
	})
	c.Flags().StringVar(&result, "result", "", "the `RESULT` of the analysis: AGREED or DISAGREED")
	c.Flags().StringVar(&details, "details", "", "the analyst's `TEXT`, at most 2,000 characters; it is kept with the case")
	_ = c.MarkFlagRequired("result")
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

func (k *medCase) facts() string {
	all := []fact{
		{"case", terminal.Plain(k.ID)},
		{"account", terminal.Plain(k.Account)},
		{"status", terminal.Plain(k.Status)},
		{"situation", terminal.Plain(k.Situation)},
		{"payment", terminal.Plain(k.Transaction)},
		{"end-to-end id", terminal.Plain(k.EndToEnd)},
		{"infraction id", terminal.Plain(k.Infraction)},
		{"disputed", money(k.Amount)},
		{"held", money(k.Held)},
		{"covered", money(k.Covered)},
		{"refunded", money(k.Refunded)},
		{"opened", moment(k.OpenedAt)},
		{"defense until", moment(k.DeadlineAt)},
		{"analysis until", moment(k.AnalysisAt)},
	}
	add := func(name string, value *string, show func(string) string) {
		if value != nil {
			all = append(all, fact{name, show(*value)})
		}
	}
	add("defended", k.DefendedAt, moment)
	if d := k.Defense; d != nil {
		all = append(all, fact{"merchant proposes", terminal.Plain(d.Result)}, fact{"justification", terminal.Plain(d.Justification)})
		add("contact", d.Contact, terminal.Plain)
	}
	if k.Failed {
		all = append(all, fact{"refund", "failed for good: pixd med refund tries again"})
	}
	if k.Awaits {
		all = append(all, fact{"waits", "since a restore: pixd med resume lets it go on"})
	}
	add("closed", k.ClosedAt, moment)
	add("result", k.Result, terminal.Plain)
	add("details", k.Details, terminal.Plain)
	return facts(all)
}

func cases(all []medCase) string {
	if len(all) == 0 {
		return "no cases\n"
	}
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"case", "account", "status", "result", "disputed BRL", "held BRL", "covered BRL", "refunded BRL", "defense until", "opened"})
	terminal.RightAligned(t, "disputed BRL", "held BRL", "covered BRL", "refunded BRL")
	for i := range all {
		k := &all[i]
		result := "–"
		if k.Result != nil {
			result = terminal.Plain(*k.Result)
		}
		t.AppendRow(table.Row{
			terminal.Plain(k.ID), terminal.Plain(k.Account), terminal.Plain(k.Status), result, reais(k.Amount), reais(k.Held), reais(k.Covered), reais(k.Refunded),
			moment(k.DeadlineAt), moment(k.OpenedAt),
		})
	}
	return t.Render() + "\n"
}
