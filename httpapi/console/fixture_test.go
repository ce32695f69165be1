package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

const rootToken, olgaToken, veraToken = "the root's token", "olga's token", "vera's token"

// fixture is a console over an API that answers what a test says.
type fixture struct {
	t        *testing.T
	handler  fasthttp.RequestHandler
	api      func(method, path string, body []byte) (int, string)
	asked    []string // writes to the API: who, method, path and body, and the request's id
	now      pix.Millis
	named    map[string]*registry.Operator
	live     *Live
	ended    chan struct{}
	address  net.Addr
	listener net.Addr
	drawn    bytes.Buffer // the log
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, now: 1_790_000_000_000, ended: make(chan struct{}), address: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}}
	f.named = map[string]*registry.Operator{olgaToken: {Name: "olga", Role: registry.Writer}, veraToken: {Name: "vera", Role: registry.Viewer}}
	f.live = NewLive(f.ended)
	f.open()
	return f
}

// open begins a console, as a process does.
func (f *fixture) open() {
	r := router.New()
	Routes(r, f.options())
	f.handler = r.Handler
}

// console returns one apart from that which answers requests.
func (f *fixture) console() *console {
	o := f.options()
	return &console{Options: o, sessions: newSessions(o)}
}

func (f *fixture) options() Options {
	secrets := 0
	return Options{
		API: control.Roles(f.answer), Listener: f.listener, Live: f.live, Log: slog.New(slog.NewTextHandler(&f.drawn, nil)),
		Tokens:    control.Tokens{Root: rootToken, Named: func(token string) (*registry.Operator, error) { return f.named[token], nil }, Now: func() pix.Millis { return f.now }},
		NewSecret: func(n int) []byte { secrets++; return fmt.Appendf(nil, "%0*d", n, int64(f.now)*1000+int64(secrets)) },
	}
}

func (f *fixture) answer(ctx *fasthttp.RequestCtx) {
	method, path := string(ctx.Method()), string(ctx.RequestURI())
	if !ctx.IsGet() {
		f.asked = append(f.asked, strings.Join(strings.Fields(control.Who(ctx).Name+" "+method+" "+path+" "+string(ctx.PostBody())+" "+httpapi.RequestID(ctx)), " "))
	}
	status, body := f.api(method, path, ctx.PostBody())
	if status == 0 {
		control.Cut(ctx)
		return
	}
	ctx.SetStatusCode(status)
	ctx.SetBodyString(body)
}

// page is what a browser gets.
type page struct {
	status           int
	body, to, cookie string
	header           func(name string) string
}

// send sends a request with a session's cookie.
func (f *fixture) send(method, path, cookie, form string, headers ...string) page {
	f.t.Helper()
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	if cookie != "" {
		req.Header.SetCookie(cookieName(f.listener), cookie)
	}
	if form != "" {
		req.Header.SetContentType("application/x-www-form-urlencoded")
		req.SetBodyString(form)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, f.address, nil)
	f.handler(&ctx)
	p := page{status: ctx.Response.StatusCode(), body: string(ctx.Response.Body()), to: string(ctx.Response.Header.Peek("Location"))}
	p.header = func(name string) string { return string(ctx.Response.Header.Peek(name)) }
	var c fasthttp.Cookie
	c.SetKey(cookieName(f.listener))
	if ctx.Response.Header.Cookie(&c) {
		p.cookie = string(c.Value())
	}
	return p
}

// login begins a session.
func (f *fixture) login(token string) (cookie string) {
	f.t.Helper()
	p := f.send("POST", "/console/login", "", url.Values{"token": {token}}.Encode())
	if p.status != 303 || p.to != "/console" || p.cookie == "" {
		f.t.Fatalf("login: %d %q\n%s", p.status, p.to, p.body)
	}
	return p.cookie
}

var hidden = regexp.MustCompile(`name="(csrf|key)" value="([^"]*)"`)

// fill reads a page and returns its form, with some fields filled in.
func (f *fixture) fill(path, cookie string, fields ...string) url.Values {
	f.t.Helper()
	p := f.send("GET", path, cookie, "")
	v := url.Values{"csrf": {""}}
	for _, m := range hidden.FindAllStringSubmatch(p.body, -1) {
		v.Set(m[1], m[2])
	}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Add(fields[i], fields[i+1])
	}
	return v
}

// says checks that a page has a text.
func (f *fixture) says(p page, status int, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		if p.status != status || !strings.Contains(p.body, text) {
			f.t.Errorf("status %d, want %d and %q in\n%s", p.status, status, text, p.body)
		}
	}
}
