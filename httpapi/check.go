package httpapi

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
)

// call is one request while it is handled; the eight checks (see checked) set its fields one
// after another. fasthttp reuses the request's memory after the handler has returned, so
// everything that is passed to the engine is a copy.
type call struct {
	*service
	route *route
	ctx   *fasthttp.RequestCtx

	multipart bool              // the Content-Type is multipart/form-data; set by check 1
	camel     bool              // the request has X-Key-Case: camelCase; set by check 2
	key       *registry.APIKey  // the API key; set by check 3
	secret    []byte            // the secret that the request presented with the key
	ip        netip.Addr        // the client's address; set by check 4
	account   *registry.Account // the API key's account; set by check 4
	body      *canonicaliser    // the reader of the body of a POST or PATCH; set by check 5
	left      int               // number of requests that ip may still send in this minute, set by check 6; -1: no limit
	counted   pix.Millis        // when check 6 counted the request
	claim     string            // the Idempotency-Key header; set by check 7; empty: none
}

// checked runs the eight checks in their order. The first check that fails has answered the
// request, and checked returns false. GET and DELETE requests skip checks 1, 5 and 7, PATCH requests
// check 7, and GET /balance skips check 6.
func (c *call) checked() bool {
	post := c.ctx.IsPost()
	bodied := post || c.ctx.IsPatch()
	return (!bodied || c.contentType()) && // check 1
		c.keyCase() && // check 2
		c.credentials() && // check 3
		c.origin() && // check 4
		(!bodied || c.signature()) && // check 5
		(c.route.unlimited || c.rate()) && // check 6
		(!post || c.idempotencyKey()) && // check 7
		c.permission() // check 8
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

// keyCase never fails: a value of X-Key-Case other than camelCase has no effect.
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
		now := c.Now()
		if _, ok = c.failures.Take(Network(from), now); !ok {
			tooMany(c.ctx, now)
			return false
		}
	}
	c.unauthorized(message)
	return false
}

// unauthorized answers 401 to a request whose credentials are missing or wrong.
func (c *call) unauthorized(message string) {
	if c.route.bothShapes {
		answerBoth(c.ctx, message)
		return
	}
	answerError(c.ctx, fasthttp.StatusUnauthorized, message, "")
}

// failedFrom returns the address against which failed credentials are counted: the client's
// address, or the peer's if the client's cannot be read from X-Forwarded-For.
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
		c.key.Used(c.Now()) // set only after the checks above: a wrong secret or address does not count as use
		return true
	}
	answerError(c.ctx, fasthttp.StatusForbidden, message, "")
	return false
}

// signatureAnswers has the status and the detail of the answer for each failure of check 5.
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
	var secret []byte
	if c.key.Signing {
		secret = c.secret
	}
	c.body = canonicalisers.Get().(*canonicaliser)
	result, err := c.body.verify(secret, c.ctx.PostBody(), string(c.ctx.Request.Header.Peek("hmac")), c.camel, c.route.aliases)
	if c.multipart && (result == sigValid || result == sigMismatch) {
		result = sigUnusableBody // the Content-Type says that the body is not JSON, whatever the body is
	}
	if result == sigValid {
		return true
	}
	if err != nil {
		c.Log.Debug("http: unusable body", "request_id", RequestID(c.ctx), "client_id", c.key.ClientID, "error", err)
	}
	answer := signatureAnswers[result]
	answerDetail(c.ctx, answer.status, answer.detail)
	return false
}

// rate counts the request against the limit of its address. The request counts even if it is
// refused later.
func (c *call) rate() bool {
	c.counted = c.Now()
	left, ok := c.requests.Take(c.ip, c.counted)
	if !ok {
		tooMany(c.ctx, c.counted)
	}
	c.left = left
	return ok
}

// sayLeft tells in the headers of an answer how many requests the address may still send, and when
// it may send as many as ever again.
func (c *call) sayLeft() {
	var digits [20]byte
	c.ctx.Response.Header.SetBytesV("x-ratelimit-remaining", strconv.AppendInt(digits[:0], int64(c.left), 10))
	sayReset(c.ctx, c.counted)
}

const (
	idempotencyHeader = "Idempotency-Key"
	maxIdempotencyKey = 256 // greatest length in characters
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
