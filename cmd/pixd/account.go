package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/admin"
)

func accountCommand() *cobra.Command {
	f := &adminFlags{}
	return group("account", "Make, show and change merchants' accounts", "  pixd account list", f,
		accountCreate.command(f), accountList.command(f), accountShow.command(f), accountSet.command(f))
}

var accountCreate = request{
	use:   "create --name N --document D",
	short: "Make an account",
	long: "Makes an account, with a random PIX key of its own, and shows it. Amounts are base units\n" +
		"(1.00 BRL = 10000). --account-id makes an account again that a restored journal lacks, so that\n" +
		"what the scheme has of it is booked.",
	example: `  pixd account create --name "Loja Aurora" --document 12345678000195 --city RECIFE --cash-out-bps 25`,
	method:  http.MethodPost, path: "/admin/accounts", fields: settings(true), print: printAccount,
}

var accountShow = request{
	use:   "show ID",
	short: "Show an account's settings and balance",
	long: "Shows one account: its settings, its balance, what of it is available, what waits for an outcome,\n" +
		"and what special-return cases hold. Amounts are base units (1.00 BRL = 10000).",
	example: "  pixd account show acc_7oi7njakvirg4",
	of:      "the account to show, as `pixd account list` has it",
	method:  http.MethodGet, path: "/admin/accounts/{id}", print: printAccount,
}

var accountSet = request{
	use:   "set ID",
	short: "Change an account's settings",
	long: "Changes the settings that are given, leaves the others as they are, and shows the account. Lists are\n" +
		"replaced whole; \"\" empties one. Amounts are base units (1.00 BRL = 10000).",
	example: "  pixd account set acc_7oi7njakvirg4 --cash-out-ceiling 50000000 --active=false",
	of:      "the account to change, as `pixd account list` has it",
	method:  http.MethodPatch, path: "/admin/accounts/{id}", fields: settings(false), print: printAccount,
	check: notEmpty("nothing to change: give a setting, such as --active=false (pixd account set --help has them all)"),
}

var accountList = listing[admin.Account]{
	use:   "list [--search TEXT]",
	short: "List accounts, the oldest first",
	long: "Lists accounts, the oldest first. The balance is in base units (1.00 BRL = 10000) and in BRL. Of a\n" +
		"quarantined account, whose journal is damaged, the list has what is known without it: the name and\n" +
		"document that it was opened under, and no balance.",
	example: "  pixd account list\n  pixd account list --search padaria",
	path:    "/admin/accounts", show: accounts,
	filters: []listFilter{{"search", "search", "only accounts whose id or PIX key is `TEXT`, whose document begins with it (3 characters or more),\nor whose name has it, whatever the case and the accents"}},
}

var printAccount = printing("no account", accountFacts)

func accountState(a *admin.Account) string {
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

func accounts(all []admin.Account) string {
	if len(all) == 0 {
		return "no accounts\n"
	}
	columns := []string{"account", "name", "document", "state", ">balance", ">BRL", ">available BRL", ">pending BRL", "created"}
	return rows(columns, all, func(a *admin.Account) table.Row {
		return table.Row{
			a.ID, cut(a.Name, longestName), a.Document, accountState(a), orElse(a.Balance, "-", units), orElse(a.Balance, "-", reais),
			orElse(a.Available, "-", reais), orElse(a.Pending, "-", reais), moment(a.CreatedAt),
		}
	})
}

// accountFacts describes an account. What is nil of it is unknown, because it is quarantined.
func accountFacts(a *admin.Account) string {
	ceiling, fees := "none", orZero(a.Fees)
	if most := orZero(a.CashOutCeiling); most != 0 {
		ceiling = money(most)
	}
	return facts([]fact{
		{"account", a.ID},
		{"name", a.Name},
		{"document", a.Document},
		{"city", orZero(a.City)},
		{"state", accountState(a)},
		{"balance", orElse(a.Balance, "-", money)},
		{"available", orElse(a.Available, "-", money)},
		{"pending", orElse(a.Pending, "-", money)},
		{"med held", orElse(a.MEDHeld, "-", money)},
		{"cash-in fee", fee(fees.CashIn)},
		{"cash-out fee", fee(fees.CashOut)},
		{"cash-out ceiling", ceiling},
		{"approval threshold", orElse(a.ApprovalThreshold, "none", money)},
		{"block cnpj out", yes(orZero(a.BlockCNPJOut))},
		{"authorized cnpjs", commaList(a.AuthorizedCNPJs)},
		{"repeat window", orZero(a.RepeatWindow)},
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
