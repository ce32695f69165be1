// Package engine puts the packages together: it alone, with the commands, knows
// everyone. It hands clock and entropy inwards, opens the journal, restores what
// must be there before the first request, connects the scheme, and listens.
package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"time"

	"pixd/actors/account"
	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/scheme/provider"
	"pixd/wal"
)

// Config is what `pixd serve` is told by its flags; the zero value of a field
// stands for the default that Defaults states.
type Config struct {
	DataDir     string
	Listen      string // merchant API
	AdminListen string // operator API, metrics, health
	AdminToken  string // at least tokenChars; empty: read from, or made into, <data-dir>/admin.token
	TLS         TLSFiles
	AdminTLS    TLSFiles
	ISPB        string // the service's own: 8 digits or capital letters

	TrustedProxies []netip.Prefix
	Scheme         string // "sim", or the URL of a provider
	SchemeSecret   string // shared with a provider; at least provider.SecretBytes
	SchemeCA       string // file with what an https Scheme is trusted by; empty: the system's authorities
	SchemeListen   string // where a provider's notices are taken; empty: on the operator API
	SimDir         string // empty: <data-dir>/sim
	SettleDelay    time.Duration
	SchemeTimeout  time.Duration
	OrphanAfter    time.Duration // how long the scheme may owe its word on an accepted payout
	QueueRetry     time.Duration // between two tries of queued payouts
	QueueTTL       time.Duration // after which a queued payout is given up
	ApprovalTTL    time.Duration // and one that waits for an operator

	RateLimit        int   // requests of one address in a minute; 0: no limit
	FailedAuthLimit  int   // failed credentials of one address in a minute; 0: no limit
	ConnectionsPerIP int   // open at once on the merchant API from one address that is no trusted proxy; 0: no limit
	MinFreeDisk      int64 // bytes; with less of it free, merchants' new work is refused

	FS        wal.FS         // nil: the disk
	Clocks    *clock.Sources // nil: this machine's
	Log       *slog.Logger
	OnFailure func(error) // the journal has failed: nothing more is answered

	wrap        func(account.Journal) account.Journal // a test's fault between accounts and journal
	alerts      *alerts                               // where they go; nil: to the log and the journal alone
	commitLimit time.Duration                         // a test's; 0: commitLimit
	patience    time.Duration                         // a test's, with payouts' children at the end; 0: the directory's default
	cache       int64                                 // a test's: bytes of blocks that each store keeps; 0: the stores' defaults
	memTable    uint64                                // likewise, of what is not in tables yet
}

// TLSFiles are a listener's certificate chain and private key, in PEM; empty:
// the listener speaks plain HTTP.
type TLSFiles struct{ Cert, Key string }

// Defaults are those of the command line.
func Defaults() Config {
	return Config{
		DataDir: "./pixd-data", Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:8081",
		ISPB: "99999004", Scheme: inProcess, SettleDelay: 200 * time.Millisecond,
		SchemeTimeout: 10 * time.Second, OrphanAfter: 30 * time.Minute,
		QueueRetry: 3 * time.Second, QueueTTL: 2 * time.Hour, ApprovalTTL: 168 * time.Hour,
		RateLimit: 90_000, FailedAuthLimit: 6_000, ConnectionsPerIP: 4_096, MinFreeDisk: 1 << 30,
	}
}

// clocks are the machine's, or a test's.
func (c *Config) clocks() clock.Sources {
	if c.Clocks != nil {
		return *c.Clocks
	}
	return sources()
}

// simDir is where the in-process simulator keeps its book.
func (c *Config) simDir() string {
	if c.SimDir != "" {
		return c.SimDir
	}
	return filepath.Join(c.DataDir, "sim")
}

// Check tells the first setting that cannot be.
func (c *Config) Check() error {
	switch {
	case c.DataDir == "":
		return errors.New("--data-dir is empty")
	case !ledger.ISPB(c.ISPB):
		return fmt.Errorf("--ispb %q: 8 digits or capital letters", c.ISPB)
	case c.SettleDelay < 0:
		return fmt.Errorf("--sim-settle-delay %v: 0 or longer", c.SettleDelay)
	case c.SchemeTimeout <= 0:
		return fmt.Errorf("--scheme-timeout %v: longer than 0", c.SchemeTimeout)
	case c.OrphanAfter < time.Millisecond:
		return fmt.Errorf("--orphan-after %v: longer than 0", c.OrphanAfter)
	case c.QueueRetry < 100*time.Millisecond:
		return fmt.Errorf("--queue-retry %v: 100ms or longer", c.QueueRetry)
	case c.QueueTTL < time.Millisecond:
		return fmt.Errorf("--queue-ttl %v: longer than 0", c.QueueTTL)
	case c.ApprovalTTL < time.Millisecond:
		return fmt.Errorf("--approval-ttl %v: longer than 0", c.ApprovalTTL)
	case c.RateLimit < 0:
		return fmt.Errorf("--rate-limit %d: 0 (none) or more", c.RateLimit)
	case c.FailedAuthLimit < 0:
		return fmt.Errorf("--failed-auth-limit %d: 0 (none) or more", c.FailedAuthLimit)
	case c.ConnectionsPerIP < 0:
		return fmt.Errorf("--connections-per-ip %d: 0 (no limit) or more", c.ConnectionsPerIP)
	}
	return errors.Join(checkToken("PIXD_ADMIN_TOKEN", c.AdminToken), c.checkScheme(), c.TLS.check("tls"), c.AdminTLS.check("admin-tls"))
}

// inProcess tells whether the scheme is the simulator in this process.
func (c *Config) inProcess() bool { return c.Scheme == inProcess }

// inProcess is what --scheme says of the simulator in the process.
const inProcess = "sim"

func (c *Config) checkScheme() error {
	if err := c.schemePeer().checkCA(); err != nil {
		return err
	}
	if c.inProcess() {
		if c.SchemeListen != "" {
			return errors.New("--scheme-listen takes a provider's notices: it goes with --scheme URL")
		}
		return nil
	}
	if _, err := provider.ParseURL(c.Scheme); err != nil {
		return fmt.Errorf("--scheme: %w, and not %s, the simulator in the process", err, inProcess)
	}
	if _, err := provider.NewSecret(c.SchemeSecret); err != nil {
		return fmt.Errorf("--scheme %s: PIXD_SCHEME_SECRET: %w", c.Scheme, err)
	}
	return nil
}
