package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/ledger"
	"pixd/actors/pix"
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
			return accountAnswer.print(c, f, http.MethodPost, "/admin/accounts", body)
		},
	}
	s.add(c, true)
	requireFlags(c, "name", "document")
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
		return accountAnswer.print(c, f, http.MethodGet, "/admin/accounts/"+id, nil)
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
		return accountAnswer.print(c, f, http.MethodPatch, "/admin/accounts/"+id, body)
	})
	s.add(c, false)
	return c
}

func accountList(f *adminFlags) *cobra.Command {
	return listing[account]{
		words: "pixd account list", path: "/admin/accounts", show: accounts,
	}.command(f, &cobra.Command{
		Use:   "list",
		Short: "List accounts, the oldest first",
		Long: "Lists accounts, the oldest first. The balance is in base units (1.00 BRL = 10000) and in BRL. Of a\n" +
			"quarantined account, whose journal is damaged, the list has what is known without it: the name and\n" +
			"document that it was opened under, and no balance." + listHelp + adminHelp,
		Example: "  pixd account list",
	})
}

var accountAnswer = answer[account]{"no account", (*account).facts}

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

func units(a pix.Amount) string { return fmt.Sprint(int64(a)) }

const longestName = 30 // largest number of characters of a name in a list

func accounts(all []account) string {
	if len(all) == 0 {
		return "no accounts\n"
	}
	columns := []string{"account", "name", "document", "state", ">balance", ">BRL", ">available BRL", ">pending BRL", "created"}
	return rows(columns, all, func(a *account) table.Row {
		return table.Row{
			a.ID, cut(a.Name, longestName), a.Document, a.state(), orElse(a.Balance, "-", units), orElse(a.Balance, "-", reais),
			orElse(a.Available, "-", reais), orElse(a.Pending, "-", reais), moment(a.CreatedAt),
		}
	})
}

func (a *account) facts() string {
	ceiling := "none"
	if a.Ceiling != 0 {
		ceiling = money(a.Ceiling)
	}
	return facts([]fact{
		{"account", a.ID},
		{"name", a.Name},
		{"document", a.Document},
		{"city", a.City},
		{"state", a.state()},
		{"balance", orElse(a.Balance, "-", money)},
		{"available", orElse(a.Available, "-", money)},
		{"pending", orElse(a.Pending, "-", money)},
		{"med held", orElse(a.MEDHeld, "-", money)},
		{"cash-in fee", fee(a.Fees.CashIn)},
		{"cash-out fee", fee(a.Fees.CashOut)},
		{"cash-out ceiling", ceiling},
		{"approval threshold", orElse(a.Threshold, "none", money)},
		{"block cnpj out", yes(a.BlockCNPJOut)},
		{"authorized cnpjs", commaList(a.Authorized)},
		{"repeat window", a.RepeatWindow},
		{"created", moment(a.CreatedAt)},
	})
}

// commaList shows texts with commas between them.
func commaList(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ",")
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
