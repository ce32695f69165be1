package control

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
)

// asked has a handler answer a request.
func asked(h fasthttp.RequestHandler, method, uri, authorization string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(uri)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
	h(ctx)
	return ctx
}

// TestGuardedPaths checks that a path is guarded as it was sent, that a path which only begins alike is not guarded, and that
// the scheme of the header may be written in any case.
func TestGuardedPaths(t *testing.T) {
	g := newGuarded(t)
	for path, want := range map[string]int{"/admin": 401, "/admin/a": 401, "/admin//a": 401, "/administration": 204, "/x/../admin": 204, "/%61dmin": 204} {
		if got := asked(g.handle, "GET", path, "").Response.StatusCode(); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	for _, scheme := range []string{"bearer ", "BEARER  ", "Bearer "} {
		if got := g.ask("192.0.2.1", "/admin", scheme+guardToken); got != 204 {
			t.Errorf("%q: %d", scheme, got)
		}
	}
}

// TestTokenOf checks that an empty token is nobody's and is not asked about, and that an operator whose reading failed is nobody.
func TestTokenOf(t *testing.T) {
	for token, named := range map[string]error{"": nil, "theirs": nil, "unread": errors.New("not now")} {
		questions := 0
		tokens := Tokens{Root: guardToken, Named: func(string) (*registry.Operator, error) {
			questions++
			return &registry.Operator{Name: "ana", Role: registry.Writer}, named
		}}
		who, ok, err := tokens.Of(token)
		if wanted := token == "theirs"; ok != wanted || (who.Name != "") != wanted || !errors.Is(err, named) || questions != min(1, len(token)) {
			t.Errorf("%q: %+v %v %v, %d questions", token, who, ok, err, questions)
		}
	}
}

// TestViewerReads checks that a viewer may send GET and HEAD, and no other method.
func TestViewerReads(t *testing.T) {
	h := Roles(func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(204) })
	for method, want := range map[string]int{"GET": 204, "HEAD": 204, "POST": 403, "PUT": 403, "PATCH": 403, "DELETE": 403} {
		got := asked(func(ctx *fasthttp.RequestCtx) { As(ctx, Operator{"vera", registry.Viewer}); h(ctx) }, method, "/admin", "")
		if got.Response.StatusCode() != want {
			t.Errorf("%s: %d", method, got.Response.StatusCode())
		}
	}
}

// TestPages checks the bounds of limit and cursor, and that the last page of a list has no next one.
func TestPages(t *testing.T) {
	read := func(query string) (p Page, err error) {
		asked(func(ctx *fasthttp.RequestCtx) { p, err = ReadPage(ctx) }, "GET", "/?"+query, "")
		return p, err
	}
	for query, want := range map[string]Page{
		"": {0, 50}, "limit=1": {0, 1}, "limit=200": {0, 200}, "cursor=2147483647": {2147483647, 50}, "cursor=": {0, 50},
	} {
		if p, err := read(query); p != want || err != nil {
			t.Errorf("%q: %+v %v", query, p, err)
		}
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=", "limit=x", "cursor=-1", "cursor=2147483648", "cursor=x"} {
		if p, err := read(query); err == nil {
			t.Errorf("%q: %+v", query, p)
		}
	}
	entry := func(i int) (any, error) { return i, nil }
	for from, want := range map[int]struct {
		n    int
		next string
	}{0: {2, "2"}, 1: {2, ""}, 2: {1, ""}, 3: {0, ""}, 9: {0, ""}} {
		l, err := Page{From: from, Limit: 2}.Of(3, entry)
		if err != nil || len(l.Data) != want.n || (l.Next != nil) != (want.next != "") || l.Next != nil && *l.Next != want.next {
			t.Errorf("from %d: %+v %v", from, l, err)
		}
	}
}

// TestProbes checks what a process answers while it is not ready, and once it is.
func TestProbes(t *testing.T) {
	ready := false
	r := router.New()
	Probes(r, Build{}, func() bool { return ready })
	for _, c := range []struct {
		h            fasthttp.RequestHandler
		method, path string
		ready        bool
		want         int
	}{
		{NotReady, "GET", "/healthz", false, 200},
		{NotReady, "POST", "/healthz", false, 503},
		{NotReady, "GET", "/readyz", false, 503},
		{r.Handler, "GET", "/healthz", false, 200},
		{r.Handler, "GET", "/readyz", false, 503},
		{r.Handler, "GET", "/readyz", true, 200},
	} {
		ready = c.ready
		if got := asked(c.h, c.method, c.path, "").Response.StatusCode(); got != c.want {
			t.Errorf("%s %s, ready %v: %d", c.method, c.path, c.ready, got)
		}
	}
}

// TestContain checks that the connection of a request whose handler panicked is cut.
func TestContain(t *testing.T) {
	h := Contain(slog.New(slog.DiscardHandler), func(*fasthttp.RequestCtx) { panic("broken") })
	if ctx := asked(h, "GET", "/", ""); !ctx.Hijacked() {
		t.Errorf("answered %d", ctx.Response.StatusCode())
	}
}

// TestLinesHideKeys checks that a line about a request says which it was, and not the PIX key in its path.
func TestLinesHideKeys(t *testing.T) {
	for _, key := range []string{"52998224725", "11222333000181", "+5511987654321", "ana%40x.com", "ana@x.com", "7d9f0335-8dcc-4054-9bf9-0dbd61d36906"} {
		var log bytes.Buffer
		asked(func(ctx *fasthttp.RequestCtx) { About(slog.New(slog.NewTextHandler(&log, nil)), ctx).Error("x") }, "DELETE", "/admin/accounts/acc_x/pix-keys/"+key, "")
		if got := log.String(); !strings.HasSuffix(got, " path=/admin/accounts/acc_x/pix-keys/***\n") {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// TestBodiesInPairs checks that a body with half of a surrogate pair is refused, and that one with a whole pair is taken.
func TestBodiesInPairs(t *testing.T) {
	for body, good := range map[string]bool{`{"a":"\ud83d\ude00"}`: true, `{"a":"\ud83d"}`: false, `{"a":"\ude00"}`: false} {
		if err := Read([]byte(body), "a").Fault(); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
}
