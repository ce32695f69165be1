package engine

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/redact"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
)

const (
	// simDial is the longest time until a simulator in another process takes a connection, and simPatience until it has
	// answered; it works on a request for at most 10 s.
	simDial     = 3 * time.Second
	simPatience = 15 * time.Second
	// simAnswer is the longest answer of such a simulator that is passed on, in bytes: a book of all accounts.
	simAnswer = 64 << 20
)

// simElsewhere reports whether the settings have operators reach a simulator in another process by way of this engine.
func (c *Config) simElsewhere() bool { return !c.inProcess() && strings.TrimSpace(c.SimToken) != "" }

// elsewhere passes requests on to a simulator in another process.
type elsewhere struct {
	base, bearer string
	client       *fasthttp.Client
	log          *slog.Logger
}

// simHandler returns the handler of the paths below /sim for a simulator in another process; nil: the settings have none. It
// trusts what the scheme's calls trust.
func (c *Config) simHandler() (fasthttp.RequestHandler, error) {
	if !c.simElsewhere() {
		return nil, nil
	}
	if _, err := provider.ParseURL(c.Scheme); err != nil {
		return nil, err
	}
	trust, err := c.schemePeer().Trust()
	if err != nil {
		return nil, err
	}
	e := &elsewhere{base: strings.TrimRight(c.Scheme, "/"), bearer: "Bearer " + strings.TrimSpace(c.SimToken), client: simClient(trust), log: c.Log}
	return e.serve, nil
}

// simClient returns a client that sends each request once.
func simClient(trust *tls.Config) *fasthttp.Client {
	return &fasthttp.Client{
		TLSConfig: trust, MaxIdemponentCallAttempts: 1, RetryIfErr: func(*fasthttp.Request, int, error) (bool, bool) { return false, false },
		MaxConnsPerHost: 64, MaxConnWaitTimeout: simDial, ReadTimeout: simPatience, WriteTimeout: simPatience, MaxResponseBodySize: simAnswer,
		Dial: func(addr string) (net.Conn, error) { return fasthttp.DialDualStackTimeout(addr, simDial) },
	}
}

// serve passes a request on with the simulator's token in place of the operator's. Of the operator's headers none is passed on.
// 502: the simulator cannot be reached, or does not take the token. 503: it has not answered, and may have done what was
// asked for.
func (e *elsewhere) serve(ctx *fasthttp.RequestCtx) {
	req, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(answer)
	req.Header.SetMethodBytes(ctx.Method())
	req.SetRequestURI(e.base + string(ctx.URI().PathOriginal()))
	req.URI().SetQueryStringBytes(ctx.URI().QueryString())
	req.SetConnectionClose() // a connection that is kept may have ended, and most requests must not be sent twice
	req.Header.Set(fasthttp.HeaderAuthorization, e.bearer)
	if body := ctx.PostBody(); len(body) > 0 {
		req.Header.SetContentType("application/json")
		req.SetBody(body)
	}
	err := e.client.DoTimeout(req, answer, simPatience)
	if err == nil && (answer.StatusCode() == fasthttp.StatusUnauthorized || answer.StatusCode() == fasthttp.StatusTooManyRequests) {
		err = errSimToken
	}
	if err != nil {
		e.refuse(ctx, err)
		return
	}
	ctx.SetStatusCode(answer.StatusCode())
	ctx.SetContentTypeBytes(answer.Header.ContentType())
	ctx.SetBody(answer.Body())
}

// errSimToken says that the simulator answers 401, or 429 after several such answers.
var errSimToken = errors.New("it does not take the token in PIXD_SIM_TOKEN")

// refuse answers a request that the simulator has not answered.
func (e *elsewhere) refuse(ctx *fasthttp.RequestCtx, err error) {
	e.log.Warn("simulator: a request cannot be passed on", "path", redact.Path(string(ctx.Path())), "error", err)
	status, why := fasthttp.StatusServiceUnavailable, "it has not answered, and may have done it"
	var dial *net.OpError
	switch {
	case errors.Is(err, errSimToken):
		status, why = fasthttp.StatusBadGateway, err.Error()
	case errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, fasthttp.ErrDialTimeout):
		status, why = fasthttp.StatusBadGateway, "it cannot be reached"
	}
	control.AnswerProblem(ctx, control.Refuse(status, "the simulator at --scheme: %s", why))
}
