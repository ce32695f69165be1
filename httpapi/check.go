package httpapi

import (
	"bytes"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
)

// call is one request on its way. It and its ctx end with the handler: what goes
// to the engine is copied.
type call struct {
	*service
	route *route
	ctx   *fasthttp.RequestCtx

	multipart bool              // says check 1
	camel     bool              // X-Key-Case: camelCase, from check 2 on
	key       *registry.APIKey  // from check 3 on
	secret    []byte            // as presented with it
	ip        netip.Addr        // what the request counts as coming from, from check 4 on
	account   *registry.Account // from check 4 on
	body      *canonicaliser    // of a POST, from check 5 on
	left      int               // requests left to ip in this minute, from check 6 on; -1: it is not limited
	claim     string            // the Idempotency-Key, from check 7 on; empty: none
}

// checked runs the eight checks in their order. The first that fails has
// answered. GET and DELETE take no part in 1, 5 and 7, GET /balance none in 6.
func (c *call) checked() bool {
	post := c.ctx.IsPost()
	return (!post || c.contentType()) && // 1
		c.keyCase() && // 2
		c.credentials() && // 3
		c.origin() && // 4
		(!post || c.signature()) && // 5
		(c.route.unlimited || c.rate()) && // 6
		(!post || c.idempotencyKey()) && // 7
		c.permission() // 8
}

const unsupportedHint = "send the body as JSON with the header Content-Type: application/json"

func (c *call) contentType() bool {
	kind, _, _ := bytes.Cut(c.ctx.Request.Header.ContentType(), []byte(";"))
	kind = bytes.TrimSpace(kind)
	c.multipart = bytes.EqualFold(kind, []byte("multipart/form-data"))
	if c.multipart || bytes.EqualFold(kind, []byte("application/json")) {
		return true
	}
	answerError(c.ctx, fasthttp.StatusUnsupportedMediaType, "Unsupported Media Type, expected application/json", unsupportedHint)
	return false
}

// keyCase cannot fail: any other value means nothing.
func (c *call) keyCase() bool {
	c.camel = camel(c.ctx)
	return true
}

func (c *call) credentials() bool {
	id, secret, message := readCredentials(c.ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
	if message == "" {
		c.key, message = c.authenticate(id, secret)
		c.secret = secret
	}
	if message == "" {
		return true
	}
	if from, ok := c.failedFrom(); ok {
		if _, ok = c.failures.Take(from, c.Now()); !ok {
			tooMany(c.ctx)
			return false
		}
	}
	answerError(c.ctx, fasthttp.StatusUnauthorized, message, "")
	return false
}

// failedFrom is whom failed credentials are counted against: the client, or the
// peer where what it says of the client is no address.
func (c *call) failedFrom() (netip.Addr, bool) {
	if ip, ok := c.clientIP(c.ctx); ok {
		return ip, true
	}
	return PeerOf(c.ctx)
}

func (c *call) origin() bool {
	message := ""
	if len(c.key.Whitelist) == 0 {
		message = "IP whitelist required"
	} else if ip, ok := c.clientIP(c.ctx); !ok || !c.key.Allows(ip) {
		message = "Request IP not in API key whitelist"
	} else if a, ok := c.Registry.Account(c.key.Account); !ok || !a.Active {
		message = "Account is not active"
	} else {
		c.ip, c.account = ip, a
		c.key.Used(c.Now()) // by whom it is for, from where it may be
		return true
	}
	answerError(c.ctx, fasthttp.StatusForbidden, message, "")
	return false
}

// signatureAnswers are check 5's failures.
var signatureAnswers = map[sigResult]struct {
	status int
	detail string
}{
	sigMissingHeader: {fasthttp.StatusUnauthorized, "Missing HMAC header"},
	sigNoSecret:      {fasthttp.StatusForbidden, "HMAC secret not configured for this API key"},
	sigEmptyBody:     {fasthttp.StatusBadRequest, "Request body is required for HMAC validation"},
	sigUnusableBody:  {fasthttp.StatusBadRequest, "Request body must be valid JSON for HMAC validation"},
	sigMismatch:      {fasthttp.StatusUnauthorized, "Invalid HMAC signature"},
}

func (c *call) signature() bool {
	secret := c.secret
	if !c.key.Signing {
		secret = nil
	}
	c.body = canonicalisers.Get().(*canonicaliser)
	result, err := c.body.verify(secret, c.ctx.PostBody(), string(c.ctx.Request.Header.Peek("hmac")), c.camel, nil)
	if c.multipart && (result == sigValid || result == sigMismatch) {
		result = sigUnusableBody // whatever it carries: it says that it is no JSON
	}
	if result == sigValid {
		return true
	}
	if err != nil {
		c.Log.Debug("http: unusable body", "client_id", c.key.ClientID, "error", err)
	}
	answer := signatureAnswers[result]
	answerDetail(c.ctx, answer.status, answer.detail)
	return false
}

// rate counts the request, however it ends.
func (c *call) rate() bool {
	left, ok := c.requests.Take(c.ip, c.Now())
	if !ok {
		tooMany(c.ctx)
	}
	c.left = left
	return ok
}

const (
	idempotencyHeader = "Idempotency-Key"
	maxIdempotencyKey = 256 // characters
)

func (c *call) idempotencyKey() bool {
	c.claim = string(c.ctx.Request.Header.Peek(idempotencyHeader))
	if c.claim == "" {
		return true
	}
	c.ctx.Response.Header.Set(idempotencyHeader, c.claim)
	if utf8.RuneCountInString(c.claim) > maxIdempotencyKey {
		answerError(c.ctx, fasthttp.StatusBadRequest, "Idempotency-Key must be at most 256 characters", "")
		return false
	}
	return true
}

func (c *call) permission() bool {
	if c.key.Permissions.Has(c.route.permission) {
		return true
	}
	answerForbidden(c.ctx, "API key lacks permission: "+strings.Join(c.route.permission.Names(), ", "))
	return false
}
