// Package console is the operators' console: pages for a browser below /console of the operator
// listener. Every page is made of answers of the operator API's own handlers, called as the operator who has
// logged in: the console can do nothing that the API cannot, and what it writes is on record like
// any other request.
package console

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// Options are what the console is made of.
type Options struct {
	API       fasthttp.RequestHandler // the operator API behind its guard; see control.As
	Tokens    control.Tokens          // whose token may log in
	NewSecret func(n int) []byte      // returns n random bytes that nobody can guess
	Secure    bool                    // the listener speaks TLS: the cookie is sent over TLS alone
	Log       *slog.Logger
}

// Path is where the console begins.
const Path = "/console"

// policy lets a page load what this server has, and nothing else; no script and no style stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed assets pages
var files embed.FS

type console struct {
	Options
	sessions sessions
	pages    *template.Template
}

// Routes adds the console to a router.
func Routes(r *router.Router, o Options) {
	c := &console{Options: o, sessions: newSessions(o.Tokens, o.NewSecret)}
	c.pages = template.Must(template.New("").Funcs(functions).ParseFS(files, "pages/*.html"))
	for _, name := range []string{"htmx-2.0.11.min.js", "console.css", "console.js"} {
		r.GET(Path+"/"+name, asset(name))
	}
	r.GET(Path+"/login", c.headed(c.showLogin))
	r.POST(Path+"/login", c.headed(c.logIn))
	r.POST(Path+"/logout", c.headed(c.logOut))
	r.GET(Path, c.page(c.overview))
	r.GET(Path+"/approvals", c.page(c.approvals))
	r.POST(Path+"/approvals", c.form(c.decide))
	r.GET(Path+"/accounts", c.page(c.accounts))
	r.GET(Path+"/accounts/{id}", c.page(c.account))
	r.GET(Path+"/transactions", c.page(c.transaction))
	r.GET(Path+"/actions", c.page(c.actions))
}

// headed sets the headers that every answer of the console has.
func (c *console) headed(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next(ctx)
	}
}

// asset serves a file that never changes within a version.
func asset(name string) fasthttp.RequestHandler {
	content, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic("console: " + err.Error()) // it is in the binary
	}
	kind := map[bool]string{true: "text/javascript; charset=utf-8", false: "text/css; charset=utf-8"}[strings.HasSuffix(name, ".js")]
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "max-age=300")
		ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
		ctx.SetContentType(kind)
		ctx.Response.SetBodyRaw(content)
	}
}

// view is what a page is drawn from.
type view struct {
	Page     string // the template's name
	Title    string
	Lang     language
	Who      control.Operator
	CSRF     string
	Key      string // names the page's forms: a form that is sent twice is carried out once
	Now      pix.Millis
	Notice   string // what was done
	Problem  string // why it could not be done
	Data     any
	Writable bool // the operator may write
}

// draw sends a page.
func (c *console) draw(ctx *fasthttp.RequestCtx, status int, v *view) {
	var b bytes.Buffer
	if err := c.pages.ExecuteTemplate(&b, "layout.html", v); err != nil {
		c.Log.Error("console: page", "page", v.Page, "error", err)
		ctx.Error("internal error", fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.SetBody(b.Bytes())
}
