package console

import (
	"html"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"pixd/httpapi/admin"
)

// evil is in every text that the API answers in these tests.
const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

// filled returns a value with a text, a number, or one entry everywhere.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[*big.Int]():
		return reflect.ValueOf(big.NewInt(123_456_789))
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() || t.Field(i).Anonymous && t.Field(i).Type.Kind() == reflect.Struct {
				if f := v.Field(i); f.CanSet() {
					f.Set(filled(t.Field(i).Type))
				}
			}
		}
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case t.Kind() == reflect.String:
		v.SetString(evil)
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(12_345_678)
	case v.CanUint():
		v.SetUint(12_345_678)
	}
	return v
}

// like is the API's answer of a type, with evil texts.
func like[T any]() string {
	b, err := json.Marshal(filled(reflect.TypeFor[T]()).Interface())
	if err != nil {
		panic(err)
	}
	return string(b)
}

// answers are the API's answers by the beginnings of their paths, the more special ones first.
var answers = []struct{ path, answer string }{
	{"/admin/payouts?", like[list[payout]]()},
	{"/admin/actions?", like[list[action]]()},
	{"/admin/accounts?", like[list[admin.Account]]()},
	{"/admin/accounts/acc_x/pix-keys", like[list[admin.PixKey]]()},
	{"/admin/accounts/acc_x/api-keys", like[list[admin.APIKey]]()},
	{"/admin/accounts/acc_x/transactions", like[list[item]]()},
	{"/admin/accounts/acc_x", like[admin.Account]()},
	{"/admin/webhooks?", like[list[admin.Webhook]]()},
	{"/admin/webhook-deliveries?", like[list[delivery]]()},
	{"/admin/med?", strings.Replace(like[list[specialReturn]](), `"next_cursor"`, `"other"`, 1)},
	{"/admin/med/", like[specialReturn]()},
	{"/admin/transactions/x/history", like[life]()},
	{"/admin/alerts?", strings.Replace(like[list[alert]](), `"next_cursor"`, `"other"`, 1)},
	{"/admin/audit/run", like[struct{ Running, Last *auditRun }]()},
	{"/admin/snapshots?", like[snapshotList]()},
}

func evilAPI(_, path string, _ []byte) (int, string) {
	for _, a := range answers {
		if strings.HasPrefix(path, a.path) {
			return 200, a.answer
		}
	}
	return 404, `{"error":{"status":404,"message":"no such path"}}`
}

// TestAuditSays checks what the page says of audits that agree, differ, and were not compared with the scheme's book.
func TestAuditSays(t *testing.T) {
	f := newFixture(t)
	cookie := f.login(veraToken)
	f.api = func(string, string, []byte) (int, string) {
		return 200, `{"running":null,"last":{"agrees":true,"report":{"book":"compared"}}}`
	}
	f.says(f.send("GET", "/console/audit", cookie, ""), 200, "<dd>comparado</dd>")
	for audit, want := range map[string]string{
		`{"agrees":true,"report":{"book":"compared"}}`: "audit_agrees", `{"agrees":false,"report":{"book":"compared"}}`: "audit_differs",
		`{"agrees":true,"report":{"book":"not compared: there is none"}}`: "audit_alone", `{"agrees":null,"report":null,"error":"x"}`: "",
	} {
		f.api = func(string, string, []byte) (int, string) {
			return 200, `{"running":{"stage":"records","accounts_done":1},"last":` + audit + `}`
		}
		p := f.send("GET", "/console/audit", cookie, "", "Accept-Language", "en")
		f.says(p, 200, "reading records, 1 / 0")
		for _, word := range []string{"audit_agrees", "audit_differs", "audit_alone"} {
			if strings.Contains(html.UnescapeString(p.body), english.say(word)) != (word == want) {
				t.Errorf("%s: %s", audit, p.body)
			}
		}
	}
}

// TestDesk checks that cases that are defended are shown beside however many open ones, by their deadlines, and that the page
// says where it does not show all.
func TestDesk(t *testing.T) {
	f := newFixture(t)
	f.api = func(_, path string, _ []byte) (int, string) {
		if strings.Contains(path, "status=defended") {
			return 200, `{"data":[{"id":"med_due","status":"defended","analysis_due_at":"2026-01-01T00:00:00Z"}],"next_cursor":null}`
		}
		return 200, `{"data":[` + strings.Repeat(`{"id":"med_o","status":"open","deadline_at":"2026-09-01T00:00:00Z"},`, 199) + `{"id":"med_o","status":"open"}],"next_cursor":"7"}`
	}
	p := f.send("GET", "/console/med", f.login(veraToken), "", "Accept-Language", "en")
	f.says(p, 200, "There are more cases", "overdue by")
	if due, open := strings.Index(p.body, "med_due"), strings.Index(p.body, "2026-08-31"); due < 0 || open < due {
		t.Errorf("the case that is due is at %d, the open ones at %d", due, open)
	}
}

// TestRecordMasks checks that the record of actions shows no whole document.
func TestRecordMasks(t *testing.T) {
	f := newFixture(t)
	f.api = func(string, string, []byte) (int, string) {
		return 200, `{"data":[{"method":"DELETE","path":"/admin/accounts/acc_x/pix-keys/12345678909","body":"{\"document\":\"12345678000195\",\"amount\":12345678909}"}],"next_cursor":null}`
	}
	p := f.send("GET", "/console/actions", f.login(veraToken), "")
	f.says(p, 200, "/pix-keys/***.456.789-**", "12.345.678/****-**", "amount&#34;:12345678909")
	if strings.Contains(p.body, "12345678000195") || strings.Contains(p.body, "pix-keys/12345678909") {
		t.Errorf("%s", p.body)
	}
	for text, want := range map[string]string{
		`{"document":"529.982.247-25"}`: `{"document":"***.982.247-**"}`, `{"key":" 52998224725 "}`: `{"key":"***.982.247-**"}`,
		`{"document":"12.345.678/0001-95"}`: `{"document":"12.345.678/****-**"}`, `{"authorized_cnpjs":["12345678000195","12.ABC.345/01DE-35"]}`: `{"authorized_cnpjs":["12.345.678/****-**","12.ABC.345/****-**"]}`,
		`{"expires_at":"2026-11-27T15:00:00Z","key":"+5511999999999"}`: `{"expires_at":"2026-11-27T15:00:00Z","key":"+5511999999999"}`, `{"name":"A-1"}`: `{"name":"A-1"}`,
	} {
		if got := withoutDocuments(text); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// element finds an element that a text of the API would have made.
var element = regexp.MustCompile(`<script>|<img src=x|onerror=alert\(1\)>[^<]*"|href="[^"]*<`)

// TestPages draws each page in each language with evil texts, for whoever may write and who may not.
func TestPages(t *testing.T) {
	f := newFixture(t)
	f.api = evilAPI
	f.live.Publish(Figures{At: f.now, Payments: 1234.56, Queued: 3, Role: evil})
	for _, token := range []string{rootToken, veraToken} {
		cookie := f.login(token)
		for _, p := range allPages {
			if strings.HasPrefix(p.path, "/sandbox") {
				continue // tested with a simulator
			}
			path := Path + strings.Replace(p.path, "{id}", map[bool]string{true: "acc_x", false: "med_x"}[strings.HasPrefix(p.path, "/accounts")], 1)
			if p.path == "/transactions" {
				path += "?id=x"
			}
			for _, lang := range []string{"pt-BR", "en"} {
				got := f.send("GET", path, cookie, "", "Accept-Language", lang)
				if got.status != 200 || !strings.HasSuffix(got.body, "</html>\n") && !strings.HasSuffix(got.body, "</html>") {
					t.Errorf("%s: %d %s", path, got.status, got.body)
				}
				if found := element.FindString(got.body); found != "" {
					t.Errorf("%s: %q in\n%s", path, found, got.body)
				}
				if !strings.Contains(got.body, `<html lang="`+lang+`">`) || got.header("Content-Security-Policy") != policy || got.header("Cache-Control") != "no-store" {
					t.Errorf("%s in %s: language or headers", path, lang)
				}
				if strings.Contains(got.body, "(0x") || strings.Contains(got.body, "_0x") {
					t.Errorf("%s shows a pointer", path)
				}
				for _, secret := range []string{token, cookie} {
					if strings.Contains(got.body, secret) {
						t.Errorf("%s shows a secret", path)
					}
				}
			}
		}
	}
	if f.drawn.Len() > 0 {
		t.Errorf("log: %s", f.drawn.String())
	}
}

// TestFailedPage checks what a page says that the API refuses, or of which the outcome is unknown.
func TestFailedPage(t *testing.T) {
	f := newFixture(t)
	for status, want := range map[int]struct {
		status int
		text   string
	}{404: {404, "no such &lt;account&gt;"}, 503: {503, "no such &lt;account&gt;"}, 0: {502, "Não se sabe"}, 200: {500, "Erro interno"}} {
		f.api = func(string, string, []byte) (int, string) {
			if status == 200 {
				return 200, "no JSON"
			}
			return status, `{"error":{"status":404,"message":"no such <account>"}}`
		}
		f.says(f.send("GET", "/console/accounts/acc_x", f.login(olgaToken), ""), want.status, want.text, "Não foi possível")
	}
}

var said = regexp.MustCompile(`say \$?v?\.?\$?[.\w]*Lang "([a-z0-9_]+)"|say\("([a-z0-9_]+)"|did\([^\n]*?, "([a-z_]+)"|\{Name: "([a-z0-9_]+)"|"(?:one|two|three)", "([a-z0-9_]+)"|Word: +"([a-z0-9_]+)"|\{"(plot_[a-z]+)"|return "(itself_[a-z]+)"`)

// TestWords checks that each word which a page or the code names is there in both languages, and that none is there for
// nobody.
func TestWords(t *testing.T) {
	names, pages := map[string]bool{}, ""
	files, _ := filepath.Glob("*.go")
	templates, _ := filepath.Glob("pages/*.html")
	for _, file := range append(files, templates...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "vocabulary") {
			continue
		}
		pages += string(text)
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			for _, name := range m[1:] {
				if name != "" && !strings.HasSuffix(name, "_") {
					names[name] = true
				}
			}
		}
	}
	for _, p := range allPages {
		names[p.name] = true
	}
	for name := range names {
		if both, ok := words[name]; !ok || both[0] == "" || both[1] == "" {
			t.Errorf("no word %q", name)
		}
	}
	for name, both := range words {
		if strings.Count(both[0], "%") != strings.Count(both[1], "%") {
			t.Errorf("%s: %q", name, both)
		}
		if !names[name] && !strings.Contains(pages, `"`+name+`"`) && !fromAPI(name) {
			t.Errorf("nobody says %q", name)
		}
	}
}

// fromAPI reports whether a word is one that the API answers with: of a line of time, or a status.
func fromAPI(name string) bool {
	for _, prefix := range []string{"case_", "delivery", "verify_", "stage_", "payout_", "refund_", "charge_", "payment_", "return_", "sandbox", "script_", "tab_", "capacity_", "book_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"credited", "original", "event", "approval_first", "registered", "removed", "pending", "inbound", "outbound", "pix", "ted", "internal",
		"active", "queued", "sending", "pending_approval", "accepted", "settled", "rejected", "failed", "completed", "processing", "refused", "dropped", "delivered", "dead", "approved", "declined",
	}, name)
}

// TestAlertsPages checks that alerts are read the newest first, a page at a time.
func TestAlertsPages(t *testing.T) {
	f := newFixture(t)
	var read []string
	f.api = func(_, path string, _ []byte) (int, string) {
		read = append(read, path)
		return 200, `{"data":[{"id":"alr_a","kind":"low_disk","message":"little disk","created_at":"2026-09-21T14:13:20.000Z"}],"next_cursor":"1790000000001/alr_b"}`
	}
	cookie := f.login(veraToken)
	p := f.send("GET", "/console/alerts?hours=168", cookie, "")
	f.says(p, 200, "little disk", `href="?cursor=1790000000001%2Falr_b&amp;hours=168"`)
	f.says(f.send("GET", "/console/alerts?cursor=1790000000001%2Falr_b&hours=168", cookie, ""), 200, "little disk")
	want := []string{
		"/admin/alerts?cursor=&limit=100&order=newest&since=2026-09-14T14%3A13%3A20.000Z",
		"/admin/alerts?cursor=1790000000001%2Falr_b&limit=100&order=newest&since=2026-09-14T14%3A13%3A20.000Z",
	}
	if !slices.Equal(read, want) {
		t.Errorf("%q", read)
	}
}

// TestUnknownTransaction checks that the search of a transaction that there is not stays on the page, with what was searched for.
func TestUnknownTransaction(t *testing.T) {
	f := newFixture(t)
	f.api = func(string, string, []byte) (int, string) {
		return 404, `{"error":{"status":404,"message":"no transaction \"E1\""}}`
	}
	f.says(f.send("GET", "/console/transactions?id=E1", f.login(veraToken), ""), 200, "no transaction &#34;E1&#34;", `name="id" size="36" value="E1"`)
}

// TestMenuMarks checks that the menu marks the page itself, or the one that leads to it.
func TestMenuMarks(t *testing.T) {
	for page, want := range map[string]string{"accounts": "accounts", "account": "accounts", "case": "med", "med": "med", "deliveries": "webhooks", "login": ""} {
		v := &visit{console: newFixture(t).console(), Page: page}
		got := ""
		for _, e := range v.Menu() {
			if e.Here {
				got += e.Word
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}
