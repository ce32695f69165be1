// Package engine connects the packages: only it and the commands know all of them. It hands
// clock and entropy inwards, opens the journal, restores everything needed before the first
// request, connects the scheme, and listens.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"pixd/actors/account"
	"pixd/actors/alerts"
	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/webhook"
	"pixd/cmd/certificate"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/cmd/serving"
	"pixd/snapshot"
	"pixd/wal"
)

// Config holds the settings from the flags of `pixd serve`; Defaults returns the values of
// flags that are not given.
type Config struct {
	DataDir     string
	Listen      string // address of the merchant API
	AdminListen string // address of the operator API, the metrics and the probes
	AdminToken  string // at least tokenChars; empty: <data-dir>/admin.token, made if missing
	TLS         certificate.Files
	AdminTLS    certificate.Files
	SchemeTLS   certificate.Files // of SchemeListen; empty: AdminTLS
	ISPB        string            // the service's own ISPB: 8 digits or capital letters
	ISPBTable   string            // file with the names of other institutions, as httpapi.ReadBanks reads it; empty: the built-in ones

	TrustedProxies []netip.Prefix
	Scheme         string // "sim", or the URL of a provider
	SchemeSecret   string // the secret shared with a provider; at least provider.SecretBytes
	SimToken       string // the token of the simulator at Scheme, with which operators' requests to /sim are passed on to it; empty: none are
	SchemeCA       string // file with the certificates by which an https Scheme is trusted; empty: the system's authorities
	SchemeListen   string // address for a provider's notices; empty: the operator API takes them
	SimDir         string // folder of the simulator's book; empty: <data-dir>/sim
	SettleDelay    time.Duration
	SchemeTimeout  time.Duration
	OrphanAfter    time.Duration // from an acceptance until the scheme is asked once more; then a payout may be voided, and a refund is sent again if the scheme does not know it
	QueueRetry     time.Duration // time between two tries to send queued payouts
	QueueTTL       time.Duration // from a payout's entry into the queue until it fails
	ApprovalTTL    time.Duration // from a payout's wait for an operator until it fails
	ApprovalBy     int           // how many operators must approve a payout that waits: 1 or 2
	MEDSilence     string        // what becomes of a special-return case that was not defended in time: agree or wait
	MEDDeadline    time.Duration // from a special-return case's opening until the merchant can no longer defend it
	MEDAnalysis    time.Duration // from a special-return case's opening until the institution should have decided it

	WebhookInsecure bool            // webhooks may use http:// and private addresses; for development only
	WebhookTimeout  time.Duration   // most time for one attempt to deliver a webhook
	WebhookRetries  []time.Duration // waits before the second and each later attempt

	Docs             bool  // the merchant API's description is at /docs of the merchant listener
	RateLimit        int   // largest number of requests of one address in a minute; 0: no limit
	FailedAuthLimit  int   // failed credentials of one address in a minute; 0: no limit
	ConnectionsPerIP int   // connections open at once on the merchant API from one address that is no trusted proxy; 0: no limit
	MinFreeDisk      int64 // least number of free bytes on the disk; with fewer, merchants' new work is refused

	SnapshotDir     string        // folder of the snapshots; empty: <data-dir>/snapshots
	SnapshotEvery   time.Duration // time between two snapshots that the engine makes by itself; 0: it makes none
	SnapshotFull    int           // of so many of those in a row, one has all its files, and the others are increments; 1: each
	SnapshotKeep    int           // how many snapshots are kept; 0: all
	SnapshotMaxSize int64         // bytes of all kept snapshots together; 0: no limit

	AcceptRestoredGap bool   // serve a journal that was restored from a snapshot, although payments since then are missing in it
	Version           string // of the program, for snapshots' manifests

	Shared       *Shared // what this process shares with other nodes; nil: the journal is its own
	LeaveCluster bool    // serve a journal that nodes shared as one of its own again
	Uncaught     error   // why an earlier try of this process to catch up has failed, whose gap is accepted: the journal is served without; see GoesOn

	PackCommand []string // arguments with which this program calls PlayPacker, to pack snapshots in a process of its own; nil: in this process

	Starting  context.Context // ends a start that is under way, with ErrStopped; nil: nothing does
	FS        wal.FS          // nil: the machine's file system
	Clocks    *clock.Sources  // nil: this machine's clocks
	Log       *slog.Logger
	OnFailure func(error) // called when the journal has failed, after which nothing is answered

	read *filesRead // nil: they are read when they are needed

	wrapScheme  func(scheme.Scheme) scheme.Scheme                  // set by tests: wraps the scheme, to put in a fault
	wrap        func(account.Journal) account.Journal              // set by tests: wraps the journal that accounts append to, to put in a fault
	alerts      *alerts.Alerts                                     // nil: alerts go only to the log and the journal
	readFault   func() error                                       // set by tests: makes reads of the journal fail; see wal.Options
	post        func(context.Context, webhook.Post) webhook.Answer // set by tests: delivers webhooks; nil: a webhook.Sender does
	commitLimit time.Duration                                      // longest time of a commit, set by tests; 0: the constant commitLimit
	patience    time.Duration                                      // set by tests: how long Close waits for payouts' children; 0: the default of account.Limits
	resumeEvery time.Duration                                      // set by tests: in place of resumeEvery and reportedEvery; 0: those
	cache       int64                                              // set by tests: bytes of blocks that each store caches; 0: the stores' defaults
	memTable    uint64                                             // set by tests: bytes of rows that each store keeps before it writes a table; 0: the stores' defaults
}

// Defaults returns the settings of a command line without flags.
func Defaults() Config {
	return Config{
		DataDir: "./pixd-data", Listen: "127.0.0.1:8080", AdminListen: serving.AdminListen,
		ISPB: serving.ISPB, Scheme: inProcess, SettleDelay: 200 * time.Millisecond,
		SchemeTimeout: 10 * time.Second, OrphanAfter: 30 * time.Minute,
		QueueRetry: 3 * time.Second, QueueTTL: 2 * time.Hour, ApprovalTTL: 168 * time.Hour, ApprovalBy: 1,
		MEDSilence: silenceAgrees, MEDDeadline: 120 * time.Hour, MEDAnalysis: 168 * time.Hour,
		WebhookTimeout: 15 * time.Second, WebhookRetries: []time.Duration{
			5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		},
		RateLimit: 90_000, FailedAuthLimit: 6_000, ConnectionsPerIP: 4_096, MinFreeDisk: 1 << 30, SnapshotFull: 1, SnapshotKeep: 24,
	}
}

// clocks returns the machine's clocks, or those that a test has set.
func (c *Config) clocks() clock.Sources {
	if c.Clocks != nil {
		return *c.Clocks
	}
	return machine.Clocks()
}

// MakeFolder makes the data folder, readable by its owner alone.
func (c *Config) MakeFolder() error { return (&Engine{Config: *c}).makeFolder() }

// Token returns the operators' bearer token: the configured one, or the one in the data folder, which
// the first start makes.
func (c *Config) Token() (string, error) { return adminToken(c) }

// simDir is the folder of the in-process simulator's book.
func (c *Config) simDir() string {
	if c.SimDir != "" {
		return c.SimDir
	}
	return filepath.Join(c.DataDir, journal.SimFolder)
}

// snapshotDir is the folder of the snapshots.
func (c *Config) snapshotDir() string {
	if c.SnapshotDir != "" {
		return c.SnapshotDir
	}
	return filepath.Join(c.DataDir, "snapshots")
}

// files is the file system of the data folder and of the snapshots.
func (c *Config) files() snapshot.FS {
	if c.FS != nil {
		return c.FS
	}
	return snapshot.Disk
}

// minFree is the least number of free bytes on the disk.
func (c *Config) minFree() uint64 { return uint64(max(c.MinFreeDisk, 0)) }

// Check returns an error for the first setting that is not allowed.
func (c *Config) Check() error {
	switch {
	case c.DataDir == "":
		return errors.New("--data-dir is empty")
	case !pix.ISPB(c.ISPB):
		return fmt.Errorf("--ispb %q: 8 digits or capital letters", c.ISPB)
	case c.SettleDelay < 0:
		return fmt.Errorf("--sim-settle-delay %v: 0 or longer", c.SettleDelay)
	case c.SchemeTimeout <= 0:
		return fmt.Errorf("--scheme-timeout %v: longer than 0", c.SchemeTimeout)
	case c.OrphanAfter < time.Millisecond:
		return fmt.Errorf("--orphan-after %v: 1ms or longer", c.OrphanAfter)
	case c.QueueRetry < 100*time.Millisecond:
		return fmt.Errorf("--queue-retry %v: 100ms or longer", c.QueueRetry)
	case c.QueueTTL < time.Millisecond:
		return fmt.Errorf("--queue-ttl %v: 1ms or longer", c.QueueTTL)
	case c.ApprovalTTL < time.Millisecond:
		return fmt.Errorf("--approval-ttl %v: 1ms or longer", c.ApprovalTTL)
	case c.RateLimit < 0:
		return fmt.Errorf("--rate-limit %d: 0 (none) or more", c.RateLimit)
	case c.FailedAuthLimit < 0:
		return fmt.Errorf("--failed-auth-limit %d: 0 (none) or more", c.FailedAuthLimit)
	case c.ConnectionsPerIP < 0:
		return fmt.Errorf("--connections-per-ip %d: 0 (no limit) or more", c.ConnectionsPerIP)
	case c.ApprovalBy != 1 && c.ApprovalBy != 2:
		return fmt.Errorf("--approval-by %d: 1 or 2 operators approve a payout", c.ApprovalBy)
	}
	return cmp.Or(c.checkCases(), c.checkWebhooks(), c.checkSnapshots(), errors.Join(
		serving.CheckToken("PIXD_ADMIN_TOKEN", c.AdminToken), c.checkScheme(), c.TLS.Check("tls"), c.AdminTLS.Check("admin-tls"), c.SchemeTLS.Check("scheme-tls"),
	))
}

func (c *Config) checkCases() error {
	switch {
	case c.MEDSilence != silenceAgrees && c.MEDSilence != silenceWaits:
		return fmt.Errorf("--med-silence %q: %s or %s", c.MEDSilence, silenceAgrees, silenceWaits)
	case c.MEDDeadline < time.Millisecond:
		return fmt.Errorf("--med-deadline %v: 1ms or longer", c.MEDDeadline)
	case c.MEDAnalysis < time.Millisecond:
		return fmt.Errorf("--med-analysis %v: 1ms or longer", c.MEDAnalysis)
	}
	return nil
}

func (c *Config) checkWebhooks() error {
	switch {
	case c.WebhookTimeout < time.Millisecond:
		return fmt.Errorf("--webhook-timeout %v: 1ms or longer", c.WebhookTimeout)
	case len(c.WebhookRetries) > maxWebhookRetries:
		return fmt.Errorf("--webhook-retries: %d waits, at most %d", len(c.WebhookRetries), maxWebhookRetries)
	case slices.ContainsFunc(c.WebhookRetries, func(d time.Duration) bool { return d < time.Millisecond || d > maxWebhookWait }):
		return fmt.Errorf("--webhook-retries %v: each from 1ms to %v", c.WebhookRetries, maxWebhookWait)
	}
	return nil
}

func (c *Config) checkSnapshots() error {
	switch {
	case c.SnapshotEvery != 0 && c.SnapshotEvery < time.Second:
		return fmt.Errorf("--snapshot-every %v: 0 (none) or 1s and longer", c.SnapshotEvery)
	case c.SnapshotFull < 1:
		return fmt.Errorf("--snapshot-full %d: 1 (each) or more", c.SnapshotFull)
	case c.SnapshotKeep < 0:
		return fmt.Errorf("--snapshot-keep %d: 0 (all) or more", c.SnapshotKeep)
	}
	return nil
}

// The bounds of --webhook-retries.
const (
	maxWebhookRetries = 100
	maxWebhookWait    = 30 * 24 * time.Hour
)

// The values of --med-silence.
const (
	silenceAgrees = "agree"
	silenceWaits  = "wait"
)

// InProcess is the value of Config.Scheme for the simulator in this process.
const InProcess = inProcess

// inProcess reports whether the scheme is the simulator in this process.
func (c *Config) inProcess() bool { return c.Scheme == inProcess }

// inProcess is the value of --scheme for the simulator in this process.
const inProcess = "sim"

func (c *Config) checkScheme() error {
	if err := c.schemePeer().CheckCA(); err != nil {
		return err
	}
	if c.SchemeTLS != (certificate.Files{}) && c.SchemeListen == "" {
		return errors.New("--scheme-tls-cert and --scheme-tls-key are for --scheme-listen, which is not given")
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
