package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

const (
	cookieName = "pixd_session"
	// sessionLasts is how long a session lasts from its login, in milliseconds.
	sessionLasts = 12 * 60 * 60 * 1000
	// mostSessions is how many sessions there may be at once. With more, the oldest one ends.
	mostSessions = 1000
	// wrongLogins is how many wrong tokens an address may try in a minute.
	wrongLogins = 5
)

// session is an operator who has logged in. It ends with the process, at its logout, after sessionLasts, and
// when the token is revoked.
type session struct {
	token string
	csrf  string
	until pix.Millis
	mu    sync.Mutex
	done  map[string]outcome // by the key of a form: what became of it
	order []string
}

// sessions are the sessions by the SHA-256 of their cookies.
type sessions struct {
	tokens control.Tokens
	secret func(n int) []byte
	wrong  *httpapi.Limiter

	mu    *sync.Mutex
	all   map[[sha256.Size]byte]*session
	order *[][sha256.Size]byte
}

func newSessions(tokens control.Tokens, secret func(n int) []byte) sessions {
	return sessions{
		tokens: tokens, secret: secret, wrong: httpapi.NewLimiter(wrongLogins),
		mu: new(sync.Mutex), all: map[[sha256.Size]byte]*session{}, order: new([][sha256.Size]byte),
	}
}

func (s *sessions) random() string { return base64.RawURLEncoding.EncodeToString(s.secret(32)) }

// begin begins a session and returns its cookie.
func (s *sessions) begin(token string) (cookie string) {
	cookie = s.random()
	one := &session{token: token, csrf: s.random(), until: s.tokens.Now() + sessionLasts, done: map[string]outcome{}}
	id := sha256.Sum256([]byte(cookie))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = one
	*s.order = append(*s.order, id)
	if len(*s.order) > mostSessions {
		delete(s.all, (*s.order)[0])
		*s.order = (*s.order)[1:]
	}
	return cookie
}

// of returns the session of a request and who it is; nil: it has none, or it has ended.
func (s *sessions) of(ctx *fasthttp.RequestCtx) (*session, control.Operator) {
	id := sha256.Sum256(ctx.Request.Header.Cookie(cookieName))
	s.mu.Lock()
	one := s.all[id]
	s.mu.Unlock()
	if one == nil {
		return nil, control.Operator{}
	}
	who, ok := s.tokens.Of(one.token)
	if !ok || s.tokens.Now() >= one.until {
		s.end(ctx)
		return nil, control.Operator{}
	}
	return one, who
}

// end ends the session of a request.
func (s *sessions) end(ctx *fasthttp.RequestCtx) {
	id := sha256.Sum256(ctx.Request.Header.Cookie(cookieName))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	for i, other := range *s.order {
		if other == id {
			*s.order = append((*s.order)[:i:i], (*s.order)[i+1:]...)
			break
		}
	}
}

// allows reports whether a form bears the session's own CSRF token.
func (o *session) allows(token []byte) bool {
	return subtle.ConstantTimeCompare(token, []byte(o.csrf)) == 1
}

// setCookie sets the session's cookie; an empty one removes it.
func (c *console) setCookie(ctx *fasthttp.RequestCtx, value string) {
	var k fasthttp.Cookie
	k.SetKey(cookieName)
	k.SetValue(value)
	k.SetPath(Path)
	k.SetHTTPOnly(true)
	k.SetSecure(c.Secure)
	k.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	k.SetMaxAge(sessionLasts / 1000)
	if value == "" {
		k.SetExpire(fasthttp.CookieExpireDelete)
	}
	ctx.Response.Header.SetCookie(&k)
}

func (c *console) showLogin(ctx *fasthttp.RequestCtx) {
	c.draw(ctx, fasthttp.StatusOK, &view{Page: "login", Title: "login", Lang: languageOf(ctx)})
}

// logIn begins a session of whoever has the token. An address may try five wrong tokens a minute.
func (c *console) logIn(ctx *fasthttp.RequestCtx) {
	v := &view{Page: "login", Title: "login", Lang: languageOf(ctx)}
	token := string(ctx.PostArgs().Peek("token"))
	if _, ok := c.Tokens.Of(token); !ok {
		if from, known := httpapi.PeerOf(ctx); known {
			if _, ok := c.sessions.wrong.Take(httpapi.Network(from), c.Tokens.Now()); !ok {
				v.Problem = "login_wait"
				ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
				c.draw(ctx, fasthttp.StatusTooManyRequests, v)
				return
			}
		}
		v.Problem = "login_wrong"
		c.draw(ctx, fasthttp.StatusUnauthorized, v)
		return
	}
	c.setCookie(ctx, c.sessions.begin(token))
	redirect(ctx, Path)
}

func (c *console) logOut(ctx *fasthttp.RequestCtx) {
	one, _ := c.sessions.of(ctx)
	if one != nil && !one.allows(ctx.PostArgs().Peek("csrf")) {
		ctx.Error("forbidden", fasthttp.StatusForbidden)
		return
	}
	c.sessions.end(ctx)
	c.setCookie(ctx, "")
	redirect(ctx, Path+"/login")
}

// redirect has the browser read another page of the console.
func redirect(ctx *fasthttp.RequestCtx, to string) {
	ctx.Response.Header.Set(fasthttp.HeaderLocation, to)
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}
