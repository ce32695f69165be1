package console

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"pixd/httpapi/admin"
)

const shop = `{"account_id":"acc_x","name":"Loja","document":"12345678909","city":"RECIFE","active":true,"fees":{"cash_in":{"fixed":100,"bps":50},"cash_out":{"fixed":0,"bps":0}},` +
	`"cash_out_ceiling":0,"approval_threshold":500000,"block_cnpj_out":true,"authorized_cnpjs":["12345678000195"],"repeat_window":"12h","balance":10000}`

func shopAPI(method, path string, _ []byte) (int, string) {
	switch {
	case method == "POST" && path == "/admin/accounts":
		return 201, shop
	case path == "/admin/accounts/acc_x" && method == "PATCH":
		return 200, shop
	case path == "/admin/accounts/acc_x":
		return 200, shop
	case method == "POST":
		return 201, `{}`
	case strings.Contains(path, "/pix-keys?"):
		return 200, `{"data":[{"key":"a@x.com","key_type":"email","created_at":"2026-01-01"},{"key":"12345678909","key_type":"cpf","created_at":"2026-02-01"}],"next_cursor":null}`
	}
	return 200, `{"data":[],"next_cursor":null}`
}

// inputs returns the values of the settings' form of the shop's page.
func (f *fixture) inputs(cookie string) url.Values {
	form := f.fill("/console/accounts/acc_x", cookie)
	for _, s := range settingsOf(readShop(), portuguese) {
		form.Set(s.Name, s.Value)
		form.Set("was_"+s.Name, s.Value)
	}
	return form
}

func readShop() *admin.Account {
	var a admin.Account
	if err := json.Unmarshal([]byte(shop), &a); err != nil {
		panic(err)
	}
	return &a
}

// TestSearchAccounts checks that what accounts are searched for by is in no address, and goes with the pages that follow
// and with the other language, for a viewer too.
func TestSearchAccounts(t *testing.T) {
	f := newFixture(t)
	var read []string
	f.api = func(_, path string, _ []byte) (int, string) {
		read = append(read, path)
		return 200, `{"data":[],"next_cursor":"more"}`
	}
	cookie := f.login(veraToken)
	form := f.fill("/console/accounts", cookie, "search", " 123.456.789-09 ")
	p := f.send("POST", "/console/accounts/search", cookie, form.Encode())
	if p.status != 303 || strings.Contains(p.to, "123") {
		t.Fatalf("%d %s", p.status, p.to)
	}
	first := f.send("GET", p.to, cookie, "")
	f.says(first, 200, `value="123.456.789-09"`)
	links := regexp.MustCompile(`href="([^"]*(?:cursor=more|lang=en)[^"]*)"`).FindAllStringSubmatch(first.body, -1)
	if len(links) != 2 {
		t.Fatalf("%q in %s", links, first.body)
	}
	for _, link := range links {
		to := html.UnescapeString(link[1])
		if strings.HasPrefix(to, "?") {
			to = "/console/accounts" + to
		}
		read = nil
		f.says(f.send("GET", to, cookie, ""), 200, `value="123.456.789-09"`)
		if len(read) != 1 || !strings.Contains(read[0], "search=123.456.789-09") || strings.Contains(to, "123.") || strings.Contains(to, "cursor") != strings.Contains(read[0], "cursor=more") {
			t.Errorf("%s reads %q", to, read)
		}
	}
	read = nil
	f.says(f.send("GET", "/console/accounts?found=another", cookie, ""), 200, "não está mais na memória")
	if len(read) > 0 {
		t.Errorf("without its text a search reads %q", read)
	}
	form = f.fill("/console/accounts", cookie, "search", strings.Repeat("x", 200<<10))
	read = nil
	p = f.send("POST", "/console/accounts/search", cookie, form.Encode())
	f.says(f.send("GET", p.to, cookie, ""), 200, `value="xxx`)
	if len(read) != 1 || len(read[0]) > 1000 {
		t.Errorf("a long text is searched for in %d readings", len(read))
	}
	form = f.fill("/console/accounts", cookie, "search", "  ")
	if p := f.send("POST", "/console/accounts/search", cookie, form.Encode()); p.status != 303 || !strings.HasPrefix(p.to, "/console/accounts?done=") {
		t.Errorf("for nothing: %d %s", p.status, p.to)
	}
}

// TestChangeAccount checks that a change sends what differs alone, that nothing is sent where nothing differs, and that
// what another has changed meanwhile is said.
func TestChangeAccount(t *testing.T) {
	for name, c := range map[string]struct {
		change      map[string]string
		asked, says string
	}{
		"nothing": {nil, "", "Nada mudou."},
		"all": {map[string]string{
			"name": "Loja2", "cash_in_fixed": "0,25", "cash_out_bps": "7", "cash_out_ceiling": "1.000,00", "approval_threshold": "", "block_cnpj_out": "",
			"authorized_cnpjs": "12345678000195\r\n22345678000195", "document": "98765432100",
		}, `olga PATCH /admin/accounts/acc_x {"approval_threshold":null,"authorized_cnpjs":["12345678000195","22345678000195"],"block_cnpj_out":false,"cash_out_ceiling":10000000,` +
			`"document":"98765432100","fees":{"cash_in":{"fixed":2500},"cash_out":{"bps":7}},"name":"Loja2"}`, "Alterado."},
		"meanwhile":         {map[string]string{"name": "Loja 3", "was_name": "Loja before"}, "", "Nome: outra pessoa mudou para «Loja»"},
		"the same as other": {map[string]string{"name": "Loja", "was_name": "Loja before"}, "", "Nada mudou."},
		"no amount":         {map[string]string{"cash_out_ceiling": "1,2,3"}, "", "Limite por envio (vazio: nenhum): valor inválido."},
		"no number":         {map[string]string{"cash_in_bps": "x"}, "", "Tarifa de recebimento, pontos-base: valor inválido."},
	} {
		f := newFixture(t)
		f.api = shopAPI
		cookie := f.login(olgaToken)
		form := f.inputs(cookie)
		for field, value := range c.change {
			form.Set(field, value)
		}
		p := f.send("POST", "/console/accounts/acc_x", cookie, form.Encode())
		got := f.send("GET", p.to, cookie, "")
		f.says(got, 200, c.says)
		if c.asked == "" && len(f.asked) > 0 || c.asked != "" && (len(f.asked) != 1 || f.asked[0] != c.asked+" "+form.Get("key")) {
			t.Errorf("%s asks %q\nwant %q", name, f.asked, c.asked)
		}
		if value := c.change["cash_out_ceiling"]; c.asked == "" && value != "" {
			f.says(got, 200, `name="cash_out_ceiling" value="`+value+`"`)
		}
	}
}

// TestChangedMeanwhile checks of each setting that what another has changed since the page was read is not overwritten. A
// flag has no third value that it could be changed to.
func TestChangedMeanwhile(t *testing.T) {
	for _, s := range settingsOf(readShop(), portuguese) {
		if s.Kind == "flag" {
			continue
		}
		f := newFixture(t)
		f.api = shopAPI
		cookie := f.login(olgaToken)
		form := f.inputs(cookie)
		form.Set("was_"+s.Name, "7")
		form.Set(s.Name, "8")
		p := f.send("POST", "/console/accounts/acc_x", cookie, form.Encode())
		f.says(f.send("GET", p.to, cookie, ""), 200, portuguese.say(s.Name)+": outra pessoa mudou para")
		if len(f.asked) > 0 {
			t.Errorf("%s: asked %q", s.Name, f.asked)
		}
	}
}

// TestOpenAccount checks that an account is opened with what was filled in, and that a refused form keeps it.
func TestOpenAccount(t *testing.T) {
	f := newFixture(t)
	f.api = shopAPI
	cookie := f.login(olgaToken)
	form := f.fill("/console/accounts/new", cookie, "name", " Loja ", "document", "12345678909", "approval_threshold", "50,00", "city", "")
	p := f.send("POST", "/console/accounts/new", cookie, form.Encode())
	if want := []string{`olga POST /admin/accounts {"approval_threshold":500000,"document":"12345678909","name":"Loja"} ` + form.Get("key")}; !slices.Equal(f.asked, want) || !strings.HasPrefix(p.to, "/console/accounts/acc_x?done=") {
		t.Errorf("%q %q", f.asked, p.to)
	}
	f.says(f.send("GET", p.to, cookie, ""), 200, "Conta aberta.", "***.456.789-**")
	form = f.fill("/console/accounts/new", cookie, "name", "A & B", "document", "12345678909", "cash_out_ceiling", "muito")
	p = f.send("POST", "/console/accounts/new", cookie, form.Encode())
	f.says(f.send("GET", p.to, cookie, ""), 200, "valor inválido", `value="A &amp; B"`, `value="muito"`)
}

// TestForms checks what each other form asks of the API, and which page it leads to.
func TestForms(t *testing.T) {
	for path, c := range map[string]struct{ fields, asked, to string }{
		"/accounts/acc_x/active":          {"active=no", `PATCH /admin/accounts/acc_x {"active":false}`, "/accounts/acc_x"},
		"/accounts/acc_x/pix-keys":        {"key_type=evp&pix_key=", `POST /admin/accounts/acc_x/pix-keys {"key_type":"evp"}`, "/accounts/acc_x"},
		"/accounts/acc_x/pix-keys/remove": {"pix_key_mark=2026-02-01+***.456.789-**", "DELETE /admin/accounts/acc_x/pix-keys/12345678909", "/accounts/acc_x"},
		"/accounts/acc_x/api-keys/revoke": {"client_id=cli_a", "DELETE /admin/api-keys/cli_a", "/accounts/acc_x"},
		"/med/med_a/close":                {"result=AGREED&details=x", `POST /admin/med/med_a/analysis {"details":"x","result":"AGREED"}`, "/med/med_a"},
		"/med/med_a/refund":               {"", `POST /admin/med/med_a/refund {"operator":"olga"}`, "/med/med_a"},
		"/med/med_a/resume":               {"", `POST /admin/med/med_a/resume {"operator":"olga"}`, "/med/med_a"},
		"/deliveries":                     {"delivery=dlv_a", "POST /admin/webhook-deliveries/dlv_a/retry", "/deliveries"},
		"/webhooks/retry":                 {"webhook=whk_a", "POST /admin/webhooks/whk_a/retry", "/webhooks"},
		"/webhooks/pause":                 {"webhook=whk_a&active=no", `PATCH /admin/webhooks/whk_a {"active":false}`, "/webhooks"},
		"/audit":                          {"", "POST /admin/audit", "/audit"},
		"/snapshots":                      {"base=auto", `POST /admin/snapshots {"base":"auto"}`, "/snapshots"},
		"/snapshots/verify":               {"file=pixd-1.snap", "POST /admin/snapshots/pixd-1.snap/verify", "/snapshots"},
	} {
		f := newFixture(t)
		f.api = shopAPI
		cookie := f.login(olgaToken)
		form := f.fill("/console/accounts/new", cookie)
		p := f.send("POST", "/console"+path, cookie, form.Encode()+"&"+c.fields)
		if want := "olga " + c.asked + " " + form.Get("key"); len(f.asked) != 1 || strings.ReplaceAll(f.asked[0], "%2B", "+") != want || p.to != "/console"+c.to+"?done="+form.Get("key") {
			t.Errorf("%s asks %q, leads to %q\nwant %q", path, f.asked, p.to, want)
		}
	}
}

// TestFiles checks that statements and receipts are the API's own answers, for whoever has logged in.
func TestFiles(t *testing.T) {
	f := newFixture(t)
	f.api = func(_, path string, _ []byte) (int, string) {
		if path == "/admin/disclosures" {
			return 201, "{}"
		}
		return 200, path
	}
	cookie := f.login(olgaToken)
	for path, want := range map[string]string{
		"/console/accounts/acc_x/statement?from=2026-01-01&format=csv&other=1": "/admin/accounts/acc_x/statement?format=csv&from=2026-01-01",
		"/console/transactions/PIXOUT%201/receipt":                             "/admin/transactions/PIXOUT%201/receipt",
	} {
		if p := f.send("GET", path, cookie, ""); p.status != 200 || p.body != want {
			t.Errorf("%s: %d %q", path, p.status, p.body)
		}
		if p := f.send("GET", path, "", ""); p.status != 303 {
			t.Errorf("%s without a session: %d", path, p.status)
		}
	}
	if want := []string{`olga POST /admin/disclosures {"subject":"acc_x"}`}; !slices.Equal(f.asked, want) {
		t.Errorf("on record: %q", f.asked)
	}
	f.says(f.send("GET", "/console/accounts/acc_x/statement", f.login(veraToken), ""), 403, "vera is a viewer")
}

// TestRefusedFormFillsItselfAlone checks that what was filled into a refused form fills none of the others of its page.
func TestRefusedFormFillsItselfAlone(t *testing.T) {
	f := newFixture(t)
	f.api = func(method, path string, body []byte) (int, string) {
		if method == "POST" {
			return 400, `{"error":{"status":400,"message":"no such key"}}`
		}
		return shopAPI(method, path, body)
	}
	cookie := f.login(olgaToken)
	settings := fieldsOf(f.send("GET", "/console/accounts/acc_x", cookie, "").body, "/console/accounts/acc_x")
	form := f.fill("/console/accounts/acc_x", cookie, "key_type", "cpf", "pix_key", "123")
	p := f.send("POST", "/console/accounts/acc_x/pix-keys", cookie, form.Encode())
	refused := f.send("GET", p.to, cookie, "")
	f.says(refused, 200, "no such key", `name="pix_key" value="123"`)
	if got := fieldsOf(refused.body, "/console/accounts/acc_x"); len(settings) < 10 || got != settings {
		t.Errorf("the settings after a refused key are\n%s\nwant\n%s", got, settings)
	}
}

// fieldsOf are the fields of a page's form that an operator may fill in, as they stand in the page.
func fieldsOf(body, action string) string {
	_, form, _ := strings.Cut(body, `<form method="post" action="`+action+`">`)
	form, _, _ = strings.Cut(form, "</form>")
	return regexp.MustCompile(`<input type="hidden" name="(csrf|key)"[^>]*>`).ReplaceAllString(form, "")
}

// TestAccountSaysMore checks that the page of an account says of what it does not show all, and leads to the rest.
func TestAccountSaysMore(t *testing.T) {
	f := newFixture(t)
	next := `null`
	f.api = func(method, path string, body []byte) (int, string) {
		if path == "/admin/accounts/acc_x" {
			return shopAPI(method, path, body)
		}
		return 200, `{"data":[],"next_cursor":` + next + `}`
	}
	cookie := f.login(veraToken)
	leads := []string{`"/console/med?account_id=acc_x"`, `"/console/webhooks?account_id=acc_x"`, "pixd pix-key list --account acc_x", "pixd key list --account acc_x"}
	p := f.send("GET", "/console/accounts/acc_x", cookie, "")
	for _, lead := range leads {
		if strings.Contains(p.body, lead) {
			t.Errorf("a page that shows all leads to %s", lead)
		}
	}
	next = `"7"`
	f.says(f.send("GET", "/console/accounts/acc_x", cookie, ""), 200, leads...)
}
