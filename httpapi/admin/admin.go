// Package admin is the operator API over HTTP: accounts, their API keys and PIX keys,
// credits, statements, approvals, special-return cases, look-ups, alerts, the audit, the
// clock, operators with names and what they did, and the probes.
package admin

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/alerts"
	"pixd/actors/clock"
	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/httpapi/notices"
	"pixd/httpapi/reference"
	simapi "pixd/httpapi/sim"
)

// Options are the parts and settings that the operator API is made of.
type Options struct {
	Engine   httpapi.Engine
	Registry *registry.Registry
	History  History
	Webhooks Webhooks

	// Settings reads an account's settings as they are now, from rows and records, and tells how
	// many records it read; nil: the account has none yet, or they are damaged.
	Settings func(pix.AccountID) (settings *ledger.Settings, read int, err error)

	NewAccountID func() pix.AccountID
	NewEVP       func() string      // returns a new UUID v4
	NewSecret    func(n int) []byte // returns n random bytes that nobody can guess

	// Lost tells whether movements of an account that is not there are kept aside since a restore.
	Lost func(pix.AccountID) bool
	// TellScheme tells the scheme of a PIX key that was reserved or removed. It returns true
	// once the scheme has acknowledged that and the registry's record of it is durable. What it
	// cannot tell now is told later.
	TellScheme func(key string) bool
	Ready      func() bool // reports whether the merchant listener accepts connections

	// Alerts lists at most limit alerts that were raised at since or later, oldest first, or newest first.
	// after is empty, or the next that an earlier call returned: then the list goes on behind
	// that call's last alert.
	Alerts func(since pix.Millis, newest bool, after string, limit int) (all []alerts.Alert, next string, err error)

	// Audit compares each account's records with its rows and with the scheme's book. Its
	// report is sent as JSON. It may take a minute.
	Audit func() (any, error)
	// BeginAudit begins such an audit and does not wait for its report. Errors: a Problem where one is
	// under way, whoever asked for it.
	BeginAudit func() (AuditRun, error)
	// AuditRuns returns the audit that runs, and the one that ended last since the start; nil: there is none.
	AuditRuns func() (running, last *AuditRun)

	// Awaits tells whether a special-return case waits for an operator since a restore; nil:
	// none does.
	Awaits func(*ledger.Case) bool
	// Holds tells whether a payout waits for an operator since a restore; nil: none does.
	Holds func(*ledger.Transaction) bool
	// AskHeld asks the scheme about such a payout before an operator's decision about it. known: the scheme has it; what
	// has become of it is booked.
	AskHeld func(ledger.Owned) (known bool, err error)
	// Returns asks the scheme which returns it has of a payment that an account received.
	Returns func(account pix.AccountID, endToEnd string) ([]ledger.Returned, error)

	// Receipt draws a transaction's receipt as a PDF; own are its account's settings. ledger.ErrBusy: too many wait.
	Receipt func(a pix.AccountID, t *ledger.Transaction, own *ledger.Settings) ([]byte, error)

	Snapshots Snapshots // makes, lists and verifies snapshots
	Cluster   Cluster   // the nodes that share the journal; nil: it is this process's alone, and the paths do not exist

	Metrics      fasthttp.RequestHandler // answers /metrics; nil: the path does not exist
	GuardMetrics bool                    // /metrics needs the operators' token too

	Banks           httpapi.Banks // names of institutions, beside the built-in ones
	Version, Commit string
	Token           string // the token of the token file
	Operators       *registry.Operators
	ApprovalBy      int // how many operators must approve a payout: 1 or 2
	Now             func() pix.Millis

	// OnSnapshots answers for the paths about snapshots where another node may make them; nil: this engine makes them.
	OnSnapshots fasthttp.RequestHandler
	Clock       *clock.Clock // engine time; nil: the path /admin/clock does not exist
	Log         *slog.Logger
	Sim         *sim.Sim // the simulator in this process; nil: there is none
	// SimElsewhere answers the paths below /sim for a simulator in another process; nil: there is none, or it is not to be
	// reached by way of this API.
	SimElsewhere fasthttp.RequestHandler
	// Console adds the paths of the operators' console. It gets the API as it is behind the guard: it answers a request
	// as control.As says who it is from. nil: there is no console.
	Console func(r *router.Router, tokens control.Tokens, api fasthttp.RequestHandler)
	Notices *notices.Options // options for receiving notices of a scheme in another process; nil: this API receives none
}

type service struct {
	Options
	// Locks that are held from reading an account's settings to writing them. Several
	// accounts share one lock.
	settings [64]sync.Mutex
	exports  *fair.Pool[string] // statements that are being sent, by the operator's name
}

// New returns the handler of the operator API, with the simulator's endpoints where there
// is a simulator.
func New(o Options) fasthttp.RequestHandler {
	s := &service{Options: o, exports: fair.New[string](fair.Bounds{Places: exportsAtOnce, Share: exportsShare})}
	r := router.New()
	control.Strict(r)
	s.routes(r)
	if o.Sim != nil {
		simapi.Routes(r, o.Sim, o.Now, o.Log)
	}
	if o.SimElsewhere != nil {
		r.ANY("/sim/{path:*}", o.SimElsewhere)
	}
	if o.Notices != nil {
		notices.Routes(r, *o.Notices)
	}
	guarded := guardedPaths
	if o.GuardMetrics {
		guarded = append(slices.Clone(guarded), "/metrics")
	}
	named := func(token string) (*registry.Operator, error) { return o.Operators.WithToken(token), nil }
	tokens := control.Tokens{Root: o.Token, Named: named, Now: o.Now}
	api := s.recorded(r.Handler)
	if o.Console != nil {
		o.Console(r, tokens, control.Contain(o.Log, control.Roles(api)))
	}
	return control.Contain(o.Log, control.Guard(tokens, api, guarded...))
}

// guardedPaths begin the paths that need the operators' token, besides /metrics.
var guardedPaths = []string{"/admin", "/sim"}

func (s *service) routes(r *router.Router) {
	handle := func(method, path string, serve handler) {
		r.Handle(method, path, control.Handle(s.Log, serve))
	}
	control.Probes(r, control.Build{Version: s.Version, Commit: s.Commit}, s.Ready)
	reference.Routes(r, reference.OfOperators...)
	if s.Metrics != nil {
		r.GET("/metrics", s.Metrics)
	}
	handle("POST", "/admin/accounts", s.createAccount)
	handle("GET", "/admin/accounts", s.listAccounts)
	handle("GET", "/admin/accounts/{account_id}", about(s.account, s.showAccount))
	handle("PATCH", "/admin/accounts/{account_id}", about(s.account, s.changeAccount))
	handle("POST", "/admin/accounts/{account_id}/api-keys", about(s.account, s.createAPIKey))
	handle("GET", "/admin/accounts/{account_id}/api-keys", about(s.account, s.listAPIKeys))
	handle("GET", "/admin/accounts/{account_id}/pix-keys", about(s.account, s.listPixKeys))
	handle("POST", "/admin/accounts/{account_id}/pix-keys", about(s.account, s.createPixKey))
	handle("DELETE", "/admin/accounts/{account_id}/pix-keys/{key}", about(s.account, s.removePixKey))
	handle("POST", "/admin/accounts/{account_id}/credits", about(s.account, s.createCredit))
	handle("GET", "/admin/accounts/{account_id}/statement", about(s.account, s.exportStatement))
	handle("GET", "/admin/accounts/{account_id}/transactions", about(s.account, s.listTransactions))
	handle("GET", "/admin/alerts", s.listAlerts)
	handle("GET", "/admin/audit", s.audit)
	handle("POST", "/admin/audit", s.beginAudit)
	handle("GET", "/admin/audit/run", s.showAudit)
	if s.Clock != nil {
		handle("GET", "/admin/clock", s.showClock)
		handle("POST", "/admin/clock", admins(s.acceptClock))
	}
	handle("GET", "/admin/med", s.listCases)
	handle("GET", "/admin/med/{id}", about(s.specialReturn, s.showCase))
	handle("POST", "/admin/med/{id}/analysis", about(s.specialReturn, s.analyse))
	handle("POST", "/admin/med/{id}/refund", about(s.specialReturn, s.refundCase))
	handle("POST", "/admin/med/{id}/resume", about(s.specialReturn, s.resumeCase))
	handle("GET", "/admin/payouts", s.listPayouts)
	handle("POST", "/admin/payouts/{transaction_id}/approve", s.decide(ledger.Approved))
	handle("POST", "/admin/payouts/{transaction_id}/decline", s.decide(ledger.Declined))
	if s.Cluster != nil {
		clusterRoutes(r, s.Cluster, s.Log)
	}
	if s.OnSnapshots != nil {
		r.ANY(SnapshotsPath, s.OnSnapshots)
		r.ANY(verifyPath, s.OnSnapshots)
	} else {
		s.snapshotRoutes(r)
	}
	handle("GET", "/admin/actions", s.listActions)
	handle("POST", "/admin/disclosures", s.disclose)
	handle("GET", "/admin/operators", s.listOperators)
	handle("POST", "/admin/operators", admins(s.addOperator))
	handle("DELETE", "/admin/operators/{name}", admins(s.revokeOperator))
	s.lookRoutes(r, handle)
}

// lookRoutes adds the paths about transactions, webhooks and API keys.
func (s *service) lookRoutes(r *router.Router, handle func(method, path string, serve handler)) {
	handle("GET", "/admin/transactions/{id}", s.showTransaction)
	r.GET("/admin/transactions/{id}/receipt", s.showReceipt)
	handle("GET", "/admin/transactions/{id}/history", s.showLife)
	handle("GET", "/admin/webhooks", s.listWebhooks)
	handle("PATCH", "/admin/webhooks/{id}", about(s.webhook, s.changeWebhook))
	handle("POST", "/admin/webhooks/{id}/retry", s.retryWebhook)
	handle("GET", "/admin/webhook-deliveries", s.listDeliveries)
	handle("GET", "/admin/webhook-deliveries/{id}", about(s.delivery, s.showDelivery))
	handle("POST", "/admin/webhook-deliveries/{id}/retry", about(s.delivery, s.retryDelivery))
	handle("PATCH", "/admin/api-keys/{client_id}", about(s.apiKey, s.changeAPIKey))
	handle("DELETE", "/admin/api-keys/{client_id}", about(s.apiKey, s.revokeAPIKey))
}

// account returns the account that the path names.
func (s *service) account(ctx *fasthttp.RequestCtx) (*registry.Account, error) {
	name, _ := ctx.UserValue("account_id").(string)
	return s.accountNamed(name)
}

func (s *service) accountNamed(name string) (*registry.Account, error) {
	if id, ok := pix.ParseAccountID(name); ok {
		if a, ok := s.Registry.Account(id); ok {
			return a, nil
		}
	}
	return nil, control.Missing("no account %q", name)
}

// do has the engine carry out a command. For a refusal, and for an account that is unknown,
// busy or quarantined, it returns a Problem; if the account is busy or quarantined, the
// Problem is joined with the engine's error. Any other error is returned as it is.
func (s *service) do(id pix.AccountID, c ledger.Command) (ledger.Answer, error) {
	a, err := s.Engine.Do(id, c)
	switch {
	case errors.Is(err, ledger.ErrBusy), errors.Is(err, ledger.ErrWaited), errors.Is(err, ledger.ErrQuarantined):
		return a, errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable, "account %v: %v", id, err), err)
	case errors.Is(err, ledger.ErrUnknown):
		return a, control.Missing("no account %q", id.String())
	case err != nil:
		return a, err
	case a.Refusal != nil:
		return a, refused(a.Refusal)
	}
	return a, nil
}

// refused turns an account's refusal into the problem that the operator reads.
func refused(r *ledger.Refusal) error {
	status := httpapi.AdminStatus(r)
	if status == fasthttp.StatusBadRequest {
		return control.Bad("%s", fieldMessage(r))
	}
	return control.Refuse(status, "%s", r.Message)
}
