package console

import (
	"slices"
	"strings"

	"pixd/actors/pix"
)

// script is an outcome that the local part of an e-mail key at pix.test chooses in the simulator.
type script struct {
	Name  string // of the outcome, which its word is called after
	Local string // the local part, without what can be filled in
	Fill  string // what is filled in where the form has nothing; empty: nothing is
}

// scripts are all outcomes that the simulator knows.
var scripts = []script{
	{"settle_now", "settle-now", ""},
	{"reject", "reject-", "ac03"},
	{"silent", "silent", ""},
	{"returned", "returned", ""},
	{"owner", "owner-", "11222333000181"},
	{"not_found", "not-found", ""},
	{"blocked", "blocked", ""},
	{"lookup_failed", "lookup-failed", ""},
	{"client_limited", "client-limited", ""},
	{"client_limited_n", "client-limited-", "2"},
	{"bucket_exhausted", "bucket-exhausted", ""},
	{"bucket_exhausted_n", "bucket-exhausted-", "2"},
	{"send_rate_limited", "send-rate-limited", ""},
	{"send_bucket_exhausted", "send-bucket-exhausted", ""},
	{"provider_rejected", "provider-rejected", ""},
	{"provider_schema_error", "provider-schema-error", ""},
	{"provider_unknown", "provider-unknown", ""},
}

// Shown is the local part as a choice has it.
func (s script) Shown() string { return s.Local + s.Fill }

// Word is what the outcome is.
func (s script) Word() string { return "script_" + s.Name }

// payOut shows the form that pays out, and what the merchant was answered last.
func payOut(v *visit) error {
	v.Data = map[string]any{"Tried": v.one.sandbox.newest(v.Page, v.arg("done")), "Scripts": scripts}
	return nil
}

// makePayout pays out as the merchant does.
func makePayout(v *visit) outcome {
	const page = "sandbox_payout"
	n, wrong := v.sandboxAmount(false)
	if wrong != nil {
		return *wrong
	}
	whole, ok := centavos(n)
	if !ok {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("amount"))}
	}
	key, ok := v.scripted()
	if !ok {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("pix_key"))}
	}
	body := map[string]any{"amount": whole, "pix_key": key, "external_id": v.key}
	for _, name := range []string{"description", "recipient_document"} {
		if text := v.field(name); text != "" {
			body[name] = text
		}
	}
	return v.tryAsMerchant(page, "/pix/cash-out", body)
}

// scripted is the PIX key that a form chooses: an outcome's, or one of the operator's own. An outcome's key is distinct from
// those of other forms, unless the form wants a payout equal to another one.
func (v *visit) scripted() (key string, ok bool) {
	chosen := v.field("outcome")
	if chosen == "own" {
		key = v.field("pix_key")
		return key, key != ""
	}
	i := slices.IndexFunc(scripts, func(s script) bool { return s.Name == chosen })
	if i < 0 {
		return "", false
	}
	key = scripts[i].Local
	if scripts[i].Fill != "" {
		fill := v.field("fill")
		if fill == "" {
			fill = scripts[i].Fill
		}
		key += strings.ToLower(fill)
	}
	if v.field("equal") == "" {
		key += "+" + strings.ToLower(suffixOf(v.key, 0))
	}
	key += "@pix.test"
	_, ok = pix.DetectKey(key)
	return key, ok
}
