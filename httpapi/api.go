package httpapi

import (
	"context"
	"log/slog"
	"net/netip"
	"runtime/debug"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

// Engine carries out commands on accounts. Whatever it answers is durable. Its errors are
// those of package ledger, such as ErrBusy.
type Engine interface {
	Do(pix.AccountID, ledger.Command) (ledger.Answer, error)
}

// History looks transactions and special-return cases up.
type History interface {
	// Transaction returns the account's transaction that has this id or transaction_id. It
	// returns nil if the account has no such transaction, even if another account has one.
	Transaction(a pix.AccountID, id string) (*ledger.Transaction, error)
	// Tag, EndToEnd and Reference find a transaction by its transaction_id, its end-to-end id
	// or the merchant's external id; nil as Transaction.
	Tag(a pix.AccountID, tag string) (*ledger.Transaction, error)
	EndToEnd(a pix.AccountID, id string) (*ledger.Transaction, error)
	Reference(a pix.AccountID, external string) (*ledger.Transaction, error)
	// Statement and Transactions return one page of a list. layout.ErrTooLong: reading it
	// takes too long.
	Statement(a pix.AccountID, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error)
	Transactions(a pix.AccountID, external string, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error)
	// Case returns the account's special-return case that has this id; nil as Transaction.
	Case(a pix.AccountID, id string) (*ledger.Case, error)
	// Cases returns one page of the account's special-return cases, the newest first; only
	// those in the status, if it is not 0. page counts from 1.
	Cases(a pix.AccountID, status pix.CaseStatus, page, perPage int) ([]*ledger.Case, error)
	// Subscriptions returns those of the account's webhook subscriptions that have these numbers,
	// in their order, without those that are removed.
	Subscriptions(a pix.AccountID, numbers []uint32) ([]*ledger.Subscription, error)
	// Subscription returns a webhook subscription, one that was removed too; nil where the account never had it.
	Subscription(t layout.Target) (*ledger.Subscription, error)
	// Deliveries returns one page of a subscription's deliveries in a state.
	Deliveries(t layout.Target, state layout.DeliveryState, p layout.Page) ([]ledger.DeliveryItem, error)
}

// Webhooks checks URLs, and puts deliveries back in line.
type Webhooks interface {
	// Check returns an error, whose text is for the merchant, where the account may not have
	// the URL called. ledger.ErrBusy: this cannot be found out for now.
	Check(ctx context.Context, id pix.AccountID, url string) error
	// Retry puts a delivery back in line. layout.ErrNoDelivery: the subscription never got the
	// event, or it is long over. layout.ErrSubscriptionEnded: the subscription gets nothing any
	// more.
	Retry(t layout.Target, event pix.EventID) error
}

// Options are the parts and settings that the merchant API is made of.
type Options struct {
	Engine         Engine
	History        History
	Webhooks       Webhooks
	NewSecret      func(n int) []byte // returns n random bytes that nobody can guess
	Registry       *registry.Registry
	ISPB           string // the institution's own ISPB
	Banks          Banks  // names of other institutions, beside the built-in ones
	Renderer       Renderer
	TrustedProxies []netip.Prefix
	Receipts       *fair.Pool[pix.AccountID] // places in which PDFs are drawn, of NewReceiptPlaces; nil: New makes them

	RateLimit       int // largest number of requests of one address in a minute; 0: no limit
	FailedAuthLimit int // largest number of failed credentials of one address in a minute; 0: no limit

	// Closed returns the reason for which new work is refused before any check, or "" if it
	// is not refused. A nil Closed refuses nothing.
	Closed func() string
	// Busy returns the reason for which new work is refused before any check because too many
	// requests are in hand, or "". Those of an account for which Modest is true are not refused
	// for it. A nil Busy refuses nothing.
	Busy func() string
	// Turned is called for each request that is refused for Busy; may be nil.
	Turned func()
	// Modest tells whether an account has fewer requests in work than its equal share.
	Modest func(pix.AccountID) bool

	// Docs adds the paths of the API's description, which need no credentials; nil: there are none.
	Docs func(*router.Router)

	Now func() pix.Millis
	Log *slog.Logger
}

type service struct {
	Options
	requests *Limiter // counts the requests of each address
	failures *Limiter // counts the failed credentials of each address
	company  company  // whether requests are of more than one account
}

// New returns the handler of the merchant API.
func New(o Options) fasthttp.RequestHandler {
	if o.Receipts == nil {
		o.Receipts = NewReceiptPlaces()
	}
	s := &service{Options: o, requests: NewLimiter(o.RateLimit), failures: NewLimiter(o.FailedAuthLimit)}
	return s.contain(s.router().Handler)
}

// contain cuts the connection of a request whose handler panicked. Nobody knows how much of
// the request was carried out, and any status would claim an outcome.
func (s *service) contain(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				s.Log.Error("http: panic", "request_id", RequestID(ctx), "panic", p, "stack", string(debug.Stack()))
				Cut(ctx)
			}
		}()
		next(ctx)
	}
}
