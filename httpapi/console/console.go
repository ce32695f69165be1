// Package console is the operators' console: pages for a browser below /console of the operator
// listener. Every page is made of answers of the operator API's own handlers, called as the operator who has
// logged in: the console can do nothing that the API cannot, and what it writes is on record like
// any other request.
//
// A page is drawn by a function that reads from the API and fills in its template. A form is carried out
// once, however often it is sent, and leads to a page that says what became of it.
package console

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net"
	"path"
	"strings"
	"sync"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
)

// Options are what the console is made of.
type Options struct {
	API       fasthttp.RequestHandler // the operator API behind its guard; see control.As
	Tokens    control.Tokens          // whose token may log in
	NewSecret func(n int) []byte      // returns n random bytes that nobody can guess
	MEDWaits  bool                    // a special-return case that is not defended in time is left to the analyst
	Secure    bool                    // the listener speaks TLS: the cookie is sent over TLS alone
	Listener  net.Addr                // of the operator listener
	Live      *Live                   // the figures of the overview
	Merchant  fasthttp.RequestHandler // the merchant API, for the sandbox; nil: there is no simulator, and no sandbox
	Log       *slog.Logger
}

// Path is where the console begins.
const Path = "/console"

// policy lets a page load what this server has, and nothing else; no script and no style stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed assets pages
var files embed.FS

// assets are the files that pages load.
var assets = []string{"htmx-2.0.11.min.js", "console.css", "console.js"}

type console struct {
	Options
	sessions sessions
}

// Routes adds the console to a router.
func Routes(r *router.Router, o Options) {
	c := &console{Options: o, sessions: newSessions(o)}
	for _, name := range assets {
		r.GET(Path+"/"+name, asset(name))
	}
	r.GET(Path+"/login", c.headed(c.showLogin))
	r.POST(Path+"/login", c.headed(c.logIn))
	r.POST(Path+"/logout", c.headed(c.logOut))
	for _, p := range allPages {
		r.GET(Path+p.path, c.page(p))
	}
	for _, f := range allForms {
		r.POST(Path+f.path, c.form(f))
	}
	for path, of := range allFiles {
		r.GET(Path+path, c.file(of))
	}
	if c.Merchant != nil {
		c.sandboxRoutes(r)
	}
	r.GET(Path+"/live", c.headed(c.live))
	r.GET(Path+"/plots", c.headed(c.plots))
}

// pageRoute is a page: how its title reads, and what fills it in.
type pageRoute struct {
	path, name string // below Path; of the template and of the title
	fill       func(*visit) error
}

// formRoute is a form: the page that says what became of it, where its outcome names no other, and what carries it out.
type formRoute struct {
	path, page string // below Path; an id in the page's is the one in the form's
	do         func(*visit) outcome
}

// pages are the pages' templates. They are read for the first page that is asked for: a node that takes over has no
// time for that, 10 ms.
var pages = sync.OnceValue(readPages)

// readPages reads the pages' templates. Each is a file that defines the layout's "content".
func readPages() map[string]*template.Template {
	layout := template.Must(template.New("").Funcs(functions).ParseFS(files, "pages/layout.html", "pages/*parts.html"))
	all, pages := map[string]*template.Template{}, mustList("pages")
	for _, file := range pages {
		if name := strings.TrimSuffix(file, ".html"); name != "layout" && !strings.HasSuffix(name, "parts") {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "pages/"+file))
		}
	}
	return all
}

func mustList(folder string) (names []string) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic("console: " + err.Error()) // it is in the binary
	}
	for _, e := range entries {
		names = append(names, path.Base(e.Name()))
	}
	return names
}

// headed sets the headers that every answer of the console has.
func (c *console) headed(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Pixd-Console", "page") // told from answers of others, such as a node without an owner
		setLanguage(ctx, c.Secure)
		if from := ctx.Request.Header.Peek("Sec-Fetch-Site"); ctx.IsPost() && len(from) > 0 && string(from) != "same-origin" {
			refuse(ctx, fasthttp.StatusForbidden, "forbidden: the form is another site's")
			return
		}
		next(ctx)
	}
}

// asset serves a file that never changes within a version.
func asset(name string) fasthttp.RequestHandler {
	content, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic("console: " + err.Error()) // it is in the binary
	}
	kind := "text/javascript; charset=utf-8"
	if strings.HasSuffix(name, ".css") {
		kind = "text/css; charset=utf-8"
	}
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "max-age=300")
		ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
		ctx.SetContentType(kind)
		ctx.SetBody(content)
	}
}

// refuse answers in plain text.
func refuse(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(text)
}

// draw sends a page.
func (c *console) draw(ctx *fasthttp.RequestCtx, status int, v *visit) {
	c.part(ctx, "layout", v)
	if ctx.Response.StatusCode() == fasthttp.StatusOK {
		ctx.SetStatusCode(status)
	}
}

// part sends a part of a page.
func (c *console) part(ctx *fasthttp.RequestCtx, part string, v *visit) {
	var b bytes.Buffer
	if err := pages()[v.Page].ExecuteTemplate(&b, part, v); err != nil {
		c.Log.Error("console: a page cannot be drawn", "page", v.Page, "error", err)
		refuse(ctx, fasthttp.StatusInternalServerError, "internal error")
		return
	}
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.SetBody(b.Bytes())
}
