package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goccy/go-json"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func accountCommand() *cobra.Command {
	f := &adminFlags{}
	return group("account", "Make, show and change merchants' accounts", "  pixd account list", f,
		accountCreate(f), accountList(f), accountShow(f), accountSet(f))
}

func accountCreate(f *adminFlags) *cobra.Command {
	var s settingFlags
	c := &cobra.Command{
		Use:   "create --name N --document D",
		Short: "Make an account",
		Long: "Makes an account, with a random PIX key of its own, and shows it. Amounts are base units\n" +
			"(1.00 BRL = 10000)." + adminHelp,
		Example: `  pixd account create --name "Loja Aurora" --document 12345678000195 --city RECIFE --cash-out-bps 25`,
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			body, err := s.given(c)
			if err != nil {
				return err
			}
			return f.account(c, http.MethodPost, "/admin/accounts", body)
		},
	}
	s.add(c, true)
	_ = c.MarkFlagRequired("name")
	_ = c.MarkFlagRequired("document")
	return c
}

func accountShow(f *adminFlags) *cobra.Command {
	return ofOne(&cobra.Command{
		Use:   "show ID",
		Short: "Show an account's settings and balance",
		Long: "Shows one account: its settings, its balance, what of it is available, what waits for an outcome,\n" +
			"and what special-return cases hold. Amounts are base units (1.00 BRL = 10000)." + adminHelp,
		Example: "  pixd account show acc_7oi7njakvirg4",
	}, "the account to show, as `pixd account list` has it", func(c *cobra.Command, id string) error {
		return f.account(c, http.MethodGet, "/admin/accounts/"+id, nil)
	})
}

func accountSet(f *adminFlags) *cobra.Command {
	var s settingFlags
	c := ofOne(&cobra.Command{
		Use:   "set ID",
		Short: "Change an account's settings",
		Long: "Changes the settings that are given, leaves the others as they are, and shows the account. Lists are\n" +
			"replaced whole; \"\" empties one. Amounts are base units (1.00 BRL = 10000)." + adminHelp,
		Example: "  pixd account set acc_7oi7njakvirg4 --cash-out-ceiling 50000000 --active=false",
	}, "the account to change, as `pixd account list` has it", func(c *cobra.Command, id string) error {
		body, err := s.given(c)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return fmt.Errorf("nothing to change: give a setting, such as --active=false (pixd account set --help has them all)")
		}
		return f.account(c, http.MethodPatch, "/admin/accounts/"+id, body)
	})
	s.add(c, false)
	return c
}

func accountList(f *adminFlags) *cobra.Command {
	var p listFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List accounts, the oldest first",
		Long: "Lists accounts, the oldest first. The balance is in base units (1.00 BRL = 10000) and in BRL. Of a\n" +
			"quarantined account, whose journal is damaged, the list has what is known without it: the name and\n" +
			"document that it was opened under, and no balance." + listHelp + adminHelp,
		Example: "  pixd account list",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			return showList(c, f, &p, "/admin/accounts", "pixd account list", accounts)
		},
	}
	p.add(c)
	return c
}

// account sends a request about one account and shows the answer.
func (f *adminFlags) account(c *cobra.Command, method, path string, body map[string]any) error {
	got, err := f.ask(c, method, path, body)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.OutOrStdout(), got)
	}
	var a account
	if err := json.Unmarshal(got, &a); err != nil {
		return fmt.Errorf("%s answers no account: %w", f.URL, err)
	}
	_, err = io.WriteString(c.OutOrStdout(), a.facts())
	return err
}

// account is an account in an answer of the operator API. A nil field is unknown, because the
// account is quarantined.
type account struct {
	ID       string `json:"account_id"`
	Name     string
	Document string
	City     string
	Active   bool
	Fees     struct {
		CashIn  ledger.Fee `json:"cash_in"`
		CashOut ledger.Fee `json:"cash_out"`
	}
	Ceiling      pix.Amount  `json:"cash_out_ceiling"`
	Threshold    *pix.Amount `json:"approval_threshold"`
	BlockCNPJOut bool        `json:"block_cnpj_out"`
	Authorized   []string    `json:"authorized_cnpjs"`
	RepeatWindow string      `json:"repeat_window"`
	Balance      *pix.Amount
	Available    *pix.Amount
	Pending      *pix.Amount
	MEDHeld      *pix.Amount `json:"med_held"`
	CreatedAt    string      `json:"created_at"`
	Quarantined  bool
}

func (a *account) state() string {
	switch {
	case a.Quarantined:
		return "quarantined"
	case a.Active:
		return "active"
	}
	return "inactive"
}

// known shows an amount, or "-" if the amount is unknown.
func known(a *pix.Amount, show func(pix.Amount) string) string {
	if a == nil {
		return "-"
	}
	return show(*a)
}

func units(a pix.Amount) string { return fmt.Sprint(int64(a)) }

const longestName = 30 // largest number of characters of a name in a list

func accounts(all []account) string {
	if len(all) == 0 {
		return "no accounts\n"
	}
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"account", "name", "document", "state", "balance", "BRL", "available BRL", "pending BRL", "created"})
	terminal.RightAligned(t, "balance", "BRL", "available BRL", "pending BRL")
	for i := range all {
		a := &all[i]
		t.AppendRow(table.Row{
			terminal.Plain(a.ID), cut(terminal.Plain(a.Name), longestName), terminal.Plain(a.Document), a.state(), known(a.Balance, units),
			known(a.Balance, reais), known(a.Available, reais), known(a.Pending, reais), moment(a.CreatedAt),
		})
	}
	return t.Render() + "\n"
}

func (a *account) facts() string {
	cnpjs := "none"
	if len(a.Authorized) > 0 {
		cnpjs = terminal.Plain(strings.Join(a.Authorized, ","))
	}
	ceiling := "none"
	if a.Ceiling != 0 {
		ceiling = money(a.Ceiling)
	}
	threshold := "none"
	if a.Threshold != nil {
		threshold = money(*a.Threshold)
	}
	return facts([]fact{
		{"account", terminal.Plain(a.ID)},
		{"name", terminal.Plain(a.Name)},
		{"document", terminal.Plain(a.Document)},
		{"city", terminal.Plain(a.City)},
		{"state", a.state()},
		{"balance", known(a.Balance, money)},
		{"available", known(a.Available, money)},
		{"pending", known(a.Pending, money)},
		{"med held", known(a.MEDHeld, money)},
		{"cash-in fee", fee(a.Fees.CashIn)},
		{"cash-out fee", fee(a.Fees.CashOut)},
		{"cash-out ceiling", ceiling},
		{"approval threshold", threshold},
		{"block cnpj out", yes(a.BlockCNPJOut)},
		{"authorized cnpjs", cnpjs},
		{"repeat window", terminal.Plain(a.RepeatWindow)},
		{"created", moment(a.CreatedAt)},
	})
}

// fee shows a fee: its fixed part and its share of the amount.
func fee(f ledger.Fee) string {
	share := fmt.Sprintf("%d bps (%d.%02d %%)", f.BPS, f.BPS/100, f.BPS%100)
	switch {
	case f.Fixed == 0 && f.BPS == 0:
		return "none"
	case f.Fixed == 0:
		return share
	case f.BPS == 0:
		return money(f.Fixed)
	}
	return money(f.Fixed) + " + " + share
}
