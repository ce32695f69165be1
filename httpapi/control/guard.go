package control

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi"
)

// wrongTokens is the number of requests without the right token that an address may make in a
// minute; further requests without it are answered 429.
const wrongTokens = 5

// Tokens are the tokens of operators.
type Tokens struct {
	Root string // that of the token file, with every right
	Now  func() pix.Millis

	// Named returns who has a token of their own; nil: nobody. An error: that cannot be known now. A nil func: there are
	// no operators with names.
	Named func(token string) (*registry.Operator, error)
}

// Operator is who a request is from.
type Operator struct {
	Name string // registry.Root: who has the token file's token
	Role registry.Role
}

// operatorValue names the user value of a request that says who it is from.
const operatorValue = "operator"

// Who returns the operator whom a guard has recognised; one without a role where no guard has.
func Who(ctx *fasthttp.RequestCtx) Operator {
	o, _ := ctx.UserValue(operatorValue).(Operator)
	return o
}

// As says who a request is from.
func As(ctx *fasthttp.RequestCtx, o Operator) { ctx.SetUserValue(operatorValue, o) }

// Roles refuses what an operator's role does not allow: a viewer's request that is no GET or HEAD. A request of
// which no guard has said who it is from passes.
func Roles(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if o := Who(ctx); o.Name != "" && o.Role < registry.Writer && !ctx.IsGet() && !ctx.IsHead() {
			AnswerProblem(ctx, Refuse(fasthttp.StatusForbidden, "%s is a viewer, who may read alone", o.Name))
			return
		}
		next(ctx)
	}
}

// Guard passes a request below one of the prefixes to next only if it bears an operator's token,
// whether or not its path exists ("/admin" stands for /admin itself and all paths below
// it), and if the operator's role allows it, see Roles. A missing token
// counts as a wrong token. A right token always passes, however many wrong tokens came from its address. While it cannot
// be known whose a token is, the answer is 503, and the token does not count.
func Guard(tokens Tokens, next fasthttp.RequestHandler, prefixes ...string) fasthttp.RequestHandler {
	wrong, allowed := httpapi.NewLimiter(wrongTokens), Roles(next)
	return func(ctx *fasthttp.RequestCtx) {
		if !Below(string(ctx.URI().PathOriginal()), prefixes) {
			next(ctx)
			return
		}
		o, ok, err := tokens.bearer(ctx)
		if err != nil {
			NotReady(ctx)
			return
		}
		if !ok {
			refuseToken(ctx, wrong, tokens.Now())
			return
		}
		As(ctx, o)
		allowed(ctx)
	}
}

// refuseToken counts a wrong token against the address at the connection's other end, an IPv6
// address by its /64, and answers 401, or 429 beyond wrongTokens in a minute.
func refuseToken(ctx *fasthttp.RequestCtx, wrong *httpapi.Limiter, now pix.Millis) {
	if from, ok := httpapi.PeerOf(ctx); ok {
		if _, ok = wrong.Take(httpapi.Network(from), now); !ok {
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
			AnswerProblem(ctx, Refuse(fasthttp.StatusTooManyRequests, "too many requests without the operator's token: wait a minute, or send the right one"))
			return
		}
	}
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	AnswerProblem(ctx, Refuse(fasthttp.StatusUnauthorized, "send the operator's token: Authorization: Bearer …"))
}

// Below reports whether a path is one of the prefixes, or below one of them.
func Below(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// bearer returns whose token a request bears; false: nobody's.
func (t *Tokens) bearer(ctx *fasthttp.RequestCtx) (Operator, bool, error) {
	scheme, token, _ := bytes.Cut(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization), []byte(" "))
	if !bytes.EqualFold(scheme, []byte("Bearer")) {
		return Operator{}, false, nil
	}
	return t.Of(string(bytes.TrimSpace(token)))
}

// Of returns who has a token; false: nobody. An error: that cannot be known now.
func (t *Tokens) Of(token string) (Operator, bool, error) {
	want, got := sha256.Sum256([]byte(t.Root)), sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return Operator{registry.Root, registry.Admin}, true, nil
	}
	if t.Named == nil || token == "" {
		return Operator{}, false, nil
	}
	o, err := t.Named(token)
	if o == nil || err != nil {
		return Operator{}, false, err
	}
	return Operator{o.Name, o.Role}, true, nil
}
