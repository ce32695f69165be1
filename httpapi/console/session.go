package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

const (
	// sessionLasts is how long a session lasts from its login, in milliseconds.
	sessionLasts = 12 * 60 * 60 * 1000
	// mostSessions is how many sessions there may be at once. With more, the oldest one ends.
	mostSessions = 1000
	// mostOwn is how many sessions an operator may have at once. With more, the operator's oldest one ends.
	mostOwn = 20
	// mostForms is of how many forms of a session it is remembered what became of them. Of earlier ones it is known that
	// they were sent, of mostKeys in all: then the operator has to log in again.
	mostForms, mostKeys = 200, 5_000
	// wrongLogins is how many wrong tokens an address may try in a minute.
	wrongLogins = 5
)

// session is an operator who has logged in. It ends with the process, at its logout, after sessionLasts, and
// when the token is revoked.
type session struct {
	id    [sha256.Size]byte // of its cookie
	mark  string            // begins the keys of the session's forms
	token string
	csrf  string
	until pix.Millis

	mu      sync.Mutex
	done    map[string]outcome // by the key of a form: what became of it
	refused string             // the key of the form in done that has fields; empty: none has
	order   []string           // the newest keys in done, oldest first
	keys    int                // in done

	sandbox sandbox
}

// sessions are the sessions, oldest first.
type sessions struct {
	cookie string // its name
	tokens control.Tokens
	secret func(n int) []byte
	wrong  *httpapi.Limiter

	mu  *sync.Mutex
	all *[]*session
}

func newSessions(o Options) sessions {
	return sessions{
		cookie: cookieName(o.Listener), tokens: o.Tokens, secret: o.NewSecret, wrong: httpapi.NewLimiter(wrongLogins), mu: new(sync.Mutex), all: new([]*session),
	}
}

// cookieName is the name of the session's cookie. Browsers send a cookie to all ports of a host, so the port is in the
// name: two consoles on one host would end each other's sessions.
func cookieName(listener net.Addr) string {
	const name = "pixd_session"
	if tcp, is := listener.(*net.TCPAddr); is {
		return name + "_" + strconv.Itoa(tcp.Port)
	}
	return name
}

func (s *sessions) random(n int) string { return base64.RawURLEncoding.EncodeToString(s.secret(n)) }

// begin begins a session and returns its cookie.
func (s *sessions) begin(token string) (one *session, cookie string) {
	cookie = s.random(32)
	one = &session{
		id: sha256.Sum256([]byte(cookie)), mark: s.random(6), token: token, csrf: s.random(32),
		until: s.tokens.Now() + sessionLasts, done: map[string]outcome{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room(token)
	*s.all = append(*s.all, one)
	return one, cookie
}

// room ends an operator's oldest session where there are mostOwn, and the oldest of all where there are mostSessions.
func (s *sessions) room(token string) {
	own := 0
	for _, one := range *s.all {
		if one.token == token {
			own++
		}
	}
	oldest := -1
	if own >= mostOwn {
		oldest = slices.IndexFunc(*s.all, func(one *session) bool { return one.token == token })
	} else if len(*s.all) >= mostSessions {
		oldest = 0
	}
	if oldest >= 0 {
		*s.all = slices.Delete(*s.all, oldest, oldest+1)
	}
}

// of returns the session of a request and who it is; nil: it has none, or it has ended.
func (s *sessions) of(ctx *fasthttp.RequestCtx) (*session, control.Operator) {
	id := sha256.Sum256(ctx.Request.Header.Cookie(s.cookie))
	s.mu.Lock()
	i := slices.IndexFunc(*s.all, func(one *session) bool { return one.id == id })
	var one *session
	if i >= 0 {
		one = (*s.all)[i]
	}
	s.mu.Unlock()
	if one == nil {
		return nil, control.Operator{}
	}
	who, ok, _ := s.tokens.Of(one.token)
	if !ok || s.tokens.Now() >= one.until {
		s.end(one)
		return nil, control.Operator{}
	}
	return one, who
}

func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.all = slices.DeleteFunc(*s.all, func(other *session) bool { return other == one })
}

// allows reports whether a form bears the session's own CSRF token.
func (o *session) allows(token []byte) bool {
	return subtle.ConstantTimeCompare(token, []byte(o.csrf)) == 1
}

// made reports whether a page of this session has made the key of a form.
func (o *session) made(key string) bool { return strings.HasPrefix(key, o.mark+"-") }

// once carries out the form with a key, unless that was done. A session does one form at a time.
func (o *session) once(key string, do func() outcome) outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if was, known := o.done[key]; known {
		return was
	}
	if o.keys >= mostKeys {
		return outcome{} // became says why nothing was done
	}
	o.keys++
	o.done[key] = outcome{Problem: "unknown"} // if do panics
	became := do()
	if was := o.refused; was != "" {
		o.done[was] = o.done[was].without()
	}
	if o.refused = ""; became.fields != nil {
		o.refused = key
	}
	o.done[key] = became
	if o.order = append(o.order, key); len(o.order) > mostForms {
		o.done[o.order[0]] = outcome{Problem: "forgotten"}
		o.order = o.order[1:]
	}
	return became
}

// unshow has the documents that a form asked for shown this once.
func (o *session) unshow(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.done[key]
	was.Shown = ""
	o.done[key] = was
}

// became returns what became of the form with a key. One that the session has not taken was one too many, where there are
// that many.
func (o *session) became(key string) outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, known := o.done[key]
	if !known && o.keys >= mostKeys {
		return outcome{Problem: "session_full"}
	}
	return was
}

// setCookie sets the session's cookie; an empty one removes it.
func (c *console) setCookie(ctx *fasthttp.RequestCtx, value string) {
	var k fasthttp.Cookie
	k.SetKey(c.sessions.cookie)
	k.SetValue(value)
	k.SetPath(Path)
	k.SetHTTPOnly(true)
	k.SetSecure(c.Secure)
	k.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	if value == "" {
		k.SetExpire(fasthttp.CookieExpireDelete) // a max-age would count in its place
	} else {
		k.SetMaxAge(sessionLasts / 1000)
	}
	ctx.Response.Header.SetCookie(&k)
}

// has reports whether a session has not ended.
func (s *sessions) has(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(*s.all, one)
}
