package httpapi

import (
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
)

const base = "/api/external"

// route is one endpoint: the permission that it needs, and the function that serves a
// request once every check has passed.
type route struct {
	method, path string
	permission   registry.Permissions
	serve        func(*call)
	unlimited    bool     // check 6 is skipped: these requests neither count against the rate limit nor are refused by it
	aliases      []string // keys of a body that may stand beside each other although they have one snake_case form; see checkForms
	bothShapes   bool     // a 401 of check 3 carries errors.unauthorized too: the contract shows two shapes for this route
}

var routes = []route{
	{method: fasthttp.MethodPost, path: "/pix/cash-in", permission: registry.PixWrite, serve: createCharge},
	{method: fasthttp.MethodPost, path: "/pix/cash-out", permission: registry.TransferWrite, serve: requestPayout},
	{method: fasthttp.MethodPost, path: "/pix/refund", permission: registry.PaymentWrite, serve: requestRefund, aliases: originalAliases, bothShapes: true},
	{method: fasthttp.MethodGet, path: "/balance", permission: registry.AccountRead, serve: readBalance, unlimited: true},
	{method: fasthttp.MethodGet, path: "/account", permission: registry.AccountRead, serve: readAccount},
	{method: fasthttp.MethodGet, path: "/statement", permission: registry.StatementRead, serve: readStatement, bothShapes: true},
	{method: fasthttp.MethodGet, path: "/transactions", permission: registry.TransferRead, serve: listTransactions},
	{method: fasthttp.MethodGet, path: "/transactions/{id}", permission: registry.TransferRead, serve: readTransaction},
	{method: fasthttp.MethodGet, path: "/transactions/{id}/receipt", permission: registry.TransferRead, serve: readReceipt},
	{method: fasthttp.MethodGet, path: "/transactions/e2e/{e2e_id}", permission: registry.TransferRead, serve: readEndToEnd},
	{method: fasthttp.MethodGet, path: "/transactions/tag/{tag}", permission: registry.TransferRead, serve: readTag},
	{method: fasthttp.MethodGet, path: "/transactions/ref/{external_id}", permission: registry.TransferRead, serve: readReference},
	{method: fasthttp.MethodGet, path: "/pix/keys", permission: registry.PixRead, serve: listPixKeys},
	{method: fasthttp.MethodPost, path: "/cpf/validate", permission: registry.AccountRead, serve: validateCPF},
	{method: fasthttp.MethodGet, path: "/med", permission: registry.PaymentRead, serve: listCases},
	{method: fasthttp.MethodGet, path: "/med/{id}", permission: registry.PaymentRead, serve: readCase},
	{method: fasthttp.MethodPost, path: "/med/{id}/defense", permission: registry.PaymentWrite, serve: defendCase},
	{method: fasthttp.MethodPost, path: "/webhooks", permission: registry.AccountWrite, serve: subscribe},
	{method: fasthttp.MethodGet, path: "/webhooks", permission: registry.AccountRead, serve: listWebhooks},
	{method: fasthttp.MethodPatch, path: "/webhooks/{id}", permission: registry.AccountWrite, serve: changeWebhook},
	{method: fasthttp.MethodPost, path: "/webhooks/{id}/test", permission: registry.AccountWrite, serve: testWebhook},
	{method: fasthttp.MethodPost, path: "/webhooks/{id}/rotate-secret", permission: registry.AccountWrite, serve: rotateSecret},
	{method: fasthttp.MethodDelete, path: "/webhooks/{id}", permission: registry.AccountWrite, serve: removeWebhook},
	{method: fasthttp.MethodGet, path: "/webhooks/{id}/deliveries", permission: registry.AccountRead, serve: listDeliveries},
	{method: fasthttp.MethodPost, path: "/webhooks/{id}/deliveries/{event_id}/retry", permission: registry.AccountWrite, serve: retryDelivery},
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
	if s.Docs != nil {
		s.describe(r)
	}
	return r
}

// describe adds the paths of the API's description. They count against the limit of an address, as other
// requests do.
func (s *service) describe(r *router.Router) {
	own := router.New()
	s.Docs(own)
	for method, paths := range own.List() {
		for _, path := range paths {
			r.Handle(method, path, func(ctx *fasthttp.RequestCtx) {
				now := s.Now()
				if ip, ok := s.clientIP(ctx); ok {
					if _, ok = s.requests.Take(ip, now); !ok {
						tooMany(ctx, now)
						return
					}
				}
				own.Handler(ctx)
			})
		}
	}
}

func (s *service) handler(r *route) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if why := s.closed(ctx); why != "" {
			unavailable(ctx, why)
			return
		}
		c := call{service: s, route: r, ctx: ctx, left: -1}
		defer c.release()
		if !c.checked() {
			return
		}
		s.company.hear(c.key.Account, s.Now)
		r.serve(&c)
		if c.left >= 0 && ctx.Response.StatusCode()/100 == 2 {
			c.sayLeft()
		}
	}
}

// release returns the canonicaliser that has read the request's body to the pool.
func (c *call) release() {
	if c.body != nil {
		c.body.release()
	}
}

// closed returns the reason for which the request is refused before any check, because the
// engine cannot take new work; empty: the request is not refused. Only POSTs and PATCHes are refused;
// reads go on.
func (s *service) closed(ctx *fasthttp.RequestCtx) string {
	if !ctx.IsPost() && !ctx.IsPatch() {
		return ""
	}
	if s.Closed != nil {
		if why := s.Closed(); why != "" {
			return why
		}
	}
	if s.Busy == nil {
		return ""
	}
	why := s.Busy()
	if why == "" || s.modest(ctx) {
		return ""
	}
	if s.Turned != nil {
		s.Turned()
	}
	return why
}

// modest tells whether a request names an API key of an account that has fewer requests in work
// than its share. Whether it is that account's is for the checks to find out.
func (s *service) modest(ctx *fasthttp.RequestCtx) bool {
	id, _, message := readCredentials(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
	if message != "" {
		return false
	}
	key, known := s.Registry.APIKey(id)
	return known && s.Modest(key.Account)
}

// Strict makes a router, which has no routes yet, accept paths and methods exactly as they are registered: it makes no
// redirects and does not answer OPTIONS by itself. A request whose path is registered, but
// only for other methods, goes to notAllowed, with those methods in the header Allow.
func Strict(r *router.Router, notFound, notAllowed fasthttp.RequestHandler) {
	r.RedirectTrailingSlash, r.RedirectFixedPath, r.HandleOPTIONS = false, false, false
	r.SaveMatchedRoutePath = true // for RouteOf
	r.HandleMethodNotAllowed = true
	r.NotFound = notFound
	r.MethodNotAllowed = func(ctx *fasthttp.RequestCtx) {
		if p := string(ctx.URI().PathOriginal()); p == "*" || p == "/*" {
			// The router takes a request for such a path for a question about all its paths.
			ctx.Response.Header.Del(fasthttp.HeaderAllow)
			notFound(ctx)
			return
		}
		// The router adds OPTIONS to every list of methods, whether OPTIONS is registered or
		// not.
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
