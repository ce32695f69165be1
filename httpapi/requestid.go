package httpapi

import (
	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// headerRequestID is the header of an answer that has the request's id, and that of a request by which a
// trusted proxy gives it one.
const headerRequestID = "X-Request-Id"

// maxRequestID is the greatest length of an id that is taken over, in bytes.
const maxRequestID = 128

// requestKey is the user value under which a request has its id.
type requestKey struct{}

// RequestID returns the id of a request that came in by a server of NewServer: the same stands in the
// header X-Request-Id of its answer, and as request_id in each line of the log about it. Other requests have none.
func RequestID(ctx *fasthttp.RequestCtx) string {
	id, _ := ctx.UserValue(requestKey{}).(string)
	return id
}

// SetRequestID gives a request the id that it has at another node, in place of any other.
func SetRequestID(ctx *fasthttp.RequestCtx, id string) {
	if usableID(id) {
		ctx.SetUserValue(requestKey{}, id)
	}
}

// identified gives each request its id, and its answer too.
func identified(h fasthttp.RequestHandler, o *ServerOptions) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if RequestID(ctx) == "" { // another node has given it one, if it was forwarded
			ctx.SetUserValue(requestKey{}, o.idOf(ctx))
		}
		h(ctx)
		ctx.Response.Header.Set(headerRequestID, RequestID(ctx))
	}
}

// RouteOf returns the path of the route that a router of Strict has found for a request, such as
// /api/external/transactions/{id}; empty: none was found, or the request has not come to a router.
func RouteOf(ctx *fasthttp.RequestCtx) string {
	route, _ := ctx.UserValue(router.MatchedRoutePathParam).(string)
	return route
}

// idOf returns the id that a trusted proxy gave a request, or else a new one.
func (o *ServerOptions) idOf(ctx *fasthttp.RequestCtx) string {
	if len(o.Trusted) > 0 {
		given := ctx.Request.Header.Peek(headerRequestID)
		if peer, ok := PeerOf(ctx); ok && len(given) <= maxRequestID && within(o.Trusted, peer) && usableID(string(given)) {
			return string(given)
		}
	}
	return o.newID()
}

// usableID tells whether an id has 1 to maxRequestID bytes, which are letters, digits, or one of - _ . : = + /
// as the ids of common proxies have.
func usableID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '=', c == '+', c == '/':
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
