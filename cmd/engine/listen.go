package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"pixd/cmd/certificate"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/cmd/overload"
	"pixd/cmd/serving"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/httpapi/notices"
	"pixd/wal"
)

// Build is the version and the commit of the binary.
type Build = control.Build

// Served is an engine with its listeners.
type Served struct {
	*Engine
	MerchantAddr net.Addr
	AdminAddr    net.Addr
	SchemeAddr   net.Addr // nil: a provider's notices have no listener of their own
	Token        string   // the operator API's bearer token

	certs           [3]*certificate.Certificate // of the merchant API, of the operator API, and of the notices' own listener; nil: plain HTTP, or for the last the operator API's
	banks           httpapi.Banks
	meters          *meters
	connections     *httpapi.Connections // open connections of the merchant API
	admission       *overload.Admission
	intake          *overload.Intake
	merchant, admin *fasthttp.Server
	asMerchant      fasthttp.RequestHandler                 // the merchant API, for the console's sandbox
	schemePort      net.Listener                            // the port for a provider's notices; nil if SchemeAddr is nil
	notices         *fasthttp.Server                        // the server of a provider's notices on schemePort
	openNotices     *notices.Open                           // counts a provider's notices that are being worked on
	operate         atomic.Pointer[fasthttp.RequestHandler] // the operator API's handler; nil until everything is restored
	take            atomic.Pointer[fasthttp.RequestHandler] // the handler of a provider's notices on schemePort; nil until everything is restored
	failed          chan error                              // receives an error when a listener ends by itself
	watched         context.Context                         //nolint:containedctx // of browsers that show figures
	unwatch         context.CancelFunc                      // ends watched; so does the engine's end
}

// Serve takes the data folder and the ports, restores the engine, and listens. It reads the
// certificates and the table of banks and takes the ports before it writes anything, so that a port in use leaves
// no trace. Requests are accepted once everything is restored; until then the operator API
// answers only the probes.
func Serve(c Config, b Build) (*Served, error) {
	certs, err := readCertificates(&c)
	if err != nil {
		return nil, err
	}
	if _, err := c.schemePeer().Trust(); err != nil {
		return nil, err
	}
	banks, err := c.banks()
	if err != nil {
		return nil, err
	}
	if err := c.checkUnused(); err != nil {
		return nil, err
	}
	p, err := takePorts(&c)
	if err != nil {
		return nil, err
	}
	c.Version = b.Version
	s := &Served{
		MerchantAddr: p.merchant.Addr(), AdminAddr: p.admin.Addr(), schemePort: p.scheme,
		certs: certs, banks: banks, meters: newMeters(c.Log), failed: make(chan error, 3),
	}
	c.alerts = newAlerts(s.meters.alerts, c.Log)
	for _, cert := range certs {
		if cert != nil {
			cert.Tell(c.Log, "certificate")
		}
	}
	if p.scheme != nil {
		s.SchemeAddr = p.scheme.Addr()
	}
	s.probe(c, p.admin)
	s.holdNotices(c)
	if err := s.serve(c, b, p.merchant); err != nil {
		err = errors.Join(err, s.lastProbe())
		p.close() // the operator API's port is closed already, unless the start failed before its server began
		return nil, err
	}
	return s, nil
}

// checkUnused returns an error that names the process which has the folders of the settings in use.
func (c *Config) checkUnused() error {
	if c.FS != nil || c.Shared != nil {
		return nil
	}
	dirs := []string{filepath.Join(c.DataDir, journal.Folder)}
	if c.inProcess() {
		dirs = append(dirs, c.simDir())
	}
	for _, dir := range dirs {
		if err := wal.InUse(dir); err != nil {
			return err
		}
	}
	return nil
}

// ports are the ports that an engine takes before it writes anything.
type ports struct{ merchant, admin, scheme net.Listener }

func takePorts(c *Config) (p ports, err error) {
	if sh := c.Shared; sh != nil {
		return ports{sh.Merchant, sh.Admin, sh.Scheme}, nil
	}
	for _, l := range []struct {
		name, address string
		port          *net.Listener
	}{
		{"merchant API", c.Listen, &p.merchant},
		{"operator API", c.AdminListen, &p.admin},
		{"scheme's notices", c.SchemeListen, &p.scheme},
	} {
		if l.port == &p.scheme && l.address == "" {
			break
		}
		if *l.port, err = serving.Listen(l.address); err != nil {
			p.close()
			return p, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return p, nil
}

func (p *ports) close() {
	for _, l := range []net.Listener{p.merchant, p.admin, p.scheme} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// onceReady calls the handler that is stored, and answers 503 until there is one.
func onceReady(handler *atomic.Pointer[fasthttp.RequestHandler]) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if h := handler.Load(); h != nil {
			(*h)(ctx)
			return
		}
		control.NotReady(ctx)
	}
}

// probe opens the operator API for probes of health and readiness.
func (s *Served) probe(c Config, admin net.Listener) {
	s.admin = httpapi.NewServer(onceReady(&s.operate), httpapi.ServerOptions{Name: "operator", NewRequestID: machine.RequestID, Log: c.Log})
	l := httpapi.Limit(admin, httpapi.ConnectionOptions{
		TLS: s.certs[1].Config(), Total: serving.AdminConnections, PerIP: adminPerIP, Trusted: loopback,
		Refused: s.meters.admin.Answered, Log: c.Log,
	})
	s.meters.admin.Watch(s.admin, l)
	go func() { s.failed <- s.admin.Serve(l) }()
}

const (
	// adminPerIP is how many connections one address may have on the operator API, so that operators and
	// probes get in even if other clients reach the port. Connections from this machine (simulated
	// payments, load tests) have no limit by address.
	adminPerIP = serving.AdminConnections / 8
	// schemePerIP is how many connections one address may have on the listener for a provider's
	// notices. `pixd sim` opens 256 at most.
	schemePerIP = serving.AdminConnections / 2
)

// loopback are this machine's own addresses.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Failed returns a channel that receives an error when a listener ends by itself.
func (s *Served) Failed() <-chan error { return s.failed }
