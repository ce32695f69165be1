package control

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
)

const (
	guardToken = "the right operators' token"
	guardNow   = pix.Millis(1_790_000_000_000) // 20 s into a minute
)

// guarded is a handler behind a guard, with a clock that the test sets.
type guarded struct {
	t      testing.TB
	at     pix.Millis
	unread bool // nobody can say who has a token of their own
	handle fasthttp.RequestHandler
}

func (g *guarded) named(string) (*registry.Operator, error) {
	if g.unread {
		return nil, errors.New("not now")
	}
	return nil, nil
}

func newGuarded(t testing.TB) *guarded {
	g := &guarded{t: t, at: guardNow}
	g.handle = Guard(Tokens{Root: guardToken, Now: func() pix.Millis { return g.at }, Named: g.named}, func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	}, "/admin", "/sim", "/metrics")
	return g
}

// ask sends a request from an address and returns the status of the answer.
func (g *guarded) ask(from, path, authorization string) int {
	g.t.Helper()
	var req fasthttp.Request
	req.SetRequestURI(path)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	req.Header.Set("X-Forwarded-For", "203.0.113.200") // Guard does not read this header
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, &net.TCPAddr{IP: net.ParseIP(from), Port: 40000}, nil)
	g.handle(&ctx)
	status := ctx.Response.StatusCode()
	retry, challenge := string(ctx.Response.Header.Peek("Retry-After")), string(ctx.Response.Header.Peek("WWW-Authenticate"))
	want := map[int][2]string{401: {"", "Bearer"}, 429: {"60", ""}, 503: {"1", ""}, 204: {"", ""}}[status]
	if want != [2]string{retry, challenge} {
		g.t.Errorf("%s from %s: %d, Retry-After %q, WWW-Authenticate %q", path, from, status, retry, challenge)
	}
	if body := string(ctx.Response.Body()); status != 204 && body[:len(body)-1] != fmt.Sprintf(`{"error":{"status":%d,"message":"%s"}`, status, problemText[status]) {
		g.t.Errorf("%d: %s", status, body)
	}
	return status
}

var problemText = map[int]string{
	401: "send the operator's token: Authorization: Bearer …",
	503: "not ready: recovering or shutting down",
	429: "too many requests without the operator's token: wait a minute, or send the right one",
}

// TestWrongTokens checks that an address gets 401 for five requests a minute with a wrong or
// missing token, counted over all guarded paths, and then 429 until the next minute.
// Meanwhile the right token passes, and every other address may make five such requests of
// its own.
func TestWrongTokens(t *testing.T) {
	g := newGuarded(t)
	const here, there, six = "192.0.2.1", "192.0.2.2", "2001:db8::1"
	wrong := []struct{ path, authorization string }{
		{"/admin/accounts", "Bearer other"}, {"/sim/book", ""}, {"/admin/nothing", "Basic " + guardToken}, {"/metrics", "Bearer"}, {"/admin", "Bearer " + guardToken + "x"},
	}
	for _, w := range wrong {
		if got := g.ask(here, w.path, w.authorization); got != 401 {
			t.Errorf("%s with %q: %d", w.path, w.authorization, got)
		}
	}
	for _, w := range wrong {
		if got := g.ask(here, w.path, w.authorization); got != 429 {
			t.Errorf("%s with %q, beyond five: %d", w.path, w.authorization, got)
		}
	}
	for range 20 {
		if got := g.ask(here, "/admin/accounts", "Bearer "+guardToken); got != 204 {
			t.Errorf("the right token: %d", got)
		}
	}
	if got := g.ask(here, "/admin/accounts", "Bearer other"); got != 429 {
		t.Errorf("a wrong one after the right: %d", got)
	}
	if got := g.ask(here, "/healthz", ""); got != 204 {
		t.Errorf("without a guard: %d", got)
	}
	for _, other := range []string{there, six} {
		if got := g.ask(other, "/admin/accounts", "Bearer other"); got != 401 {
			t.Errorf("from %s: %d", other, got)
		}
	}
	g.at += 39_999
	if got := g.ask(here, "/admin/accounts", "Bearer other"); got != 429 {
		t.Errorf("in the last millisecond of the minute: %d", got)
	}
	g.at++
	if got := g.ask(here, "/admin/accounts", "Bearer other"); got != 401 {
		t.Errorf("in the next minute: %d", got)
	}
}

// TestRightTokensCountNothing checks that neither requests with the right token nor requests
// to unguarded paths count as wrong tokens.
func TestRightTokensCountNothing(t *testing.T) {
	g := newGuarded(t)
	for range 50 {
		g.ask("192.0.2.1", "/admin/accounts", "Bearer "+guardToken)
		g.ask("192.0.2.1", "/healthz", "Bearer other")
	}
	for n := range 5 {
		if got := g.ask("192.0.2.1", "/admin/accounts", "Bearer other"); got != 401 {
			t.Errorf("wrong token %d: %d", n+1, got)
		}
	}
}

// TestTokensByNetwork checks that the addresses of an IPv6 /64 count as one client.
func TestTokensByNetwork(t *testing.T) {
	g := newGuarded(t)
	for n := range 6 {
		want := 401
		if n == 5 {
			want = 429
		}
		if got := g.ask(fmt.Sprintf("2001:db8::%x:1", n), "/sim/book", ""); got != want {
			t.Errorf("wrong token %d: %d", n+1, got)
		}
	}
	if got := g.ask("2001:db8:0:1::1", "/sim/book", ""); got != 401 {
		t.Errorf("from another network: %d", got)
	}
}

// TestMappedAddress checks that an IPv4 address and its IPv4-mapped IPv6 form count as one
// address.
func TestMappedAddress(t *testing.T) {
	g := newGuarded(t)
	for n := range 6 {
		want := 401
		if n == 5 {
			want = 429
		}
		if got := g.ask([]string{"192.0.2.1", "::ffff:192.0.2.1"}[n%2], "/sim/book", ""); got != want {
			t.Errorf("wrong token %d: %d", n+1, got)
		}
	}
}

// TestGuardUnread checks that no token counts as a wrong one while nobody can say whose it is, and that the token file's
// is right all the same.
func TestGuardUnread(t *testing.T) {
	g := newGuarded(t)
	g.unread = true
	for range 3 * wrongTokens {
		if got := g.ask("192.0.2.1", "/admin/accounts", "Bearer another's"); got != 503 {
			t.Fatalf("%d while tokens cannot be read", got)
		}
	}
	if got := g.ask("192.0.2.1", "/admin/accounts", "Bearer "+guardToken); got != 204 {
		t.Errorf("%d for the token file's token", got)
	}
	if got := g.ask("192.0.2.1", "/admin/accounts", ""); got != 401 {
		t.Errorf("%d without a token", got)
	}
	g.unread = false
	if got := g.ask("192.0.2.1", "/admin/accounts", "Bearer another's"); got != 401 {
		t.Errorf("%d once tokens can be read", got)
	}
}
