package engine

import (
	"crypto/sha256"
	"encoding/json"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
)

// visitor is a browser that has logged in to the console. It keeps all that it has been shown.
type visitor struct {
	w     *harness
	c     http.Client
	base  string
	seen  []string // the pages
	where string   // the address of the last one, below /console
}

// tunnel sends requests as a browser does at the end of a tunnel with another port.
type tunnel struct{}

func (tunnel) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = "console.example:9"
	return http.DefaultTransport.RoundTrip(r)
}

func (w *harness) visits(token string) *visitor {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	v := &visitor{w: w, c: http.Client{Jar: jar, Timeout: soon, Transport: tunnel{}}, base: "http://" + w.AdminAddr.String() + "/console"}
	if status, _ := v.sends("/login", url.Values{"token": {token}}); status != 200 || v.where != "" {
		w.t.Fatalf("logged in: %d, at %q", status, v.where)
	}
	return v
}

func (v *visitor) took(r *http.Response, err error) (int, string) {
	v.w.t.Helper()
	if err != nil {
		v.w.t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil || r.Body.Close() != nil {
		v.w.t.Fatal(err)
	}
	v.where = strings.TrimPrefix(r.Request.URL.Path, "/console")
	v.seen = append(v.seen, r.Request.URL.String(), string(b))
	return r.StatusCode, string(b)
}

func (v *visitor) sees(path string) (int, string) {
	v.w.t.Helper()
	return v.took(v.c.Get(v.base + path))
}

// page returns what sees returns, whatever its status.
func (v *visitor) page(path string) string {
	v.w.t.Helper()
	_, text := v.sees(path)
	return text
}

func (v *visitor) sends(path string, fields url.Values) (int, string) {
	v.w.t.Helper()
	return v.took(v.c.PostForm(v.base+path, fields))
}

// form returns the hidden fields of a page's form, with more fields.
func (v *visitor) form(page, path string, more ...string) url.Values {
	v.w.t.Helper()
	_, text := v.sees(page)
	_, text, found := strings.Cut(text, `method="post" action="/console`+path+`"`)
	text, _, _ = strings.Cut(text, "</form>")
	if !found {
		v.w.t.Fatalf("%s has no form %s", page, path)
	}
	fields := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
		fields.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(more); i += 2 {
		fields.Set(more[i], more[i+1])
	}
	return fields
}

// does fills in and sends a form, and fails unless the page that follows says something.
func (v *visitor) does(page, path, says string, more ...string) string {
	v.w.t.Helper()
	status, got := v.sends(path, v.form(page, path, more...))
	if status != 200 || !strings.Contains(got, says) {
		v.w.t.Errorf("%s %v: %d, without %q: %s", path, more, status, says, mainOf(got))
	}
	return got
}

// mainOf is what a page says.
func mainOf(page string) string {
	if _, after, found := strings.Cut(page, "<main"); found {
		return after
	}
	return page
}

func match(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is not in %s", pattern, mainOf(text))
	}
	return html.UnescapeString(m[1])
}

// moved returns what the scheme's book has of the account, and what the account has.
func (w *harness) moved() string {
	w.t.Helper()
	var account struct{ Balance int64 }
	_, got := w.operate("GET", "/admin/accounts/"+w.ID, "")
	_, book := w.operate("GET", "/sim/book", "")
	if err := json.Unmarshal([]byte(got), &account); err != nil {
		w.t.Fatal(err)
	}
	_, book, _ = strings.Cut(book, `"accounts":`)
	return strconv.FormatInt(account.Balance, 10) + " " + book
}

const (
	sandbox        = "/sandbox"
	sandboxPayouts = "/sandbox/payout"
	sandboxReturns = "/sandbox/returns"
	sandboxBook    = "/sandbox/book"
	sandboxHook    = "/sandbox/webhook"
)

// TestSandboxCharge checks that a charge is made and shown, that a customer pays it, that the same payment again moves nothing
// and one more payment does, and that forms which are sent again do nothing more: in the same session, and in a later one.
func TestSandboxCharge(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	v := w.visits("token")
	if _, page := v.sees(""); !strings.Contains(page, `href="/console/sandbox"`) {
		t.Error("the menu has no sandbox")
	}
	fields := v.form(sandbox, "/sandbox/charge", "account", w.ID, "amount", "12,34", "description", "café")
	_, page := v.sends("/sandbox/charge", fields)
	id := match(t, page, `transactions\?id=(PIXIN[A-Z0-9]+)`)
	code := match(t, page, `<code>(000201[^<]+)</code>`)
	if match(t, page, `<img src="(data:image/png;base64,)[A-Za-z0-9&#;+/=]+" alt`) == "" || !strings.Contains(page, "R$ 12,34") {
		t.Errorf("the charge: %s", mainOf(page))
	}
	if _, again := v.sends("/sandbox/charge", fields); match(t, again, `transactions\?id=(PIXIN[A-Z0-9]+)`) != id {
		t.Error("the form again made another charge")
	}
	pay := v.form(sandbox, "/sandbox/pay", "payer_name", "Ana", "same", "yes", "other", "yes", "paid_at", "2026-01-05T10:00")
	if pay.Get("qr_code") != code {
		t.Errorf("the form pays %q", pay.Get("qr_code"))
	}
	v.sends("/sandbox/pay", pay)
	w.becomes("credited twice", soon, func() bool { return strings.HasPrefix(w.moved(), "1246800 ") })
	before := w.moved()
	later := w.visits("token")
	for form, was := range map[string]url.Values{"/sandbox/charge": fields, "/sandbox/pay": pay} {
		was.Set("csrf", later.form(sandbox, "/sandbox/charge").Get("csrf"))
		_, page := later.sends(form, was)
		if form == "/sandbox/charge" && match(t, page, `transactions\?id=(PIXIN[A-Z0-9]+)`) != id {
			t.Errorf("%s of an earlier session: %s", form, mainOf(page))
		}
	}
	if got := w.moved(); got != before || !strings.Contains(got, `"received":246800,`) {
		t.Errorf("%s\n before %s", got, before)
	}
	end := match(t, v.page(sandbox), `transactions\?id=(E99999003[0-9]{12}[A-Z0-9]{11})`)
	if _, page := v.sees(sandboxBook + "?id=" + end); !strings.Contains(page, "2026-01-05") && !strings.Contains(page, "05/01/2026 10:00:00") {
		t.Errorf("the scheme's date: %s", mainOf(page))
	}
	v.does(sandbox, "/sandbox/pay-key", "R$ 1,50", "pix_key", w.EVP, "amount", "1,5", "payer_ispb", "60701190")
	v.does(sandbox, "/sandbox/pay-key", "no account has this PIX key", "pix_key", "nobody@example.com", "amount", "1")
	v.does(sandbox, "/sandbox/pay-key", "ispb", "pix_key", w.EVP, "amount", "1", "payer_ispb", "x")
	v.does(sandbox, "/sandbox/charge", "Valor: valor inválido", "account", w.ID, "amount", "0,001")
	v.does(sandbox, "/sandbox/charge", "no account", "account", "acc_aaaaaaaaaaaao", "amount", "1")
	w.noSecrets(v)
}

// TestSandboxPayouts checks that each scripted outcome is what the merchant is answered.
func TestSandboxPayouts(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.SettleDelay = time.Second }) // no answer waits so long
	v := w.visits("token")
	for outcome, answer := range map[string]string{
		"settle_now": "200 settled", "reject": "202 accepted", "silent": "202 accepted", "returned": "202 accepted", "owner": "202 accepted",
		"not_found": "400 dict_key_not_found", "blocked": "400 dict_key_blocked", "lookup_failed": "400 dict_lookup_failed",
		"client_limited": "202 queued", "client_limited_n": "202 queued", "bucket_exhausted": "202 queued", "bucket_exhausted_n": "202 queued",
		"send_rate_limited": "400 dict_rate_limited", "send_bucket_exhausted": "400 dict_bucket_exhausted", "provider_rejected": "400 provider_rejected",
		"provider_schema_error": "400 provider_schema_error", "provider_unknown": "400 provider_unknown_error", "own": "202 accepted",
	} {
		status, word, _ := strings.Cut(answer, " ")
		page := v.does(sandboxPayouts, "/sandbox/payout", "<strong>"+status+"</strong>", "account", w.ID, "amount", "1", "outcome", outcome, "pix_key", "ana@example.com")
		if !strings.Contains(page, "&#34;"+word+"&#34;") || (status[0] == '2') != strings.Contains(page, "/console/transactions?id=PIXOUT") {
			t.Errorf("%s: %s", outcome, mainOf(page))
		}
	}
	v.does(sandboxPayouts, "/sandbox/payout", "inválido", "account", w.ID, "amount", "1", "outcome", "none")
	w.becomes("a return", soon, func() bool { return strings.Contains(w.moved(), `"returned_to":10000`) })
	fields := v.form(sandboxPayouts, "/sandbox/payout", "account", w.ID, "amount", "7", "outcome", "settle_now")
	before := len(v.transactions())
	for range 3 {
		v.sends("/sandbox/payout", fields)
	}
	later := w.visits("token")
	fields.Set("csrf", later.form(sandbox, "/sandbox/charge").Get("csrf"))
	later.sends("/sandbox/payout", fields)
	if n := len(v.transactions()) - before; n != 1 {
		t.Errorf("one form paid out %d times", n)
	}
	w.noSecrets(v)
}

// transactions returns the account's payouts.
func (v *visitor) transactions() (all []string) {
	_, got := v.w.operate("GET", "/admin/accounts/"+v.w.ID+"/transactions?limit=100&direction=outbound", "")
	return regexp.MustCompile(`"transaction_id":"PIXOUT`).FindAllString(got, -1)
}

// TestSandboxScheme checks returns, reports and their withdrawal, the directory's capacity, and the books beside each other.
func TestSandboxScheme(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	v := w.visits("token")
	page := v.does(sandboxPayouts, "/sandbox/payout", "<strong>200</strong>", "account", w.ID, "amount", "10", "outcome", "settle_now")
	sent := match(t, page, `(E99999004[0-9A-Za-z]{23})`)
	page = v.does(sandbox, "/sandbox/pay-key", "R$ 20,00", "pix_key", w.EVP, "amount", "20")
	got := match(t, page, `transactions\?id=(E99999003[0-9A-Z]{23})`)
	w.becomes("credited", soon, func() bool { return strings.HasPrefix(w.moved(), "1100000 ") })
	if page = v.page(sandboxReturns); !strings.Contains(page, sent) || !strings.Contains(page, got) {
		t.Errorf("the newest transactions: %s", mainOf(page))
	}
	for _, situation := range provider.Situations {
		if !strings.Contains(page, "<option>"+situation+"</option>") {
			t.Errorf("no report can be about %s", situation)
		}
	}
	v.does(sandboxReturns, "/sandbox/returns", "Devolução feita", "end_to_end_id", sent, "amount", "4", "reason", "AM09")
	v.does(sandboxReturns, "/sandbox/returns", "more than is left", "end_to_end_id", sent, "amount", "7")
	page = v.does(sandboxReturns, "/sandbox/infractions", "Notificação aberta", "end_to_end_id", got, "amount", "5", "situation", "COERCION")
	report := match(t, page, `<dt>Notificação aberta\.</dt><dd>([^<]+)</dd>`)
	w.becomes("a case", soon, func() bool { return strings.Contains(v.page("/med"), "COERCION") })
	v.does(sandboxReturns, "/sandbox/infractions/cancel", "Notificação retirada", "infraction", report)
	v.does(sandboxReturns, "/sandbox/infractions/cancel", "no such infraction", "infraction", "none")
	old := v.form(sandboxReturns, "/sandbox/returns", "end_to_end_id", sent, "amount", "1")
	later := w.visits("token")
	old.Set("csrf", later.form(sandbox, "/sandbox/charge").Get("csrf"))
	if _, page := later.sends("/sandbox/returns", old); !strings.Contains(page, "sessão anterior") {
		t.Errorf("a return of an earlier session: %s", mainOf(page))
	}
	v.does(sandboxBook, "/sandbox/capacity", "limite do cliente", "lookups", "client_limited")
	v.does(sandboxPayouts, "/sandbox/payout", "queued", "account", w.ID, "amount", "1", "outcome", "own", "pix_key", "ana@example.com")
	v.does(sandboxBook, "/sandbox/capacity", "disponível", "lookups", "available")
	w.becomes("returned", soon, func() bool { return strings.Contains(w.moved(), `"returned_to":40000`) })
	if page := v.page(sandboxBook); !strings.Contains(page, "sem auditoria") {
		t.Errorf("before any audit: %s", mainOf(page))
	}
	w.becomes("the books agree", soon, func() bool {
		v.sends("/audit", v.form(sandboxBook, "/audit"))
		w.becomes("audited", soon, func() bool {
			_, got := w.operate("GET", "/admin/audit/run", "")
			return strings.Contains(got, `"running":null`)
		})
		page := v.page(sandboxBook)
		return strings.Contains(page, "batem</td>") && strings.Count(page, "R$ 4,00") == 2
	})
	v.does(sandbox, "/sandbox/pay-key", "R$ 3,00", "pix_key", w.EVP, "amount", "3")
	if page := v.page(sandboxBook); !strings.Contains(page, "diferem") {
		t.Errorf("a payment since the audit: %s", mainOf(page))
	}
	if page := v.page(sandboxBook + "?id=" + sent); !strings.Contains(page, "R$ 4,00 (AM09)") {
		t.Errorf("the payout in the book: %s", mainOf(page))
	}
	if page := v.page(sandboxBook + "?id=E1"); !strings.Contains(page, "no such payment") {
		t.Errorf("an unknown one: %s", mainOf(page))
	}
}

// TestSandboxWebhook checks that events come to the session that subscribed, that each is shown with its signature, and that the
// subscription is removed again.
func TestSandboxWebhook(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.WebhookInsecure = true })
	v := w.visits("token")
	fields := v.form(sandboxHook, "/sandbox/webhook", "account", w.ID)
	_, page := v.sends("/sandbox/webhook", fields)
	hook := match(t, page, `(whk_[a-z0-9]+)`)
	v.sends("/sandbox/webhook", fields)
	v.does(sandbox, "/sandbox/pay-key", "R$ 3,00", "pix_key", w.EVP, "amount", "3")
	w.becomes("an event", soon, func() bool { return strings.Contains(v.page(sandboxHook), "pix.received") })
	page = v.page(sandboxHook + "?event=1")
	header := match(t, page, `<dt>webhook-signature</dt><dd><code>(v1,[^<]+)</code>`)
	if n := strings.Count(html.UnescapeString(page), header); n != 3 || !strings.Contains(page, "são iguais") || strings.Contains(page, "confere</span>") {
		t.Errorf("the signature %q is there %d times: %s", header, n, mainOf(page))
	}
	random := w.hookPath(hook)
	if strings.Contains(page, random) {
		t.Error("the page shows the path")
	}
	other := w.visits("token")
	if page := other.page(sandboxHook + "?account=" + w.ID); !strings.Contains(page, hook) || strings.Contains(page, "evt_") {
		t.Errorf("another session: %s", mainOf(page))
	}
	w.noSecrets(v)
	v.does(sandboxHook, "/sandbox/webhook/remove", "Inscrição removida")
	if status, _, _ := w.send("POST", "http://"+w.AdminAddr.String()+random, "{}"); status != 404 {
		t.Errorf("after the removal: %d", status)
	}
	if _, got := w.operate("GET", "/admin/webhooks?account_id="+w.ID, ""); !strings.Contains(got, `"removed":true`) {
		t.Errorf("%s", got)
	}
}

// hookPath returns the path of a subscription's URL.
func (w *harness) hookPath(hook string) string {
	w.t.Helper()
	_, got := w.operate("GET", "/admin/webhooks?account_id="+w.ID, "")
	_, after, _ := strings.Cut(got, hook)
	return match(w.t, after, `"url":"http://`+regexp.QuoteMeta(w.AdminAddr.String())+`(/console/sandbox/received/[A-Za-z0-9_-]{43})"`)
}

// TestSandboxHookRefused checks that without --webhook-allow-insecure the merchant API's refusal is shown.
func TestSandboxHookRefused(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	v := w.visits("token")
	if page := v.does(sandboxHook, "/sandbox/webhook", "recusou com 400", "account", w.ID); !strings.Contains(page, "bad_request") {
		t.Errorf("%s", mainOf(page))
	}
}

// TestSandboxReceiverBounds checks that a session keeps the newest 50 webhooks of at most 64 KiB, and takes none once it has ended.
func TestSandboxReceiverBounds(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.WebhookInsecure = true })
	v := w.visits("token")
	page := v.does(sandboxHook, "/sandbox/webhook", "Inscrito", "account", w.ID)
	at := "http://" + w.AdminAddr.String() + w.hookPath(match(t, page, `(whk_[a-z0-9]+)`))
	post := func(to, body, id string) int {
		status, _, _ := w.send("POST", to, body, "webhook-id", id, "webhook-timestamp", "1", "webhook-signature", "v1,AAAA")
		return status
	}
	for n := range 53 {
		if status := post(at, "{}", "n"+strconv.Itoa(n)+"n"); status != 204 {
			t.Fatalf("webhook %d: %d", n, status)
		}
	}
	page = v.page(sandboxHook)
	if n := strings.Count(page, "não confere"); n != 50 || strings.Contains(page, ">n2n<") || !strings.Contains(page, ">n3n<") || !strings.Contains(page, ">n52n<") {
		t.Errorf("%d are kept: %s", n, mainOf(page))
	}
	if status := post(at, strings.Repeat("x", 64<<10), "long"); status != 204 {
		t.Errorf("64 KiB: %d", status)
	}
	if status := post(at, strings.Repeat("x", 64<<10+1), "longer"); status != 413 {
		t.Errorf("more than 64 KiB: %d", status)
	}
	for _, path := range []string{at[:len(at)-1], at + "a", "http://" + w.AdminAddr.String() + "/console/sandbox/received/x"} {
		if status := post(path, "{}", "x"); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	v.sends("/logout", url.Values{"csrf": {v.form(sandbox, "/sandbox/charge").Get("csrf")}})
	if status := post(at, "{}", "x"); status != 404 {
		t.Errorf("after the logout: %d", status)
	}
	own, _ := pix.ParseAccountID(w.ID)
	a, _ := w.Registry.Account(own)
	for _, id := range a.APIKeys {
		if k, _ := w.Registry.APIKey(id); k.Active != (id == w.Key) {
			t.Errorf("after the logout %s is active: %v", id, k.Active)
		}
	}
	if len(a.APIKeys) < 2 {
		t.Errorf("the session has made no credential: %v", a.APIKeys)
	}
}

// noSecrets checks that no page and no address has had a secret of the account's credentials or webhooks.
func (w *harness) noSecrets(v *visitor) {
	w.t.Helper()
	own, _ := pix.ParseAccountID(w.ID)
	a, ok := w.Registry.Account(own)
	if !ok || len(a.APIKeys) < 2 {
		w.t.Fatalf("the session has made no credential: %v", a)
	}
	hashes := map[[sha256.Size]byte]string{}
	for _, id := range a.APIKeys {
		k, _ := w.Registry.APIKey(id)
		hashes[k.SecretHash] = id
		if id != w.Key && (k.ExpiresAt == 0 || strings.Join(k.Whitelist, " ") != "127.0.0.1") {
			w.t.Errorf("the session's credential: until %v from %v", k.ExpiresAt, k.Whitelist)
		}
	}
	if hashes[sha256.Sum256([]byte(w.Sec))] != w.Key {
		w.t.Fatal("the search would not find a secret")
	}
	long := regexp.MustCompile(`[A-Za-z0-9_-]{43,}`)
	for _, text := range v.seen {
		for _, word := range long.FindAllString(text, -1) {
			for i := range len(word) - 42 {
				if id := hashes[sha256.Sum256([]byte("sk_"+word[i:i+43]))]; id != "" {
					w.t.Errorf("the secret of %s is in a page", id)
				}
			}
		}
		if regexp.MustCompile(`whsec_[A-Za-z0-9+/]{8}`).MatchString(text) {
			w.t.Error("a webhook's secret is in a page")
		}
	}
}

// TestSandboxViewer checks that a viewer reads the sandbox and is refused all else.
func TestSandboxViewer(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	var made struct{ Token string }
	if status, got := w.operate("POST", "/admin/operators", `{"name":"ana","role":"viewer"}`); status != 201 || json.Unmarshal([]byte(got), &made) != nil {
		t.Fatalf("%d %s", status, got)
	}
	v := w.visits(made.Token)
	before := w.moved()
	csrf := match(t, v.page(sandbox), `name="csrf" value="([^"]+)"`)
	for path, fields := range map[string]string{
		"/sandbox/charge": "amount=1", "/sandbox/pay-key": "amount=1&made=2026-01-01T00:00:00Z&pix_key=" + w.EVP, "/sandbox/payout": "amount=1&outcome=silent",
		"/sandbox/infractions/cancel": "infraction=x", "/sandbox/capacity": "lookups=available", "/sandbox/webhook/remove": "webhook=x",
	} {
		form, _ := url.ParseQuery(fields)
		form.Set("csrf", csrf)
		form.Set("account", w.ID)
		form.Set("key", "a key of another session "+path[9:])
		if _, page := v.sends(path, form); !strings.Contains(page, "is a viewer") {
			t.Errorf("%s: %s", path, mainOf(page))
		}
	}
	own, _ := pix.ParseAccountID(w.ID)
	if a, _ := w.Registry.Account(own); len(a.APIKeys) != 1 || w.moved() != before {
		t.Errorf("%v %s", a.APIKeys, w.moved())
	}
	for _, path := range []string{sandbox, sandboxPayouts, sandboxReturns, sandboxBook, sandboxHook} {
		if status, page := v.sees(path); status != 200 || strings.Contains(mainOf(page), `method="post"`) {
			t.Errorf("%s: %d %s", path, status, mainOf(page))
		}
	}
}

// plain sends a request of an operator that the documents of the APIs need not have.
func (w *harness) plain(method, path, body, token string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://"+w.AdminAddr.String()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Cookie", "c=1")
	v := visitor{w: w}
	return v.took(v.c.Do(r))
}

// TestNoSandbox checks that beside another scheme there is none.
func TestNoSandbox(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	v := w.visits("token")
	if _, page := v.sees(""); strings.Contains(page, "andbox") {
		t.Error("the menu has it")
	}
	for _, path := range []string{sandbox, sandboxPayouts, sandboxReturns, sandboxBook, sandboxHook} {
		if status, _ := v.sees(path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"/sandbox/charge", "/sandbox/received/x"} {
		if status, _ := v.sends(path, url.Values{}); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := w.plain("GET", "/sim/book", "", "token"); status != 404 {
		t.Errorf("/sim/book: %d", status)
	}
}

// TestSimElsewhere checks that with the token of a simulator in another process /sim of the operator API reaches it under that
// token alone, and that the sandbox is there.
func TestSimElsewhere(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside, func(c *Config) { c.SimToken = " the simulator's own token\n" })
	var got []string
	var kept bool // a connection was to be kept
	status := 201
	serve := fasthttp.RequestHandler(func(ctx *fasthttp.RequestCtx) {
		got = append(got, string(ctx.Method())+" "+string(ctx.RequestURI())+" "+string(ctx.Request.Header.Peek("Authorization"))+" "+string(ctx.Request.Header.Peek("Cookie"))+string(ctx.PostBody()))
		kept = kept || !ctx.Request.ConnectionClose()
		ctx.SetStatusCode(status)
		ctx.SetContentType("application/json")
		ctx.SetBodyString(`{"end_to_end_id":"E","amount":5}`)
	})
	o.instead.Store(&serve)
	if code, text := w.plain("POST", "/sim/none?a=b%20c", `{"x":1}`, "token"); code != 201 || text != `{"end_to_end_id":"E","amount":5}` ||
		len(got) != 1 || got[0] != `POST /sim/none?a=b%20c Bearer the simulator's own token {"x":1}` {
		t.Errorf("%d %s, passed on as %q", code, text, got)
	}
	if code, _ := w.plain("GET", "/sim/none", "", "another"); code != 401 || len(got) != 1 {
		t.Errorf("without the operator's token: %d, passed on as %q", code, got)
	}
	if code, _ := w.operate("POST", "/simx", ""); code != 404 || len(got) != 1 {
		t.Errorf("another path: %d, passed on as %q", code, got)
	}
	var made struct{ Token string }
	if _, text := w.operate("POST", "/admin/operators", `{"name":"ana","role":"viewer"}`); json.Unmarshal([]byte(text), &made) != nil {
		t.Fatal(text)
	}
	if code, _ := w.plain("POST", "/sim/none", "", made.Token); code != 403 || len(got) != 1 {
		t.Errorf("a viewer writes: %d, passed on as %q", code, got)
	}
	if code, _ := w.plain("GET", "/sim/none", "", made.Token); code != 201 || len(got) != 2 {
		t.Errorf("a viewer reads: %d, passed on as %q", code, got)
	}
	if code, _ := w.visits("token").sees(sandbox); code != 200 {
		t.Errorf("the sandbox: %d", code)
	}
	for _, status = range []int{401, 429} {
		if code, text := w.plain("GET", "/sim/none", "", "token"); code != 502 || !strings.Contains(text, "PIXD_SIM_TOKEN") || strings.Contains(text, "own token") {
			t.Errorf("the simulator answers %d: %d %s", status, code, text)
		}
	}
	if kept {
		t.Error("a connection is kept: once it has ended, a request on it would fail, and may not be repeated")
	}
}

// TestSimElsewhereUnknown checks what is said where the simulator has read a request and not answered it.
func TestSimElsewhereUnknown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1000))
			_ = c.Close()
		}
	}()
	w := newHarness(t, vfs.NewMem(), func(c *Config) {
		c.Scheme, c.SchemeSecret, c.SimToken, c.SchemeTimeout = "http://"+l.Addr().String(), strings.Repeat("s", provider.SecretBytes), "t", time.Second
	})
	if code, text := w.plain("POST", "/sim/returns", "{}", "token"); code != 503 || !strings.Contains(text, "may have done it") {
		t.Errorf("%d %s", code, text)
	}
}

// TestSimElsewhereGone checks what is answered while the simulator cannot be reached.
func TestSimElsewhereGone(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) {
		c.Scheme, c.SchemeSecret, c.SimToken, c.SchemeTimeout = "http://127.0.0.1:1", strings.Repeat("s", provider.SecretBytes), "t", time.Second
	})
	code, text := w.plain("GET", "/sim/none", "", "token")
	if code != 502 || !strings.Contains(text, `"the simulator at --scheme: it cannot be reached"`) {
		t.Errorf("%d %s", code, text)
	}
	if status, page := w.visits("token").sees(sandboxBook); status != 502 || !strings.Contains(page, "cannot be reached") {
		t.Errorf("%d %s", status, mainOf(page))
	}
}
