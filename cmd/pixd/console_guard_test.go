package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// visitor is a session of the console without a browser.
type visitor struct {
	t      *testing.T
	base   string
	cookie *http.Cookie
	csrf   string
}

// cookieOf is the name of the session's cookie of a console.
func cookieOf(base string) string { return "pixd_session_" + base[strings.LastIndex(base, ":")+1:] }

// visits logs an operator in.
func visits(t *testing.T, base, token string) *visitor {
	t.Helper()
	v := &visitor{t: t, base: base}
	answer, _ := v.send("POST", "/login", url.Values{"token": {token}})
	for _, k := range answer.Cookies() {
		if k.Name == cookieOf(base) {
			v.cookie = k
		}
	}
	if answer.StatusCode != http.StatusSeeOther || v.cookie == nil {
		t.Fatalf("the login is answered with %d %v", answer.StatusCode, answer.Header)
	}
	_, page := v.send("GET", "/actions", nil)
	_, after, _ := strings.Cut(page, `name="csrf" value="`)
	if v.csrf, _, _ = strings.Cut(after, `"`); v.csrf == "" {
		t.Fatal(page)
	}
	return v
}

// send sends a request with the session's cookie and follows no redirect.
func (v *visitor) send(method, path string, form url.Values) (*http.Response, string) {
	v.t.Helper()
	r, err := newRequest(method, v.base+"/console"+path, []byte(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
	if err != nil {
		v.t.Fatal(err)
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	once := &http.Client{Timeout: client.Timeout, Transport: client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := once.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil {
		err = answer.Body.Close()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return answer, string(body)
}

// TestConsoleViewer checks that a viewer sees no button that writes, and that a form made by hand is refused by the API.
func TestConsoleViewer(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	hook := c.subscribed("")
	id := c.opened(c.paid("Ana"))
	payout := c.waiting(1)[0]
	b := c.tab("vera")
	for _, path := range []string{
		"", "/approvals", "/accounts", "/accounts/new", "/accounts/" + c.ID, "/transactions?id=" + payout, "/med", "/med/" + id,
		"/webhooks", "/deliveries?status=", "/alerts", "/audit", "/snapshots", "/actions",
	} {
		b.open(path)
		if got := b.count(`main form[method="post"]:not([role="search"]) :is(button, input:not([type=hidden]))`); got != "0" {
			t.Errorf("a viewer sees %s fields that write at %s", got, path)
		}
	}
	v := visits(t, c.process.operator, c.tokens["vera"])
	for path, form := range map[string]url.Values{
		"/approvals":                             {"word": {"approve"}, "payout": {payout}},
		"/accounts/new":                          {"name": {"x"}, "document": {"12345678909"}},
		"/accounts/" + c.ID:                      {"name": {"x"}, "was_name": {"Loja"}},
		"/accounts/" + c.ID + "/active":          {"active": {"no"}},
		"/accounts/" + c.ID + "/pix-keys":        {"key_type": {"evp"}},
		"/accounts/" + c.ID + "/pix-keys/remove": {"pix_key_mark": {c.keyMark()}},
		"/accounts/" + c.ID + "/api-keys/revoke": {"client_id": {c.Client}},
		"/disclosures":                           {"subject": {c.ID}},
		"/med/" + id + "/close":                  {"result": {"AGREED"}},
		"/med/" + id + "/refund":                 {},
		"/med/" + id + "/resume":                 {},
		"/deliveries":                            {"delivery": {"dlv_x"}},
		"/webhooks/retry":                        {"webhook": {hook}},
		"/webhooks/pause":                        {"webhook": {hook}, "active": {"no"}},
		"/audit":                                 {},
		"/snapshots":                             {},
		"/snapshots/verify":                      {"file": {"pixd-1.snap"}},
	} {
		form.Set("csrf", v.csrf)
		form.Set("key", "made-by-hand"+strings.ReplaceAll(path[max(0, len(path)-40):], "/", "-"))
		answer, _ := v.send("POST", path, form)
		if answer.StatusCode != http.StatusSeeOther {
			t.Errorf("POST %s: %d", path, answer.StatusCode)
			continue
		}
		_, page := v.send("GET", strings.TrimPrefix(answer.Header.Get("Location"), "/console"), nil)
		if !strings.Contains(page, "vera is a viewer, who may read alone") {
			t.Errorf("%s is not refused: %s", path, page)
		}
	}
	c.untouched(payout, id)
	for _, one := range c.recorded("vera") {
		if !strings.Contains(one, " 403") {
			t.Errorf("vera did %s", one)
		}
	}
	if got := c.get("/admin/accounts"); strings.Count(got, `"account_id"`) != 1 || !strings.Contains(got, `"active":true`) || !strings.Contains(got, `"name":"Loja"`) {
		t.Error(got)
	}
}

// untouched checks that a payout still waits for approval and a case is still open.
func (c *console) untouched(payout, id string) {
	c.t.Helper()
	if got := c.status(payout); got != "pending_approval" {
		c.t.Errorf("the payout is %s", got)
	}
	if got := c.get("/admin/med/" + id); !strings.Contains(got, `"status":"open"`) {
		c.t.Error(got)
	}
}

// TestConsoleForgery checks that nothing is done by a form without its session's own token.
func TestConsoleForgery(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	id := c.opened(c.paid("Ana"))
	payout := c.waiting(1)[0]
	v, other := visits(t, c.process.operator, c.tokens["olga"]), visits(t, c.process.operator, c.tokens["olga"])
	for what, csrf := range map[string][]string{"none": nil, "an empty one": {""}, "a wrong one": {v.csrf[1:] + "x"}, "another session's": {other.csrf}} {
		for path, form := range map[string]url.Values{
			"/approvals": {"word": {"approve"}, "payout": {payout}}, "/med/" + id + "/close": {"result": {"AGREED"}}, "/logout": {},
		} {
			form["csrf"] = csrf
			form.Set("key", "a-key")
			if answer, _ := v.send("POST", path, form); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %s: %d", path, what, answer.StatusCode)
			}
		}
	}
	if answer, page := v.send("GET", "/actions", nil); answer.StatusCode != 200 || strings.Contains(page, payout) {
		t.Errorf("%d %s", answer.StatusCode, page)
	}
	c.untouched(payout, id)
	if got := c.recorded("olga"); len(got) != 0 {
		t.Errorf("olga did %q", got)
	}
}

// TestConsoleCookie checks the attributes of the session's cookie, without TLS and with it.
func TestConsoleCookie(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cert, key, _ := certify(t, folder, 1)
	for _, secure := range []bool{false, true} {
		var flags []string
		if secure {
			flags = []string{"--admin-tls-cert", cert, "--admin-tls-key", key}
		}
		p := start(t, filepath.Join(folder, fmt.Sprint("data", secure)), flags...)
		if secure {
			p.operator = "https://" + host(p.operator)
		}
		k := visits(t, p.operator, token).cookie
		if !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/console" || k.Secure != secure || k.Domain != "" || k.MaxAge != 12*60*60 || len(k.Value) < 40 || strings.Contains(k.Value, token) {
			t.Errorf("over TLS %v: %+v", secure, k)
		}
		if secure { // and the browser takes it
			b := openTab(t, p.operator)
			b.logIn(token)
			b.until(`location.pathname === "/console"`)
			b.open("/actions")
			b.until(`location.pathname === "/console/actions" && document.cookie === ""`)
		}
	}
}

// TestConsoleLogins checks that an address may try five wrong tokens a minute.
func TestConsoleLogins(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := openTab(t, c.process.operator)
	b.expect = []string{"status of 401", "status of 429"}
	b.open("/login?lang=en")
	for n := range 5 {
		b.enter(fmt.Sprint("a-token-of-nobody-", n))
		b.says("The token is unknown, or was revoked.")
	}
	b.enter("a-token-of-nobody-5")
	b.says("Too many attempts. Wait a minute.")
	v := &visitor{t: t, base: c.process.operator}
	if answer, _ := v.send("POST", "/login", url.Values{"token": {"wrong"}}); answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") != "60" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

// TestConsoleSessionEnds checks that a session ends at its logout, when its operator's token is revoked, and with the
// process; and that the cookie of it leads nowhere then.
func TestConsoleSessionEnds(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	c.operator("ana", "operator")
	ends := func(what string, v *visitor, b *tab) {
		t.Helper()
		if answer, _ := v.send("GET", "/approvals", nil); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/console/login" {
			t.Errorf("%s: %d %s", what, answer.StatusCode, answer.Header.Get("Location"))
		}
		if answer, _ := v.send("POST", "/audit", url.Values{"csrf": {v.csrf}, "key": {"k"}}); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: a form is answered with %d", what, answer.StatusCode)
		}
		if b != nil {
			b.open("/approvals")
			b.until(`location.pathname === "/console/login"`)
		}
	}
	out := visits(t, c.process.operator, c.tokens["olga"])
	out.send("POST", "/logout", url.Values{"csrf": {out.csrf}})
	ends("a logout", out, nil)

	revoked, b := visits(t, c.process.operator, c.tokens["ana"]), c.tab("ana")
	b.expect = []string{"status of 401"} // of the overview's figures
	c.asks("DELETE", "/admin/operators/ana", "", nil)
	ends("a revocation", revoked, b)

	left := visits(t, c.process.operator, c.tokens["olga"])
	c.end(syscall.SIGTERM)
	p := start(t, c.dir)
	left.base = p.operator
	ends("a restart", left, nil)
	if got := (&console{process: p}).recorded("olga"); len(got) != 0 {
		t.Errorf("olga did %q", got)
	}
}

// keyMark names the merchant's PIX key, which is no document, as the forms of the console do.
func (c *console) keyMark() string {
	c.t.Helper()
	var keys struct {
		Data []struct {
			Key       string `json:"key"`
			CreatedAt string `json:"created_at"`
		} `json:"data"`
	}
	c.asks("GET", "/admin/accounts/"+c.ID+"/pix-keys", "", &keys)
	for _, k := range keys.Data {
		if k.Key == c.Key {
			return k.CreatedAt + " " + k.Key
		}
	}
	c.t.Fatal("the merchant has no such key")
	return ""
}
