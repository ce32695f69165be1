package control

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi"
)

// wrongTokens is the number of requests without the right token that an address may make in a
// minute; further requests without it are answered 429.
const wrongTokens = 5

// Guard passes a request below one of the prefixes to next only if it bears the token,
// whether or not its path exists ("/admin" stands for /admin itself and all paths below
// it). A missing token counts as a wrong token. The right token always passes, however many
// wrong tokens came from its address.
func Guard(token string, now func() pix.Millis, next fasthttp.RequestHandler, prefixes ...string) fasthttp.RequestHandler {
	want, wrong := sha256.Sum256([]byte(token)), httpapi.NewLimiter(wrongTokens)
	return func(ctx *fasthttp.RequestCtx) {
		if Below(string(ctx.URI().PathOriginal()), prefixes) && !bears(ctx, want) {
			refuseToken(ctx, wrong, now())
			return
		}
		next(ctx)
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

func bears(ctx *fasthttp.RequestCtx, want [sha256.Size]byte) bool {
	scheme, token, _ := bytes.Cut(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization), []byte(" "))
	got := sha256.Sum256(bytes.TrimSpace(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && bytes.EqualFold(scheme, []byte("Bearer"))
}
