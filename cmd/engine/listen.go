package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/httpapi"
	"pixd/httpapi/admin"
	"pixd/wal"
)

// Build is what the binary says of itself.
type Build struct{ Version, Commit string }

// Served is an engine that listens.
type Served struct {
	*Engine
	MerchantAddr net.Addr
	AdminAddr    net.Addr
	Token        string // the operator API's

	inHand          requests // the merchant API's
	merchant, admin *fasthttp.Server
	failed          chan error // a listener ended by itself
}

// Serve takes the data folder and the ports, restores the engine, and listens.
// The ports are taken before anything is written, so that a port in use leaves
// no trace; requests are accepted once everything is restored.
func Serve(c Config, b Build) (*Served, error) {
	if c.FS == nil {
		for _, dir := range []string{filepath.Join(c.DataDir, journalFolder), c.simDir()} {
			if err := wal.InUse(dir); err != nil {
				return nil, err
			}
		}
	}
	merchant, err := listen(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("merchant API: %w", err)
	}
	operator, err := listen(c.AdminListen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("operator API: %w", err), merchant.Close())
	}
	s, err := serve(c, b, merchant, operator)
	if err != nil {
		return nil, errors.Join(err, merchant.Close(), operator.Close())
	}
	return s, nil
}

// listen takes a port. An IPv4 address means IPv4 alone: Go would take 0.0.0.0
// for every address of both kinds.
func listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4"
		}
	}
	return net.Listen(network, address)
}

func serve(c Config, b Build, merchant, operator net.Listener) (*Served, error) {
	e, err := Open(c)
	if err != nil {
		return nil, err
	}
	s := &Served{Engine: e, MerchantAddr: merchant.Addr(), AdminAddr: operator.Addr(), failed: make(chan error, 2)}
	if s.Token, err = adminToken(&e.Config); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.merchant = httpapi.NewServer(s.inHand.count(httpapi.New(httpapi.Options{
		Engine: e.Directory, History: e.History, Registry: e.Registry, ISPB: c.ISPB, OrphanAfter: c.OrphanAfter,
		TrustedProxies: c.TrustedProxies, RateLimit: c.RateLimit, FailedAuthLimit: c.FailedAuthLimit, Now: now, Log: c.Log,
	})), "merchant", c.Log)
	s.admin = httpapi.NewServer(admin.New(admin.Options{
		Engine: e.Directory, Registry: e.Registry,
		NewAccountID: NewAccountID, NewEVP: uuid.NewString, NewSecret: secret,
		RegisterKey: e.registrar.register, Ready: e.ready.Load,
		Version: b.Version, Commit: b.Commit, Token: s.Token, Now: now, Log: c.Log, Sim: e.Sim,
	}), "operator", c.Log)
	go func() { s.failed <- s.admin.Serve(operator) }()
	go func() { s.failed <- s.merchant.Serve(merchant) }()
	e.ready.Store(true)
	return s, nil
}

// NewAccountID draws an account's id.
func NewAccountID() ledger.AccountID {
	for {
		if id := ledger.AccountID(binary.BigEndian.Uint64(secret(8))); id != 0 {
			return id
		}
	}
}

// Failed yields when a listener ends by itself.
func (s *Served) Failed() <-chan error { return s.failed }

// requests counts those that a handler has in hand.
type requests struct{ n atomic.Int64 }

func (r *requests) count(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		r.n.Add(1)
		defer r.n.Add(-1)
		h(ctx)
	}
}

// How long requests in hand are given to finish, and how long their answers are
// given to leave once no handler has any.
const (
	shutdownPatience = 10 * time.Second
	lastWords        = 250 * time.Millisecond
)

// Shutdown stops accepting, finishes the requests in hand, and closes.
func (s *Served) Shutdown() error {
	s.ready.Store(false)
	err := s.finish()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if failed := s.admin.ShutdownWithContext(ctx); failed != nil && !errors.Is(failed, context.DeadlineExceeded) {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, s.Engine.Close())
}

// finish waits for the requests in hand, and not for connections that only
// might bring one.
func (s *Served) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.merchant.ShutdownWithContext(ctx) }()
	tick := time.NewTicker(lastWords)
	defer tick.Stop()
	idle := false
	for {
		select {
		case err := <-done:
			if errors.Is(err, context.DeadlineExceeded) {
				s.Config.Log.Warn("requests in hand did not finish in time; their connections are cut")
				return nil
			}
			return err
		case <-tick.C:
			if now := s.inHand.n.Load() == 0; now && idle {
				return nil // the rest are connections without a request
			} else {
				idle = now
			}
		}
	}
}

// adminToken is the operators' bearer token: given, or kept in the data folder
// from the first start on.
func adminToken(c *Config) (string, error) {
	if c.AdminToken != "" || c.FS != nil {
		return c.AdminToken, nil
	}
	path := filepath.Join(c.DataDir, TokenFile)
	b, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(b)) != "" {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("operator token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(secret(32))
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("operator token: %w", err)
	}
	return token, nil
}

// TokenFile is where the operators' token lies in a data folder.
const TokenFile = "admin.token"
