package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
	"pixd/httpapi/control"
)

// TestRefusedStreamsAreNotCounted checks that a session whose overviews were refused while too many browsers had one
// open gets one later.
func TestRefusedStreamsAreNotCounted(t *testing.T) {
	f := newFixture(t)
	cookie := f.login(olgaToken)
	for f.live.enter() {
	}
	for range 2 * mostStreams {
		if p := f.send("GET", "/console/live", cookie, ""); p.status != 503 || p.header("Retry-After") != "10" {
			t.Fatal(p.status)
		}
	}
	f.live.leave()
	if p := f.send("GET", "/console/live", cookie, ""); p.status != 200 {
		t.Errorf("with a free place: %d %s", p.status, p.body)
	}
}

// TestStreamsOfSession checks how many overviews one session may have open.
func TestStreamsOfSession(t *testing.T) {
	f := newFixture(t)
	opens := func(cookie string) int { // and nothing is read of it
		var req fasthttp.Request
		req.SetRequestURI("/console/live")
		req.Header.SetCookie(cookieName(f.listener), cookie)
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, f.address, nil)
		f.handler(&ctx)
		return ctx.Response.StatusCode()
	}
	cookie, other := f.login(olgaToken), f.login(olgaToken)
	for n := range 10 {
		if got, want := opens(cookie), map[bool]int{true: 200, false: 503}[n < 8]; got != want {
			t.Errorf("overview %d: %d", n+1, got)
		}
	}
	if got := opens(other); got != 200 {
		t.Errorf("of another session: %d", got)
	}
}

// TestSessionCookieIsSecure checks that the session's cookie is for TLS alone where the console is.
func TestSessionCookieIsSecure(t *testing.T) {
	f := newFixture(t)
	for _, secure := range []bool{false, true} {
		o := f.options()
		o.Secure = secure
		r := router.New()
		Routes(r, o)
		f.handler = r.Handler
		p := f.send("POST", "/console/login", "", url.Values{"token": {olgaToken}}.Encode())
		if got := p.header("Set-Cookie"); p.status != 303 || strings.Contains(strings.ToLower(got), "secure") != secure {
			t.Errorf("secure %v: %d %q", secure, p.status, got)
		}
	}
}

// TestRefusedCredentialIsMadeAnew checks that a session makes a new credential of an account where the merchant API has
// refused the one before, which somebody has revoked.
func TestRefusedCredentialIsMadeAnew(t *testing.T) {
	f := newFixture(t)
	f.api = func(string, string, []byte) (int, string) { return 201, `{"client_id":"cli_a","client_secret":"sk_a"}` }
	v := visit{console: f.console(), ctx: new(fasthttp.RequestCtx), key: "k"}
	v.ctx.Init(&fasthttp.Request{}, f.address, nil)
	v.one, _ = v.sessions.begin(olgaToken)
	v.known(control.Operator{Name: "olga", Role: registry.Writer})
	status := 401
	v.Merchant = func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(status) }
	for _, made := range []int{1, 2, 2} {
		if got, _, err := v.asMerchant("acc_a", "GET", "/balance", nil); got != status || err != nil || len(f.asked) != made {
			t.Errorf("%d (%v), made: %q", got, err, f.asked)
		}
		status = 200
	}
}
