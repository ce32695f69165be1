package console

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
)

// setting is a setting of an account as a form has it.
type setting struct {
	Name, Value string
	Kind        string // of the input: text, money, whole, flag or lines
	Path        []string
}

// settingsOf are the settings of an account as its form has them. The document is masked: what differs from that is a
// new one.
func settingsOf(a *admin.Account, l language) []setting {
	amount := func(n *pix.Amount) string {
		if n == nil {
			return ""
		}
		return strings.TrimPrefix(money(l, *n), "R$ ")
	}
	flag := func(b bool) string {
		if b {
			return "yes"
		}
		return ""
	}
	var fees admin.Fees
	if a.Fees != nil {
		fees = *a.Fees
	}
	in, out, ceiling := fees.CashIn, fees.CashOut, a.CashOutCeiling
	if ceiling != nil && *ceiling == 0 {
		ceiling = nil
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return []setting{
		{"name", a.Name, "text", []string{"name"}},
		{"document", masked(a.Document), "text", []string{"document"}},
		{"city", text(a.City), "text", []string{"city"}},
		{"cash_in_fixed", amount(&in.Fixed), "money", []string{"fees", "cash_in", "fixed"}},
		{"cash_in_bps", strconv.FormatInt(in.BPS, 10), "whole", []string{"fees", "cash_in", "bps"}},
		{"cash_out_fixed", amount(&out.Fixed), "money", []string{"fees", "cash_out", "fixed"}},
		{"cash_out_bps", strconv.FormatInt(out.BPS, 10), "whole", []string{"fees", "cash_out", "bps"}},
		{"cash_out_ceiling", amount(ceiling), "money", []string{"cash_out_ceiling"}},
		{"approval_threshold", amount(a.ApprovalThreshold), "money", []string{"approval_threshold"}},
		{"repeat_window", text(a.RepeatWindow), "text", []string{"repeat_window"}},
		{"block_cnpj_out", flag(a.BlockCNPJOut != nil && *a.BlockCNPJOut), "flag", []string{"block_cnpj_out"}},
		{"authorized_cnpjs", strings.Join(a.AuthorizedCNPJs, "\n"), "lines", []string{"authorized_cnpjs"}},
	}
}

// errField says which field of a form is at fault.
var errField = errors.New("console: a field of a form is at fault")

// value is what the operator API takes for a setting as a form has it.
func (s *setting) value(text string, l language) (any, error) {
	switch s.Kind {
	case "money":
		if text == "" && s.Name == "approval_threshold" {
			return nil, nil // none
		}
		if text == "" {
			return 0, nil
		}
		n, ok := l.parseMoney(text)
		if !ok {
			return nil, errField
		}
		return n, nil
	case "whole":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errField
		}
		return n, nil
	case "flag":
		return text != "", nil
	case "lines":
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;\r\n\t", r) }), nil
	}
	return text, nil
}

// put sets a member of an object, within other objects where the path has several parts.
func put(o map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := o[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			o[name] = inner
		}
		o = inner
	}
	o[path[len(path)-1]] = value
}

// accountList is a page of accounts.
type accountList struct {
	list[admin.Account]
	Search string // what they were searched for by; empty: by nothing
}

// accounts lists accounts, all or those that are searched for. The address has the key of the search's form in place of
// its text, which may be a document.
func accounts(v *visit) error {
	var l accountList
	q := url.Values{"limit": {"50"}, "cursor": {v.arg("cursor")}}
	if key := v.arg("found"); key != "" {
		o := v.one.became(key)
		if l.Search = o.search; l.Search == "" {
			v.Problem = v.Lang.say("search_forgotten")
			v.Data = l
			return nil
		}
		q.Set("search", l.Search)
	}
	err := v.get("/admin/accounts?"+q.Encode(), &l.list)
	v.Data = l
	return err
}

// mostSearched is how much of what accounts are searched for by is kept, in bytes: the field takes 100 characters.
const mostSearched = 400

// searchAccounts keeps what accounts are searched for by.
func searchAccounts(v *visit) outcome {
	text := v.field("search")
	if text == "" {
		return outcome{}
	}
	return outcome{search: text[:min(len(text), mostSearched)]}.next("/accounts?found=" + url.QueryEscape(v.key))
}

// newAccount shows the form that opens an account.
func newAccount(v *visit) error {
	v.Data = settingsOf(&admin.Account{City: new("SAO PAULO"), RepeatWindow: new("12h")}, v.Lang)
	return nil
}

// openAccount opens an account.
func openAccount(v *visit) outcome {
	body := map[string]any{}
	for _, s := range settingsOf(&admin.Account{}, v.Lang) {
		text := v.field(s.Name)
		if text == "" {
			continue // the default
		}
		value, err := s.value(text, v.Lang)
		if err != nil {
			return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say(s.Name))}
		}
		put(body, s.Path, value)
	}
	var a admin.Account
	if err := v.post("/admin/accounts", body, &a); err != nil {
		return v.failed(err)
	}
	return v.did(nil, "opened").next("/accounts/" + a.ID)
}

// changeAccount changes the settings of an account that differ from what the form has shown. What another has changed
// meanwhile is said, and not overwritten.
func changeAccount(v *visit) outcome {
	path := "/admin/accounts/" + v.id()
	var a admin.Account
	if err := v.get(path, &a); err != nil {
		return v.failed(err)
	}
	body := map[string]any{}
	for _, s := range settingsOf(&a, v.Lang) {
		text, was := lines(v.field(s.Name)), lines(v.field("was_"+s.Name))
		switch {
		case text == was || text == lines(s.Value):
			continue
		case was != lines(s.Value):
			return outcome{Problem: v.Lang.say("changed_meanwhile", v.Lang.say(s.Name), s.Value)}
		}
		value, err := s.value(text, v.Lang)
		if err != nil {
			return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say(s.Name))}
		}
		put(body, s.Path, value)
	}
	if len(body) == 0 {
		return outcome{Notice: v.Lang.say("nothing_changed")}
	}
	return v.did(v.call(fasthttp.MethodPatch, path, body, nil), "changed")
}

// lines is a text with one kind of line break: browsers send another one than they got.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// setActive closes an account, or opens it again.
func setActive(v *visit) outcome {
	active := v.field("active") == "yes"
	word := map[bool]string{true: "reopened", false: "closed_account"}[active]
	err := v.call(fasthttp.MethodPatch, "/admin/accounts/"+v.id(), map[string]bool{"active": active}, nil)
	return v.did(err, word)
}

// disclose puts on record that documents were asked for, and has the page show them.
func disclose(v *visit) outcome {
	subject := v.field("subject")
	to := "/transactions?id=" + url.QueryEscape(subject)
	if strings.HasPrefix(subject, "acc_") {
		to = "/accounts/" + url.PathEscape(subject)
	}
	if err := v.post("/admin/disclosures", map[string]string{"subject": subject}, nil); err != nil {
		return v.failed(err).next(to)
	}
	return outcome{Notice: v.Lang.say("disclosed"), Shown: subject}.next(to)
}
