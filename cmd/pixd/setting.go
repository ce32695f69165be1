package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pixd/actors/ledger"
)

// settingFlags are the flags for an account's settings.
type settingFlags struct {
	name, document, city    string
	active                  bool
	cashIn, cashOut         ledger.Fee
	ceiling                 int64
	threshold, repeatWindow string
	blockCNPJOut            bool
	authorized              []string
}

// add declares the flags. Their help texts name default values only for the command that
// makes an account: a command that changes an account leaves a setting without a flag as it
// is.
func (s *settingFlags) add(c *cobra.Command, making bool) {
	otherwise := func(value string) string {
		if making {
			return " (default " + value + ")"
		}
		return ""
	}
	flags := c.Flags()
	flags.StringVar(&s.name, "name", "", "the merchant's name, as QR codes show it")
	flags.StringVar(&s.document, "document", "", "the merchant's CPF or CNPJ, with or without punctuation")
	flags.StringVar(&s.city, "city", "", "the merchant's city, as QR codes show it"+otherwise(strconv.Quote(ledger.DefaultCity)))
	flags.BoolVar(&s.active, "active", making, "--active=false refuses the merchant's requests; money that arrives is still booked")
	flags.Int64Var((*int64)(&s.cashIn.Fixed), "cash-in-fixed", 0, "fee on a received payment: fixed part, base `units`"+otherwise("0"))
	flags.Int64Var(&s.cashIn.BPS, "cash-in-bps", 0, "fee on a received payment: share of the amount in `bps`, hundredths of a percent"+otherwise("0"))
	flags.Int64Var((*int64)(&s.cashOut.Fixed), "cash-out-fixed", 0, "fee on a payout: fixed part, base `units`"+otherwise("0"))
	flags.Int64Var(&s.cashOut.BPS, "cash-out-bps", 0, "fee on a payout: share of the amount in `bps`, hundredths of a percent"+otherwise("0"))
	flags.Int64Var(&s.ceiling, "cash-out-ceiling", 0, "largest payout, base `units` without the fee; 0: no ceiling"+otherwise("0"))
	flags.BoolVar(&s.blockCNPJOut, "block-cnpj-out", false, "refuse payouts to CNPJs that are not --authorized-cnpj"+otherwise("false"))
	flags.StringArrayVar(&s.authorized, "authorized-cnpj", nil, "`CNPJ` that payouts may go to with --block-cnpj-out; repeatable, or several with commas")
	flags.StringVar(&s.repeatWindow, "repeat-window", "", "`time` after a payout settled in which an equal one is its repeat, 1m to 12h"+otherwise("12h"))
	flags.StringVar(&s.threshold, "approval-threshold", "", "payouts of at least this wait for approval, base `units` or none"+otherwise("none"))
}

// given returns those settings whose flags were given.
func (s *settingFlags) given(c *cobra.Command) (map[string]any, error) {
	for flag, text := range map[string]string{"name": s.name, "document": s.document, "city": s.city} {
		if err := checkText(flag, text); err != nil {
			return nil, err
		}
	}
	body := map[string]any{}
	put := func(flag, name string, value any) { addIfGiven(c, flag, body, name, value) }
	put("name", "name", s.name)
	put("document", "document", s.document)
	put("city", "city", s.city)
	put("active", "active", s.active)
	put("cash-out-ceiling", "cash_out_ceiling", s.ceiling)
	put("block-cnpj-out", "block_cnpj_out", s.blockCNPJOut)
	put("authorized-cnpj", "authorized_cnpjs", several(s.authorized))
	put("repeat-window", "repeat_window", s.repeatWindow)
	if fees := s.fees(c); len(fees) > 0 {
		body["fees"] = fees
	}
	if !c.Flags().Changed("approval-threshold") {
		return body, nil
	}
	threshold, err := s.approval()
	body["approval_threshold"] = threshold
	return body, err
}

// fees returns those parts of the fees whose flags were given.
func (s *settingFlags) fees(c *cobra.Command) map[string]any {
	fees := map[string]any{}
	for side, f := range map[string]ledger.Fee{"cash-in": s.cashIn, "cash-out": s.cashOut} {
		parts := map[string]any{}
		addIfGiven(c, side+"-fixed", parts, "fixed", int64(f.Fixed))
		addIfGiven(c, side+"-bps", parts, "bps", f.BPS)
		if len(parts) > 0 {
			fees[strings.Replace(side, "-", "_", 1)] = parts
		}
	}
	return fees
}

// approval returns the approval threshold in the API's form: null for "none".
func (s *settingFlags) approval() (any, error) {
	if s.threshold == "none" {
		return nil, nil
	}
	n, err := strconv.ParseInt(s.threshold, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--approval-threshold %q: base units, such as 10000000, or none", s.threshold)
	}
	return n, nil
}

// several splits the values of a repeated flag at their commas.
func several(values []string) []string {
	all := []string{}
	for _, v := range values {
		for _, one := range strings.Split(v, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}
