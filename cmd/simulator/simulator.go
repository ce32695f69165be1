// Package simulator runs the scheme's simulator as a process of its own: `pixd sim`.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/cmd/certificate"
	"pixd/cmd/machine"
	"pixd/cmd/metrics"
	"pixd/cmd/serving"
	"pixd/httpapi"
	"pixd/httpapi/control"
	simapi "pixd/httpapi/sim"
	"pixd/wal"
)

// Config holds the settings from the flags of `pixd sim`.
type Config struct {
	DataDir      string
	Listen       string
	TLS          certificate.Files
	SettleDelay  time.Duration
	Engine       string // base URL to which notices for an engine are sent; of several nodes the URL of each, separated by commas
	EngineCA     string // file with the certificates by which an https Engine is trusted; empty: the system's authorities
	ISPB         string // the engine's own ISPB: 8 digits or capital letters
	SchemeSecret string
	AdminToken   string // the token that requests to /sim need

	Starting  context.Context // ends a start that is under way, with serving.ErrStopped; nil: nothing does
	FS        wal.FS          // nil: the machine's file system
	Clocks    *clock.Sources  // nil: this machine's clocks
	Log       *slog.Logger
	OnFailure func(error)
}

// clocks returns the machine's clocks, or those that a test has set.
func (c *Config) clocks() clock.Sources {
	if c.Clocks != nil {
		return *c.Clocks
	}
	return machine.Clocks()
}

// Defaults returns the settings of a command line without flags.
func Defaults() Config {
	return Config{
		DataDir: "./sim-data", Listen: "127.0.0.1:8090", SettleDelay: 200 * time.Millisecond,
		Engine: "http://" + serving.AdminListen, ISPB: serving.ISPB,
	}
}

// Check returns an error for the first setting that is not allowed.
func (c *Config) Check() error {
	switch {
	case c.DataDir == "":
		return errors.New("--data-dir is empty")
	case c.SettleDelay < 0:
		return fmt.Errorf("--settle-delay %v: 0 or longer", c.SettleDelay)
	case !pix.ISPB(c.ISPB):
		return fmt.Errorf("--ispb %q: 8 digits or capital letters", c.ISPB)
	case strings.TrimSpace(c.AdminToken) == "":
		return errors.New("PIXD_ADMIN_TOKEN is empty: it is the token that /sim asks for")
	}
	if err := serving.CheckToken("PIXD_ADMIN_TOKEN", c.AdminToken); err != nil {
		return err
	}
	for _, one := range c.engines() {
		if _, err := provider.ParseURL(one); err != nil {
			return fmt.Errorf("--engine: %w", err)
		}
	}
	if _, err := provider.NewSecret(c.SchemeSecret); err != nil {
		return fmt.Errorf("PIXD_SCHEME_SECRET: %w", err)
	}
	return errors.Join(c.checkEngineCA(), c.TLS.Check(simTLS))
}

// simTLS begins the names of the flags for the simulator's certificate.
const simTLS = "tls"

// Served is a simulator in a process of its own, with its listener.
type Served struct {
	Addr net.Addr

	config   Config
	sim      *sim.Sim
	notifier *notifiers
	server   *fasthttp.Server
	cert     *certificate.Certificate // the listener's certificate; nil: plain HTTP
	traffic  metrics.Traffic
	ready    atomic.Bool
	failed   chan error
}

// Serve opens the simulator's book and serves two sets of requests: an engine's, as a
// provider does, and operators'. As with an engine, certificates are read and the port is taken
// before anything is written.
func Serve(c Config, b control.Build) (*Served, error) {
	cert, err := certificate.Read(simTLS, c.TLS)
	if err != nil {
		return nil, err
	}
	if err := wal.InUse(c.DataDir); err != nil {
		return nil, err
	}
	port, err := serving.Listen(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := &Served{Addr: port.Addr(), config: c, cert: cert, traffic: metrics.Traffic{Listener: "simulator"}, failed: make(chan error, 1)}
	if err := s.openParts(b); err != nil {
		return nil, errors.Join(serving.Ended(c.Starting, err), s.close(), port.Close())
	}
	if cert != nil {
		cert.Tell(c.Log, "certificate")
	}
	l := httpapi.Limit(port, httpapi.ConnectionOptions{
		TLS: cert.Config(), Total: serving.AdminConnections, Refused: s.traffic.Answered, Log: c.Log,
	})
	s.traffic.Watch(s.server, l)
	s.ready.Store(true)
	go func() { s.failed <- s.server.Serve(l) }()
	return s, nil
}

func (s *Served) openParts(b control.Build) error {
	c := &s.config
	secret, err := provider.NewSecret(c.SchemeSecret)
	if err != nil {
		return err
	}
	engineTime := clock.New(c.clocks(), 0)
	if s.notifier, err = newNotifiers(c, engineTime.Now); err != nil {
		return err
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if s.sim, err = sim.Open(sim.Options{
		Starting: c.Starting, Dir: c.DataDir, FS: c.FS, OwnISPB: c.ISPB, SettleDelay: c.SettleDelay, Now: engineTime.Now, Entropy: machine.NewEntropy().Draw, OnFailure: c.OnFailure, Log: c.Log,
	}); err != nil {
		return err
	}
	if c.Starting != nil && c.Starting.Err() != nil {
		return c.Starting.Err()
	}
	h := simapi.New(simapi.Options{
		Sim: s.sim, Guard: provider.NewGuard(secret, provider.ToScheme, engineTime.Now, nil), Token: strings.TrimSpace(c.AdminToken),
		Metrics: metrics.Handler(metrics.OfProcess(&s.traffic)), GuardMetrics: s.cert != nil,
		Build: b, Ready: s.ready.Load, Now: engineTime.Now, Log: c.Log,
	})
	s.server = httpapi.NewServer(s.whileReady(h), httpapi.ServerOptions{Name: "simulator", NewRequestID: machine.RequestID, Log: c.Log})
	return s.sim.Start(s.notifier.Take)
}

// whileReady wraps a handler so that it refuses requests once the simulator's end has begun,
// because the book is closing.
func (s *Served) whileReady(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if !s.ready.Load() {
			control.NotReady(ctx)
			return
		}
		h(ctx)
	}
}

// Reload reads the certificate files again. If they cannot be used, the error is logged, and
// the earlier certificate stays in use.
func (s *Served) Reload() { certificate.Reload(s.config.Log, s.cert) }

// Failed returns a channel that receives an error when the listener ends by itself.
func (s *Served) Failed() <-chan error { return s.failed }

// Shutdown stops accepting, finishes the requests in hand, and closes the book. The next
// process delivers the notices that the engine has not acknowledged.
func (s *Served) Shutdown() error {
	s.ready.Store(false)
	return errors.Join(serving.Drain(s.server, func() bool { return s.traffic.InHand.Load() != 0 }, s.config.Log), s.close())
}

func (s *Served) close() error {
	if s.notifier != nil {
		s.notifier.Close()
	}
	if s.sim != nil {
		return s.sim.Close()
	}
	return nil
}
