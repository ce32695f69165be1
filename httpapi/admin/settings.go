package admin

import (
	"strings"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/strictjson"
	"pixd/httpapi/control"
)

// settingNames are the names of all fields that a request body with settings may have.
var settingNames = []string{
	"name", "document", "city", "active", "fees", "cash_out_ceiling", "approval_threshold",
	"block_cnpj_out", "authorized_cnpjs", "repeat_window",
}

// settings overwrites s and active with the fields that the form has, and checks the
// result.
func settings(f strictjson.Form, s *ledger.Settings, active *bool) error {
	f.Text("name", &s.Name)
	f.Text("document", &s.Document)
	f.Text("city", &s.City)
	f.Flag("active", active)
	fees := f.Object("fees", "cash_in", "cash_out")
	fee(fees.Object("cash_in", "fixed", "bps"), &s.CashInFee)
	fee(fees.Object("cash_out", "fixed", "bps"), &s.CashOutFee)
	f.Integer("cash_out_ceiling", (*int64)(&s.CashOutCeiling))
	threshold(f, &s.ApprovalThreshold)
	f.Flag("block_cnpj_out", &s.BlockCNPJOut)
	f.Texts("authorized_cnpjs", &s.AuthorizedCNPJs)
	window(f, &s.RepeatWindow)
	if err := f.Fault(); err != nil {
		return err
	}
	if r := s.Normalise(); r != nil {
		return control.Bad("%s", fieldMessage(r))
	}
	return nil
}

// fieldMessage returns a refusal's message, preceded by the field if the message does not
// name it.
func fieldMessage(r *ledger.Refusal) string {
	if strings.Contains(r.Message, r.Field) {
		return r.Message
	}
	return r.Field + ": " + r.Message
}

func fee(f strictjson.Form, into *ledger.Fee) {
	f.Integer("fixed", (*int64)(&into.Fixed))
	f.Integer("bps", &into.BPS)
}

// threshold reads the approval threshold: an amount, or null for no threshold.
func threshold(f strictjson.Form, into **pix.Amount) {
	var a pix.Amount
	switch {
	case f.Null("approval_threshold"):
		*into = nil
	case f.Integer("approval_threshold", (*int64)(&a)):
		*into = &a
	}
}

func window(f strictjson.Form, into *pix.Millis) {
	var text string
	if !f.Text("repeat_window", &text) {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d%time.Millisecond != 0 {
		f.Refuse("repeat_window", `a duration from 1m to 12h, such as "12h"`)
		return
	}
	*into = pix.Millis(d / time.Millisecond)
}
