package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"

	"github.com/fasthttp/router"
	"github.com/google/uuid"

	"pixd/actors/account"
	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/forward"
	"pixd/cmd/machine"
	"pixd/cmd/metrics"
	"pixd/cmd/overload"
	"pixd/cmd/serving"
	"pixd/docs/openapi"
	"pixd/httpapi"
	"pixd/httpapi/admin"
	"pixd/httpapi/notices"
	"pixd/httpapi/reference"
	"pixd/wal"
)

// serve restores the engine and opens both APIs.
func (s *Served) serve(c Config, b Build, merchant net.Listener) error {
	e, err := Open(c)
	if err != nil {
		return err
	}
	if s.Token, err = adminToken(&e.Config); err != nil {
		return errors.Join(err, e.Close())
	}
	s.Engine = e
	s.watched, s.unwatch = context.WithCancel(e.ending)
	if err = s.admitMerchants(merchant); err == nil {
		err = s.openAPIs(b)
	}
	if err != nil {
		return errors.Join(err, e.Close())
	}
	go func() { s.failed <- s.merchant.Serve(s.connections) }()
	e.ready.Store(true)
	return nil
}

// admitMerchants bounds the merchants' connections and the requests that are taken from them.
func (s *Served) admitMerchants(merchant net.Listener) (err error) {
	c, each := &s.Config, serving.Alone
	if c.Shared != nil {
		each = serving.AsNode
	}
	s.connections = httpapi.Limit(merchant, httpapi.ConnectionOptions{
		TLS: s.certs[0].Config(), Total: serving.Room(each, c.Log), PerIP: c.ConnectionsPerIP, Trusted: c.TrustedProxies,
		Refused: s.meters.merchant.Answered, Log: c.Log,
	})
	if s.intake, err = overload.NewIntake(s.open); err != nil {
		return err
	}
	s.work.Go(func() { s.intake.Run(s.ending) })
	s.admission = s.newAdmission()
	s.work.Go(func() { s.admission.Run(s.ending) })
	return nil
}

// openAPIs makes the merchants' server, and opens the operators' API and that of the scheme's notices.
func (s *Served) openAPIs(b Build) error {
	o := s.merchantOptions()
	s.registerFigures(o.Receipts)
	s.asMerchant = s.door(forward.Merchant, s.meters.requests.Timed("merchant", httpapi.New(o)))
	s.merchant = httpapi.NewServer(s.asMerchant, httpapi.ServerOptions{
		Name: "merchant", Trusted: s.Config.TrustedProxies, NewRequestID: machine.RequestID, Log: s.Config.Log,
	})
	s.meters.merchant.Watch(s.merchant, s.connections)
	operators, err := s.adminOptions(b, &o)
	if err != nil {
		return err
	}
	if err = s.takeNotices(); err != nil {
		return err
	}
	operate := s.meters.requests.Timed("operator", admin.New(operators))
	if s.Config.Shared != nil {
		operate = s.Config.Shared.Operators(operate)
	}
	s.operate.Store(&operate) // requests of operators are served from now on; the fields that they use are set
	return nil
}

// registerFigures adds the engine's figures to those that are served, and makes the count of a provider's notices.
func (s *Served) registerFigures(receipts *fair.Pool[pix.AccountID]) {
	register := s.meters.registry.MustRegister
	register(s.scheme, metrics.Webhooks{Of: s.webhooks}, s.snapshots, s.state())
	if s.Config.Shared != nil {
		register(s.Config.Shared.Collectors...)
	} else {
		register(s.writes)
	}
	shared := s.pools(receipts)
	if s.lanes != nil {
		lanes := metrics.Lanes{Of: s.lanes}
		maps.Copy(shared, lanes.Pools())
		s.openNotices = notices.NewInProgress()
		shared["notices"] = s.openNotices.Counts
		register(lanes)
	}
	register(shared, equalsRefused(s.Accounts), metrics.Transactions{Of: s.Accounts.Moves()})
}

func (s *Served) state() *metrics.State {
	return &metrics.State{
		Rows: s.Store, Now: s.Clock.Now, Free: s.Store.Free,
		Accounts: s.Accounts.InMemory,
		Waiting: func() uint64 {
			durable := s.Store.Durable()
			return uint64(s.Store.Submitted() - durable)
		},
	}
}

// newAdmission makes what decides whether merchants' new work is refused.
func (s *Served) newAdmission() *overload.Admission {
	c := &s.Config
	return overload.NewAdmission(overload.Options{
		Free: s.Store.Free, MinFree: c.minFree(), InHand: s.meters.merchant.InHand.Load, Late: s.intake.Late.Load,
		Raise: c.alerts.RaiseGeneral, Log: c.Log, CommitLimit: c.commitLimit,
		Progress: func() (wal.Ticket, wal.Ticket) {
			durable := s.Store.Durable() // read before submitted, so that durable is never more than submitted
			return s.Store.Submitted(), durable
		},
	})
}

// ReadFiles reads the files that the settings name and that an engine reads at its start, and keeps what they
// say: one of several nodes starts its engine long after it was started itself, and perhaps several times.
func (c *Config) ReadFiles() error {
	banks, err := c.banks()
	trust, wrong := c.schemePeer().Trust()
	if err = errors.Join(err, wrong); err == nil {
		c.read = &filesRead{banks, trust}
	}
	return err
}

// filesRead is what was read before the engine's start.
type filesRead struct {
	banks httpapi.Banks
	trust *tls.Config // towards Scheme; nil: the system's authorities
}

// banks reads the file that --ispb-table names.
func (c *Config) banks() (httpapi.Banks, error) {
	if c.read != nil {
		return c.read.banks, nil
	}
	if c.ISPBTable == "" {
		return nil, nil
	}
	file, err := os.Open(c.ISPBTable)
	if err != nil {
		return nil, fmt.Errorf("--ispb-table: %w", err)
	}
	defer file.Close()
	banks, err := httpapi.ReadBanks(file)
	if err != nil {
		return nil, fmt.Errorf("--ispb-table: %s: %w", c.ISPBTable, err)
	}
	return banks, nil
}

func (s *Served) merchantOptions() httpapi.Options {
	c, enough := &s.Config, overload.EnoughInHand()
	o := httpapi.Options{
		Engine: s.Accounts, History: s.History, Registry: s.Registry, ISPB: c.ISPB, Banks: s.banks, Renderer: c.renderer(),
		Webhooks: subscriptions{s.targets, s.Engine}, NewSecret: machine.Secret, Receipts: httpapi.NewReceiptPlaces(),
		TrustedProxies: c.TrustedProxies, RateLimit: c.RateLimit, FailedAuthLimit: c.FailedAuthLimit,
		Closed: s.admission.Closed, Busy: s.admission.Busy, Turned: func() { s.admission.Refused.Add(1) },
		Modest: func(id pix.AccountID) bool { return s.Accounts.Modest(id, enough) }, Now: s.Clock.Now, Log: c.Log,
	}
	if c.Docs {
		o.Docs = func(r *router.Router) { reference.Routes(r, openapi.Merchant) }
	}
	return o
}

func (s *Served) adminOptions(b Build, merchants *httpapi.Options) (admin.Options, error) {
	n, err := s.besideOperators()
	elsewhere, wrong := s.Config.simHandler()
	err = errors.Join(err, wrong)
	return admin.Options{
		Engine: s.Accounts, Registry: s.Registry, History: s.History, Webhooks: s.webhooks,
		Settings:     func(id pix.AccountID) (*ledger.Settings, int, error) { return account.SettingsOf(id, s.Store) },
		NewAccountID: machine.NewAccountID, NewEVP: uuid.NewString, NewSecret: machine.Secret,
		TellScheme: s.registrar.Tell, Lost: s.catchup.Aside.Has,
		Ready:  func() bool { return s.ready.Load() && s.connections.Accepting() },
		Alerts: s.Config.alerts.Read,
		Audit:  s.auditor.Answer, BeginAudit: s.auditor.Begin, AuditRuns: s.auditor.Runs,
		Awaits:    func(k *ledger.Case) bool { return k.AwaitsOperator(&s.terms) },
		Holds:     s.terms.Holds,
		AskHeld:   s.askHeld,
		Returns:   s.returnsOf,
		Receipt:   merchants.DrawReceipt,
		Snapshots: s.snapshots,
		Metrics:   s.meters.handler(), GuardMetrics: s.certs[1] != nil,
		Banks: s.banks, Version: b.Version, Commit: b.Commit, Token: s.Token, Now: s.Clock.Now, Clock: s.Clock, Log: s.Config.Log, Sim: s.Sim, SimElsewhere: elsewhere,
		Operators: s.Operators, ApprovalBy: s.Config.ApprovalBy, OnSnapshots: s.onSnapshots(),
		Notices: n, Cluster: s.cluster(), Console: s.console,
	}, err
}
