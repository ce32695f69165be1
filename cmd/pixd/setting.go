package main

import (
	"fmt"
	"strconv"

	"pixd/actors/ledger"
)

// settings are the flags for an account's settings. Their help texts name default values only
// for the command that makes an account: a command that changes an account leaves a setting
// without a flag as it is.
func settings(making bool) []field {
	otherwise := func(value string) string {
		if making {
			return " (default " + value + ")"
		}
		return ""
	}
	const units, bps = int64(0), int64(0)
	all := []field{
		{flag: "name", member: "name", kind: "", must: making, help: "the merchant's `NAME`, as QR codes show it"},
		{flag: "document", member: "document", kind: "", must: making, help: "the merchant's `CPF|CNPJ`, with or without punctuation"},
		{flag: "city", member: "city", kind: "", help: "the merchant's `CITY`, as QR codes show it" + otherwise(strconv.Quote(ledger.DefaultCity))},
		{flag: "active", member: "active", kind: making, help: "--active=false refuses the merchant's requests; money that arrives is still booked"},
		{flag: "cash-in-fixed", member: "fees.cash_in.fixed", kind: units, help: "fee on a received payment: fixed part, base `units`" + otherwise("0")},
		{flag: "cash-in-bps", member: "fees.cash_in.bps", kind: bps, help: "fee on a received payment: share of the amount in `bps`, hundredths of a percent" + otherwise("0")},
		{flag: "cash-out-fixed", member: "fees.cash_out.fixed", kind: units, help: "fee on a payout: fixed part, base `units`" + otherwise("0")},
		{flag: "cash-out-bps", member: "fees.cash_out.bps", kind: bps, help: "fee on a payout: share of the amount in `bps`, hundredths of a percent" + otherwise("0")},
		{flag: "cash-out-ceiling", member: "cash_out_ceiling", kind: units, help: "largest payout, base `units` without the fee; 0: no ceiling" + otherwise("0")},
		{flag: "block-cnpj-out", member: "block_cnpj_out", kind: false, help: "refuse payouts to CNPJs that are not --authorized-cnpj" + otherwise("false")},
		{flag: "authorized-cnpj", member: "authorized_cnpjs", kind: []string(nil), help: "`CNPJ` that payouts may go to with --block-cnpj-out; repeatable, or several with commas"},
		{flag: "repeat-window", member: "repeat_window", kind: "", help: "`duration` after a payout settled in which an equal one is its repeat, 1m to 12h" + otherwise("12h")},
		{flag: "approval-threshold", member: "approval_threshold", kind: "", as: threshold, help: "payouts of at least this wait for approval, base `units` or none" + otherwise("none")},
	}
	if making {
		all = append(all, field{flag: "account-id", member: "account_id", kind: "", help: "make the account `ID` again, of which movements are kept aside since a restore"})
	}
	return all
}

// threshold returns an approval threshold in the API's form: null for "none".
func threshold(text string) (any, error) {
	if text == "none" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--approval-threshold %q: base units, such as 10000000, or none", text)
	}
	return n, nil
}
