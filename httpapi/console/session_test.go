package console

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
)

// payouts answers with payouts that wait, and approves all but those named no.
func payouts(method, path string, _ []byte) (int, string) {
	switch {
	case strings.HasPrefix(path, "/admin/payouts?"):
		return 200, `{"data":[{"account_id":"acc_a","state":"pending_approval","transaction_id":"PIXOUT1","recipient_key":"12345678909","amount":12345678,"created_at":"2026-09-21T14:13:20.000Z"}],"next_cursor":null}`
	case strings.HasPrefix(path, "/admin/actions"):
		return 200, `{"data":[],"next_cursor":null}`
	case strings.Contains(path, "/no/"):
		return 409, `{"error":{"status":409,"message":"olga has declined it"}}`
	case strings.Contains(path, "/first/"):
		return 202, `{"state":"pending_approval"}`
	case strings.Contains(path, "/cut/"):
		return 0, ""
	case method == "POST":
		return 200, `{"state":"sending"}`
	}
	return 200, `{"data":[],"next_cursor":null}`
}

// TestCookieName checks that each port's console has a cookie of its own.
func TestCookieName(t *testing.T) {
	f := newFixture(t)
	f.listener = &net.TCPAddr{IP: net.IPv4zero, Port: 8081}
	f.open()
	f.api = func(string, string, []byte) (int, string) { return 200, `{"data":[],"next_cursor":null}` }
	cookie := f.login(olgaToken)
	if cookieName(f.listener) != "pixd_session_8081" {
		t.Error(cookieName(f.listener))
	}
	f.says(f.send("GET", "/console/actions", cookie, ""), 200, "olga")
	f.listener = &net.TCPAddr{IP: net.IPv4zero, Port: 8082} // the cookie of another port
	if p := f.send("GET", "/console/actions", cookie, ""); p.to != "/console/login" {
		t.Errorf("with the cookie of another port: %d %s", p.status, p.to)
	}
}

// TestRefusalsHaveHeaders checks that what is refused in plain text has the headers of a page.
func TestRefusalsHaveHeaders(t *testing.T) {
	f := newFixture(t)
	f.api = func(string, string, []byte) (int, string) { return 200, `{"data":[],"next_cursor":null}` }
	cookie := f.login(olgaToken)
	for name, p := range map[string]page{
		"another site's form": f.send("POST", "/console/approvals", cookie, "a=b", "Sec-Fetch-Site", "cross-site"),
		"a logout":            f.send("POST", "/console/logout", cookie, "csrf=x"),
		"no session":          f.send("GET", "/console/live", "", ""),
		"a part of a page":    f.send("GET", "/console/plots", "", "", "HX-Request", "true"),
	} {
		if p.status < 400 || p.header("Content-Security-Policy") != policy || p.header("Cache-Control") != "no-store" || p.header("Content-Type") != "text/plain; charset=utf-8" || p.body == "" {
			t.Errorf("%s: %d %q %q %q", name, p.status, p.header("Content-Security-Policy"), p.header("Cache-Control"), p.header("Content-Type"))
		}
	}
}

// TestOwnURL checks at which address the sandbox receives webhooks.
func TestOwnURL(t *testing.T) {
	for want, c := range map[string]struct {
		listener net.Addr
		secure   bool
		host     string
	}{
		"http://127.0.0.1:8081":     {&net.TCPAddr{IP: net.IPv6zero, Port: 8081}, false, "elsewhere:1"},
		"http://10.0.0.7:8081":      {&net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8081}, false, "elsewhere:1"},
		"https://pixd.example:8081": {&net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8081}, true, "pixd.example:1"},
		"https://pixd.example:8082": {&net.TCPAddr{IP: net.IPv6zero, Port: 8082}, true, "pixd.example"},
		"https://[::1]:8081":        {&net.TCPAddr{IP: net.IPv6loopback, Port: 8081}, true, "[::1]:1"},
		"http://elsewhere:1":        {nil, false, "elsewhere:1"},
	} {
		f := newFixture(t)
		f.listener = c.listener
		v := visit{console: f.console(), ctx: new(fasthttp.RequestCtx)}
		v.Secure = c.secure
		v.ctx.Request.Header.SetHost(c.host)
		if got := v.ownURL("x"); got != want+"/console/sandbox/received/x" {
			t.Errorf("%s", got)
		}
	}
}

// TestLogin checks who may log in, how often a wrong token may be tried, and the cookie.
func TestLogin(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	wrong := url.Values{"token": {"wrong"}}.Encode()
	for i := range 6 {
		want := map[bool]int{true: 401, false: 429}[i < 5]
		if p := f.send("POST", "/console/login", "", wrong); p.status != want || p.cookie != "" {
			t.Errorf("wrong token %d: %d %q", i+1, p.status, p.cookie)
		}
	}
	p := f.send("POST", "/console/login", "", url.Values{"token": {olgaToken}}.Encode())
	cookie := p.header("Set-Cookie")
	if p.status != 303 || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "path=/console") ||
		!strings.Contains(cookie, "max-age=43200") || strings.Contains(cookie, "secure") {
		t.Errorf("a right token after wrong ones: %d %q", p.status, cookie)
	}
	f.says(f.send("GET", "/console/approvals", p.cookie, ""), 200, "olga (operator)", "R$ 1.234,5678", "***.456.789-**")
	for _, other := range []string{"", "x", p.cookie + "x"} {
		if got := f.send("GET", "/console/approvals", other, ""); got.status != 303 || got.to != "/console/login" {
			t.Errorf("with the cookie %q: %d %q", other, got.status, got.to)
		}
	}
	f.address = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 1}
	if p := f.send("POST", "/console/login", "", wrong); p.status != 401 {
		t.Errorf("from another address: %d", p.status)
	}
}

// TestSessionEnds checks that a session ends at its logout, with its token, after 12 hours and with the process.
func TestSessionEnds(t *testing.T) {
	for name, end := range map[string]func(f *fixture, cookie string){
		"logout": func(f *fixture, cookie string) {
			if p := f.send("POST", "/console/logout", cookie, "csrf=wrong"); p.status != 403 {
				t.Errorf("logout without the token: %d", p.status)
			}
			p := f.send("POST", "/console/logout", cookie, f.fill("/console/approvals", cookie).Encode())
			if gone := p.header("Set-Cookie"); !strings.HasPrefix(gone, "pixd_session=;") || !strings.Contains(gone, "expires=Tue, 10 Nov 2009") || !strings.Contains(gone, "path=/console") {
				t.Errorf("the cookie after a logout: %q", gone)
			}
		},
		"revoked": func(f *fixture, _ string) { delete(f.named, olgaToken) },
		"old":     func(f *fixture, _ string) { f.now += sessionLasts },
		"process": func(f *fixture, _ string) { f.open() },
	} {
		f := newFixture(t)
		f.api = payouts
		cookie := f.login(olgaToken)
		f.now += sessionLasts - 1
		if p := f.send("GET", "/console/approvals", cookie, ""); p.status != 200 {
			t.Errorf("%s: before: %d", name, p.status)
		}
		f.now -= sessionLasts - 1
		end(f, cookie)
		if p := f.send("GET", "/console/approvals", cookie, ""); p.status != 303 {
			t.Errorf("%s: after: %d", name, p.status)
		}
	}
}

// TestManySessions checks that an operator's oldest session ends where that operator has too many, and the oldest of all
// where there are too many in all.
func TestManySessions(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	root, first, second := f.login(rootToken), f.login(olgaToken), f.login(olgaToken)
	for range mostOwn - 1 {
		f.login(olgaToken)
	}
	lasts := func(want ...int) {
		t.Helper()
		for i, cookie := range []string{root, first, second} {
			if p := f.send("GET", "/console/approvals", cookie, ""); p.status != want[i] {
				t.Errorf("session %d: %d, want %d", i, p.status, want[i])
			}
		}
	}
	lasts(200, 303, 200)
	for i := range mostSessions - mostOwn {
		token := fmt.Sprint("token of operator ", i)
		f.named[token] = &registry.Operator{Name: fmt.Sprint("o", i), Role: registry.Viewer}
		f.login(token)
	}
	lasts(303, 303, 200)
}

// TestManyForms checks that a form is carried out once however many follow it, that what was filled in is kept of the newest
// refused form alone, and that a session which has sent too many forms takes no more.
func TestManyForms(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	c := f.console()
	one, _ := c.sessions.begin(olgaToken)
	done := 0
	send := func(key string) outcome {
		return one.once(key, func() outcome { done++; return outcome{Problem: "p", fields: url.Values{"a": {key}}} })
	}
	for i := range mostForms + 2 {
		send(fmt.Sprint("key ", i))
	}
	if again := send("key 0"); done != mostForms+2 || again.Problem != "forgotten" {
		t.Errorf("%d forms were done; the first again: %+v", done, again)
	}
	kept := 0
	for _, o := range one.done {
		kept += len(o.fields)
	}
	if last := one.became(fmt.Sprint("key ", mostForms+1)); kept != 1 || last.fields == nil {
		t.Errorf("the fields of %d forms are kept, and those of the last: %v", kept, last.fields)
	}
	for i := range mostKeys {
		send(fmt.Sprint("more ", i))
	}
	send("one more")
	if o := one.became(fmt.Sprint("key ", mostForms+1)); o.Problem == "session_full" {
		t.Errorf("a form that was taken: %+v", o)
	}
	if o := one.became("one more"); o.Problem != "session_full" || done != mostKeys {
		t.Errorf("%d forms were done; one more: %+v", done, o)
	}
	func() {
		other, _ := c.sessions.begin(olgaToken)
		defer func() {
			if o := other.became("panics"); recover() == nil || o.Problem != "unknown" {
				t.Errorf("after a panic: %+v", o)
			}
		}()
		other.once("panics", func() outcome { panic("in the middle") })
	}()
}

// TestForged checks that a form needs the session's own CSRF token, and is shown to be sent again otherwise.
func TestForged(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	mine, other := f.login(olgaToken), f.login(olgaToken)
	forms := f.fill("/console/approvals", other, "payout", "PIXOUT1", "word", "approve")
	for _, csrf := range []string{forms.Get("csrf"), "", "x"} {
		forms.Set("csrf", csrf)
		p := f.send("POST", "/console/approvals", mine, forms.Encode())
		f.says(p, 403, "PIXOUT1", `name="key" value="`+forms.Get("key")+`"`)
	}
	if len(f.asked) > 0 {
		t.Errorf("done: %q", f.asked)
	}
	elsewhere := f.fill("/console/approvals", mine, "payout", "PIXOUT1", "word", "approve").Encode()
	for _, from := range []string{"cross-site", "same-site", "none"} {
		if p := f.send("POST", "/console/approvals", mine, elsewhere, "Sec-Fetch-Site", from); p.status != 403 || len(f.asked) > 0 {
			t.Errorf("a form of another site (%s): %d %q", from, p.status, f.asked)
		}
	}
	if p := f.send("POST", "/console/approvals", mine, elsewhere, "Sec-Fetch-Site", "same-origin"); p.status != 303 || len(f.asked) != 1 {
		t.Errorf("a form of the console itself: %d %q", p.status, f.asked)
	}
	f.asked = nil
	right := f.fill("/console/approvals", mine, "payout", "PIXOUT1", "word", "approve")
	right.Del("key")
	if p := f.send("POST", "/console/approvals", mine, right.Encode()); p.status != 400 || len(f.asked) > 0 {
		t.Errorf("without a key: %d %q", p.status, f.asked)
	}
}

// TestOnce checks that a form is carried out once, and that each time the page says what became of it.
func TestOnce(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	cookie := f.login(olgaToken)
	form := f.fill("/console/approvals", cookie, "payout", "PIXOUT1", "payout", "first", "payout", "no", "payout", "never", "word", "approve")
	for range 3 {
		p := f.send("POST", "/console/approvals", cookie, form.Encode())
		if p.status != 303 || p.to != "/console/approvals?done="+form.Get("key") {
			t.Fatalf("%d %q", p.status, p.to)
		}
		f.says(f.send("GET", p.to, cookie, ""), 200, "Aprovado: 1", "Aprovado por você: 1", "no: olga has declined it")
	}
	want := []string{"olga POST /admin/payouts/PIXOUT1/approve", "olga POST /admin/payouts/first/approve", "olga POST /admin/payouts/no/approve"}
	for i := range want {
		want[i] += ` {"operator":"olga"} ` + form.Get("key")
	}
	if !slices.Equal(f.asked, want) {
		t.Errorf("asked %q\nwant %q", f.asked, want)
	}
	f.asked = nil
	again := f.fill("/console/approvals", cookie, "payout", "cut", "payout", "never", "word", "decline")
	p := f.send("POST", "/console/approvals", cookie, again.Encode(), "Accept-Language", "en-GB")
	f.says(f.send("GET", p.to, cookie, ""), 200, "cut: Nobody knows whether it was done.")
	if len(f.asked) != 1 {
		t.Errorf("after an unknown outcome: %q", f.asked)
	}
	for says, those := range map[string][][]string{
		"Escolha ao menos um.": {{"word", "approve"}}, "Nada foi decidido": {{"payout", "PIXOUT1"}, {"payout", "PIXOUT1", "word", "x"}},
	} {
		for _, fields := range those {
			p := f.send("POST", "/console/approvals", cookie, f.fill("/console/approvals", cookie, fields...).Encode())
			f.says(f.send("GET", p.to, cookie, ""), 200, says)
		}
	}
	if len(f.asked) != 1 {
		t.Errorf("of nothing chosen: %q", f.asked)
	}
}

// TestViewer checks that a viewer gets no button, and that the API refuses what a viewer sends all the same.
func TestViewer(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	cookie := f.login(veraToken)
	p := f.send("GET", "/console/approvals", cookie, "")
	if strings.Contains(p.body, `value="approve"`) || !strings.Contains(p.body, "só permite leitura") {
		t.Errorf("%s", p.body)
	}
	form := f.fill("/console/approvals", cookie, "payout", "PIXOUT1", "word", "approve")
	p = f.send("POST", "/console/approvals", cookie, form.Encode())
	f.says(f.send("GET", p.to, cookie, ""), 200, "vera is a viewer, who may read alone")
	if len(f.asked) > 0 {
		t.Errorf("done: %q", f.asked)
	}
}

// TestKept checks that a form which comes after its session's end is kept over the login, and carried out once: not at all
// where the record of actions has it.
func TestKept(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	form := f.fill("/console/approvals", f.login(olgaToken), "payout", "PIXOUT<1>", "word", "approve")
	f.open()
	f.now++
	p := f.send("POST", "/console/approvals", "", form.Encode())
	f.says(p, 401, "PIXOUT&lt;1&gt;", `name="kept_path" value="/approvals"`, "<dt>Decisão</dt><dd>Aprovar</dd>")
	change := f.send("POST", "/console/accounts/acc_x", "", "key=k&city=&was_city=RECIFE")
	f.says(change, 401, "<dt>Cidade</dt><dd>–</dd>", "was_city=RECIFE")
	if strings.Contains(change.body, "<dt>was_city") {
		t.Error("what the page had shown before is shown as filled in")
	}
	if strings.Contains(p.body, form.Get("csrf")) && !strings.Contains(p.body, "kept_body") {
		t.Error("the old token is shown")
	}
	kept := url.Values{"kept_path": {"/approvals"}, "kept_body": {form.Encode()}, "token": {"wrong"}}
	f.says(f.send("POST", "/console/login", "", kept.Encode()), 401, "kept_body")
	kept.Set("token", olgaToken)
	p = f.send("POST", "/console/login", "", kept.Encode())
	f.says(p, 200, `action="/console/approvals"`, "PIXOUT&lt;1&gt;", form.Get("key"))
	again := url.Values{"csrf": {hidden.FindStringSubmatch(p.body)[2]}, "key": form["key"], "payout": form["payout"], "word": form["word"]}
	done := f.send("POST", "/console/approvals", p.cookie, again.Encode())
	f.says(f.send("GET", done.to, p.cookie, ""), 200, "Aprovado: 1")
	f.asked = nil

	f.open() // and the same form once more, of which the record tells
	f.api = func(method, path string, body []byte) (int, string) {
		if strings.HasPrefix(path, "/admin/actions?limit=200&cursor=") && !strings.HasSuffix(path, "=7") {
			return 200, `{"data":[{"method":"POST","path":"/admin/y","status":200,"request_id":"other"}],"next_cursor":"7"}`
		}
		if strings.HasPrefix(path, "/admin/actions") {
			return 200, `{"data":[{"method":"POST","path":"/admin/x","status":200,"request_id":"other"},{"operator":"root","method":"POST","path":"/admin/payouts/PIXOUT1/approve","status":null,"request_id":"` + form.Get("key") + `"}],"next_cursor":null}`
		}
		return payouts(method, path, body)
	}
	f.now++
	p = f.send("POST", "/console/login", "", kept.Encode())
	again.Set("csrf", hidden.FindStringSubmatch(p.body)[2])
	done = f.send("POST", "/console/approvals", p.cookie, again.Encode())
	f.says(f.send("GET", done.to, p.cookie, ""), 200, "já foi enviado antes: root, POST /admin/payouts/PIXOUT1/approve: sem resposta.")
	if len(f.asked) > 0 {
		t.Errorf("done twice: %q", f.asked)
	}
	f.open() // and where the record is too long to be looked through
	f.now++
	f.api = func(_, path string, _ []byte) (int, string) {
		if strings.HasPrefix(path, "/admin/actions") {
			return 200, `{"data":[` + strings.Repeat(`{"request_id":"other"},`, 199) + `{"request_id":"other"}],"next_cursor":"7"}`
		}
		return payouts("GET", path, nil)
	}
	p = f.send("POST", "/console/login", "", kept.Encode())
	again.Set("csrf", hidden.FindStringSubmatch(p.body)[2])
	done = f.send("POST", "/console/approvals", p.cookie, again.Encode())
	f.says(f.send("GET", done.to, p.cookie, ""), 200, "O registro é longo demais")
	if len(f.asked) > 0 {
		t.Errorf("done: %q", f.asked)
	}
	f.says(f.send("POST", "/console/approvals", "", "a="+strings.Repeat("x", mostKept)), 401, "era longo demais")
	for path, body := range map[string]string{"/nothing": "a=b", "/approvals": "a=" + strings.Repeat("x", mostKept), "//evil.example/": "a=b", "": ""} {
		p := f.send("POST", "/console/login", "", url.Values{"token": {olgaToken}, "kept_path": {path}, "kept_body": {body}}.Encode())
		if p.status != 303 || p.to != Path {
			t.Errorf("a form to %q: %d %q", path, p.status, p.to)
		}
	}
}
