package operator

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/valyala/fasthttp"
)

// Guard asks for the bearer token before next sees a request below one of the
// prefixes ("/admin" is /admin itself and all below it), known paths or not.
func Guard(token string, next fasthttp.RequestHandler, prefixes ...string) fasthttp.RequestHandler {
	want := sha256.Sum256([]byte(token))
	return func(ctx *fasthttp.RequestCtx) {
		if below(string(ctx.URI().PathOriginal()), prefixes) && !bears(ctx, want) {
			ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
			AnswerProblem(ctx, Refuse(fasthttp.StatusUnauthorized, "send the operator's token: Authorization: Bearer …"))
			return
		}
		next(ctx)
	}
}

func below(path string, prefixes []string) bool {
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
