package httpapi

import (
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
)

const base = "/api/external"

// route is one endpoint: what it asks of the key, and what it does once every
// check has passed.
type route struct {
	method, path string
	permission   registry.Permissions
	serve        func(*call)
}

var routes = []route{
	{fasthttp.MethodPost, "/pix/cash-in", registry.PixWrite, createCharge},
	{fasthttp.MethodPost, "/pix/cash-out", registry.TransferWrite, requestPayout},
	{fasthttp.MethodGet, "/balance", registry.AccountRead, readBalance},
	{fasthttp.MethodGet, "/transactions/{id}", registry.TransferRead, readTransaction},
}

func (s *service) router() *router.Router {
	r := router.New()
	Strict(r, func(ctx *fasthttp.RequestCtx) {
		answerErrors(ctx, fasthttp.StatusNotFound, "not_found", "no such path")
	}, func(ctx *fasthttp.RequestCtx) {
		answerErrors(ctx, fasthttp.StatusMethodNotAllowed, "method_not_allowed", "this path does not take this method")
	})
	for i := range routes {
		r.Handle(routes[i].method, base+routes[i].path, s.handler(&routes[i]))
	}
	return r
}

func (s *service) handler(r *route) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		c := call{service: s, route: r, ctx: ctx}
		if c.checked() {
			r.serve(&c)
		}
	}
}

// Strict makes a router take paths and methods exactly as they are registered:
// no redirects, no answers of its own to OPTIONS. A path that is there under
// other methods alone goes to notAllowed, with those methods in Allow.
func Strict(r *router.Router, notFound, notAllowed fasthttp.RequestHandler) {
	r.RedirectTrailingSlash, r.RedirectFixedPath, r.HandleOPTIONS = false, false, false
	r.HandleMethodNotAllowed = true
	r.NotFound = notFound
	r.MethodNotAllowed = func(ctx *fasthttp.RequestCtx) {
		if p := string(ctx.URI().PathOriginal()); p == "*" || p == "/*" {
			// The router takes these for a question about all paths at once.
			ctx.Response.Header.Del(fasthttp.HeaderAllow)
			notFound(ctx)
			return
		}
		// The router names OPTIONS with every list, handled or not.
		allow := string(ctx.Response.Header.Peek(fasthttp.HeaderAllow))
		methods := strings.Split(allow, ", ")
		kept := methods[:0]
		for _, m := range methods {
			if m != fasthttp.MethodOptions {
				kept = append(kept, m)
			}
		}
		ctx.Response.Header.Set(fasthttp.HeaderAllow, strings.Join(kept, ", "))
		notAllowed(ctx)
	}
}
