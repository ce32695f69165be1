package forward

import (
	"crypto/tls"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/redact"
	"pixd/httpapi"
)

// Face tells which of the owner's handlers a request is for.
type Face string

// The faces of an engine.
const (
	Merchant Face = "merchant"
	Operator Face = "operator"
	Checked  Face = "checked" // the operators', for a request whose token the forwarding node has checked
	Scheme   Face = "scheme"
	Local    Face = "local" // a node's own operators', whoever the owner is; the forwarding node has checked the token
)

// Owner says where the owner is; ok is false while there is none or it is not known. url is
// http://host:port, or https://host:port.
type Owner func() (name, url string, ok bool)

// Options are the parts and settings of a Forwarder.
type Options struct {
	Owner    Owner
	Self     string        // this node's name, for the owner's log
	TLS      *tls.Config   // for owners with https; see TLS
	Patience time.Duration // how long a request is routed again, from its arrival; 0: 4 s

	Forwarded func() // called for each request that an owner got and did not send back; may be nil
	Log       *slog.Logger
	// NoOwner answers a request with which nothing was done, in its listener's shape of an error:
	// 503, with Retry-After. A nil NoOwner answers without a body.
	NoOwner func(ctx *fasthttp.RequestCtx)
}

const (
	patience   = 4 * time.Second
	pauseLeast = 25 * time.Millisecond
	pauseMost  = 50 * time.Millisecond
	retryAfter = 1 // seconds
)

// Forwarder passes requests on to the owner.
type Forwarder struct {
	Options

	mu    sync.Mutex
	owner *pool // connections to the latest owner; nil: there was none
	over  bool  // Close was called

	lost atomic.Int64 // unix second of the latest warning about a request whose outcome is unknown
}

// New returns a Forwarder. It opens no connection before the first request.
func New(o Options) *Forwarder {
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.NoOwner == nil {
		o.NoOwner = noOwner
	}
	if o.Forwarded == nil {
		o.Forwarded = func() {}
	}
	return &Forwarder{Options: o}
}

func noOwner(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
}

// Handler returns a handler that passes each request on to one of the owner's handlers.
func (f *Forwarder) Handler(face Face) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		r := f.newRequest(ctx, face)
		defer r.release()
		arrived := ctx.Time()
		if arrived.IsZero() { // the request is the console's own, and has come by no server
			arrived = time.Now()
		}
		until := arrived.Add(f.Patience)
		for {
			switch f.attempt(ctx, r, until) {
			case answered:
				f.Forwarded()
				return
			case unknown:
				f.Forwarded()
				httpapi.Cut(ctx)
				return
			}
			if f.isOver() || !pause(until) {
				f.NoOwner(ctx)
				return
			}
		}
	}
}

// pause waits for a moment, and returns false if there is no such moment before an instant.
func pause(until time.Time) bool {
	d := pauseLeast + rand.N(pauseMost-pauseLeast)
	if time.Until(until) < d {
		return false
	}
	time.Sleep(d)
	return true
}

// outcome is what has come of an attempt.
type outcome byte

const (
	nothing  outcome = iota // nothing was done
	answered                // the answer is there, or begins to be passed on
	unknown                 // the request was sent, and nobody knows more
)

// attempt sends a request to the owner, if there is one.
func (f *Forwarder) attempt(ctx *fasthttp.RequestCtx, r *request, until time.Time) outcome {
	name, url, ok := f.Owner()
	if !ok {
		return nothing
	}
	p, err := f.poolOf(name, url)
	if errors.Is(err, errOver) {
		return nothing
	}
	if err != nil {
		f.Log.Warn("forward: the owner cannot be reached", "owner", name, "error", err)
		return nothing
	}
	l, err := p.get(whose(ctx), until)
	if err != nil {
		f.Log.Debug("forward: no connection to the owner", "owner", name, "error", err)
		return nothing
	}
	before := l.written
	broken := l.send(r)
	if broken != nil && l.written == before {
		p.fail(l)
		return nothing
	}
	return f.receive(ctx, p, l, broken)
}

// credentials is the seed with which credentials are told apart.
var credentials = maphash.MakeSeed()

// whose tells apart those who send requests: by the credentials, which only the owner checks.
func whose(ctx *fasthttp.RequestCtx) uint64 {
	return maphash.Bytes(credentials, ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
}

// receive reads the owner's answer to a request that was sent. If writing has failed midway, the
// owner may have answered before it had read everything, so a whole answer counts.
func (f *Forwarder) receive(ctx *fasthttp.RequestCtx, p *pool, l *link, broken error) outcome {
	if broken != nil {
		_ = l.SetReadDeadline(time.Now().Add(lateAnswer))
	}
	h := acquireHead()
	defer releaseHead(h)
	err := readHead(l.in, h)
	l.answers.Store(err == nil)
	back := err == nil && isNotOwner(h)
	switch {
	case back:
		err = l.skip(h)
	case err == nil:
		err = f.pass(ctx, p, l, h, broken != nil)
	}
	switch {
	case err != nil && !back:
		p.fail(l)
		f.warn(ctx, p, err)
		return unknown
	case !back:
		return answered
	case err != nil || broken != nil || h.ConnectionClose():
		p.drop(l)
	default:
		p.put(l)
	}
	return nothing
}

// warn logs at most once in a second that a request's outcome is unknown.
func (f *Forwarder) warn(ctx *fasthttp.RequestCtx, p *pool, err error) {
	level, now := slog.LevelDebug, time.Now().Unix()
	if before := f.lost.Load(); before != now && f.lost.CompareAndSwap(before, now) {
		level = slog.LevelWarn
	}
	f.Log.Log(ctx, level, "forward: a request was sent and the owner's answer did not come: the client's connection is cut",
		"request_id", httpapi.RequestID(ctx), "owner", p.name, "method", string(ctx.Method()), "path", redact.Path(string(ctx.Path())), "error", err)
}

// poolOf returns the connections to an owner. Those to an earlier one are retired.
func (f *Forwarder) poolOf(name, url string) (*pool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return nil, errOver
	}
	if p := f.owner; p != nil && p.name == name && p.url == url {
		return p, nil
	}
	p, err := newPool(name, url, f.TLS)
	if err != nil {
		return nil, err
	}
	if f.owner != nil {
		f.owner.retire(lastHeads, lastAnswers)
	}
	f.owner = p
	return p, nil
}

func (f *Forwarder) isOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// Moved says who the owner is. What was sent to an earlier one is cut in time though no other request
// comes that would find the new one.
func (f *Forwarder) Moved(name, url string) { _, _ = f.poolOf(name, url) }

// Close closes all connections. Requests that wait for an answer are cut, and later ones are
// refused at once; so the listeners should have been shut down before.
func (f *Forwarder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.owner != nil {
		f.owner.retire(0, 0)
	}
}
