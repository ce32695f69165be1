package console

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
)

// language is one of the console's languages.
type language string

const (
	portuguese language = "pt-BR"
	english    language = "en"
)

// languageCookie keeps the language that was chosen.
const languageCookie = "pixd_lang"

// languageOf returns the language that a request asks for: by its address, its cookie, else by Accept-Language; Portuguese
// where it asks for none.
func languageOf(ctx *fasthttp.RequestCtx) language {
	for _, asked := range [][]byte{
		ctx.QueryArgs().Peek("lang"), ctx.Request.Header.Cookie(languageCookie), ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage),
	} {
		if len(asked) > 0 {
			if strings.HasPrefix(strings.ToLower(string(asked)), "en") {
				return english
			}
			return portuguese
		}
	}
	return portuguese
}

// setLanguage keeps the language that a request chooses.
func setLanguage(ctx *fasthttp.RequestCtx, secure bool) {
	if !ctx.QueryArgs().Has("lang") {
		return
	}
	var k fasthttp.Cookie
	k.SetKey(languageCookie)
	k.SetValue(string(languageOf(ctx)))
	k.SetPath(Path)
	k.SetSecure(secure)
	k.SetHTTPOnly(true)
	k.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	k.SetMaxAge(365 * 24 * 60 * 60)
	ctx.Response.Header.SetCookie(&k)
}

// say returns a text in a language.
func (l language) say(key string, args ...any) string {
	both, ok := words[key]
	if !ok {
		return key
	}
	text := both[0]
	if l == english {
		text = both[1]
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}
