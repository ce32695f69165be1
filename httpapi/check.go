package httpapi

import (
	"bytes"
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

	key     *registry.APIKey  // from check 3 on
	secret  []byte            // as presented with it
	account *registry.Account // from check 4 on
	claim   string            // the Idempotency-Key, from check 7 on; empty: none
}

// checked runs the checks in their order. The first that fails has answered.
// GET takes no part in 1, 5 and 7.
func (c *call) checked() bool {
	post := c.ctx.IsPost()
	return (!post || c.contentType()) && // 1
		c.credentials() && // 3
		c.origin() && // 4
		(!post || c.signature()) && // 5
		(!post || c.idempotencyKey()) && // 7
		c.permission() // 8
}

const unsupportedHint = "send the body as JSON with the header Content-Type: application/json"

func (c *call) contentType() bool {
	kind, _, _ := bytes.Cut(c.ctx.Request.Header.ContentType(), []byte(";"))
	kind = bytes.TrimSpace(kind)
	if bytes.EqualFold(kind, []byte("application/json")) || bytes.EqualFold(kind, []byte("multipart/form-data")) {
		return true
	}
	answerError(c.ctx, fasthttp.StatusUnsupportedMediaType, "Unsupported Media Type, expected application/json", unsupportedHint)
	return false
}

func (c *call) credentials() bool {
	id, secret, message := readCredentials(c.ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
	if message == "" {
		c.key, message = c.authenticate(id, secret)
		c.secret = secret
	}
	if message != "" {
		answerError(c.ctx, fasthttp.StatusUnauthorized, message, "")
		return false
	}
	return true
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
		c.account = a
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
	result, err := verifySignature(secret, c.ctx.PostBody(), string(c.ctx.Request.Header.Peek("hmac")), false, nil)
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
