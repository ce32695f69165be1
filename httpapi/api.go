package httpapi

import (
	"log/slog"
	"net/netip"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/registry"
)

// Engine carries commands out. Its answer is durable; its errors are the
// ledger's.
type Engine interface {
	Do(ledger.AccountID, ledger.Command) (ledger.Answer, error)
}

// History is the read side.
type History interface {
	// Transaction is the account's own by id or transaction_id; nil where there
	// is none, whoever else may have it.
	Transaction(a ledger.AccountID, id string) (*ledger.Transaction, error)
}

// Options are what the merchant API is made of.
type Options struct {
	Engine         Engine
	History        History
	Registry       *registry.Registry
	ISPB           string // the service's own
	Renderer       Renderer
	TrustedProxies []netip.Prefix

	RateLimit       int // requests of one address in a minute; 0: no limit
	FailedAuthLimit int // failed credentials of one address in a minute; 0: no limit

	// Closed tells why new work is refused before any check; empty: it is not.
	// nil: never.
	Closed func() string

	Now func() ledger.Millis
	Log *slog.Logger
}

type service struct {
	Options
	requests *Limiter // of each address
	failures *Limiter // failed credentials of each address
}

// New is the merchant API.
func New(o Options) fasthttp.RequestHandler {
	s := &service{Options: o, requests: NewLimiter(o.RateLimit), failures: NewLimiter(o.FailedAuthLimit)}
	return s.contain(s.router().Handler)
}

// contain cuts the connection of a request whose handling panicked: nobody knows
// how far it came, and a status would say something about it.
func (s *service) contain(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				s.Log.Error("http: panic", "panic", p, "stack", string(debug.Stack()))
				Cut(ctx)
			}
		}()
		next(ctx)
	}
}
