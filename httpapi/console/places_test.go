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

// TestOverviewPlaces checks how many overviews one operator may have open, in however many sessions, and all operators
// together, and that each gives its place back at its end.
func TestOverviewPlaces(t *testing.T) {
	f := newFixture(t)
	var open []*fasthttp.RequestCtx
	opens := func(cookie string) bool { // and nothing is read of it
		var req fasthttp.Request
		req.SetRequestURI("/console/live")
		req.Header.SetCookie(cookieName(f.listener), cookie)
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, f.address, nil)
		f.handler(&ctx)
		switch status := ctx.Response.StatusCode(); {
		case status == 200:
			open = append(open, &ctx)
			return true
		case status != 503 || string(ctx.Response.Header.Peek("Retry-After")) != "10":
			t.Errorf("%d %s", status, ctx.Response.Body())
		}
		return false
	}
	takes := func(want int, sessions ...string) {
		t.Helper()
		got := 0
		for n := range 2 * watchersAtOnce {
			if opens(sessions[n%len(sessions)]) {
				got++
			}
		}
		if got != want {
			t.Errorf("%d overviews, want %d", got, want)
		}
	}
	olga := []string{f.login(olgaToken), f.login(olgaToken)}
	for _, want := range []int{16, 0} {
		takes(want, olga...)
	}
	takes(16, f.login(veraToken))
	takes(16, f.login(rootToken))
	f.named["ana's"], f.named["eva's"] = &registry.Operator{Name: "ana"}, &registry.Operator{Name: "eva"}
	takes(16, f.login("ana's"))
	eva := f.login("eva's")
	takes(0, eva)
	for _, ctx := range open[:2] { // olga's
		if err := ctx.Response.CloseBodyStream(); err != nil {
			t.Fatal(err)
		}
	}
	takes(2, eva)
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
