package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/account"
	"pixd/actors/clock"
	"pixd/actors/due"
	"pixd/actors/history"
	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/restored"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/actors/transfer"
	"pixd/actors/webhook"
	"pixd/snapshot"
	"pixd/wal"
)

// Engine is a running engine without its listeners.
type Engine struct {
	Config   Config
	Store    *wal.Store
	Clock    *clock.Clock
	Registry *registry.Registry
	Accounts *account.Host
	History  *history.History
	Sim      *sim.Sim // nil: the scheme is in another process

	terms     ledger.Terms
	scheme    *schemeCalls
	provider  *provider.Provider // nil: the simulator is in this process
	lanes     *transfer.Lanes    // of the calls to a provider; nil: the simulator is in this process
	feed      *account.Feed
	registrar *registry.Registrar
	refusals  *account.Refusals
	uses      *lastUsed
	auditor   auditor
	present   *keyed.Filter // filter over every row that ledger.MostlyAbsent is about, complete once fill has run
	entropy   *entropy
	targets   *webhook.Targets
	sender    *webhook.Sender
	webhooks  *webhook.Dispatcher
	snapshots snapshots
	load      load
	syncs     prometheus.Histogram // how long the journal's syncs took
	scanner   *due.Scanner
	ready     atomic.Bool
	ending    context.Context // cancelled when Close begins
	cancel    context.CancelFunc
	work      sync.WaitGroup
}

// Open restores an engine from its data folder, or makes a new one, and starts its background
// work. An error says what failed and where. A folder that cannot be used stays unchanged.
func Open(c Config) (*Engine, error) {
	e := &Engine{Config: c, entropy: newEntropy(), present: keyed.NewFilter(presentFilter), syncs: newSyncTimes()}
	if err := e.open(); err != nil {
		return nil, errors.Join(stopped(c.Starting, err), e.closeAll())
	}
	return e, nil
}

func (e *Engine) open() error {
	c := &e.Config
	if err := makeFolder(c); err != nil {
		return err
	}
	if err := e.openJournal(); err != nil {
		return err
	}
	_, newest, _ := e.Store.Head()
	e.Clock = clock.New(c.clocks(), pix.Millis(newest))
	if err := e.acceptRestored(); err != nil {
		return err
	}
	if err := e.readTerms(); err != nil {
		return err
	}
	if c.alerts == nil {
		c.alerts = &alerts{log: c.Log}
	}
	c.alerts.book.open(e.Store, e.Clock)
	if err := e.openRegistry(); err != nil {
		return err
	}
	if err := e.connect(); err != nil {
		return err
	}
	if c.wrapScheme != nil {
		e.scheme.Scheme = c.wrapScheme(e.scheme.Scheme)
	}
	e.History = history.New(e.Store)
	var journal account.Journal = e.Store
	if c.wrap != nil {
		journal = c.wrap(journal)
	}
	e.scanner = due.NewScanner(due.New(millis(c.QueueRetry), e.terms.OrphanAfter, due.DefaultBounds()), e.Store, e.Clock.Read, c.alerts, c.Log)
	if err := e.newWebhooks(); err != nil {
		return err
	}
	e.Accounts = account.NewHost(account.Options{
		Config: account.Config{
			Renderer: c.renderer(), HeadEvery: headEvery, Terms: e.terms,
			KeyIsOurs: e.Registry.Holds, Present: e.present, Claims: account.NewClaims(e.Clock.Read(), claimsFilter), Alerts: c.alerts, Webhooks: e.webhooks,
		},
		Limits:  account.Limits{SchemeTimeout: c.SchemeTimeout, ClosePatience: c.patience},
		Journal: journal, Rows: rows{e.Store}, Tail: e.Store, Look: e.Store.Look, Scheme: e.scheme, Lanes: e.lanes, Tasks: e.scanner,
		Opening: e.Registry.Opening, Active: e.Registry.Active, Now: e.Clock.Read, Entropy: e.entropy.draw, Log: c.Log,
	})
	e.registrar = &registry.Registrar{
		Registry: e.Registry, Scheme: e.scheme, Log: c.Log, Timeout: c.SchemeTimeout, Forgetful: e.provider != nil,
	}
	if err := c.goesOn(); err != nil {
		return err
	}
	return e.start()
}

// readTerms sets the service's terms: those of the flags, and what the store adds to them.
func (e *Engine) readTerms() error {
	secret, err := endToEndSecret(e.Store)
	if err != nil {
		return err
	}
	e.terms = e.Config.terms(secret)
	return restored.ReadTerms(webhookRows{e.Store}, &e.terms)
}

// openRegistry restores the registry, and what is kept beside it.
func (e *Engine) openRegistry() (err error) {
	if e.Registry, err = registry.Open(starting{e.Store, &e.Config}, e.Clock.Stamp); err != nil {
		return err
	}
	e.refusals = &account.Refusals{Journal: e.Store, Known: e.Registry.Has, Alerts: e.Config.alerts, Stamp: e.Clock.Stamp}
	if err := e.refusals.Load(e.Store.Scan); err != nil {
		return err
	}
	uses := &lastUsed{registry: e.Registry, store: e.Store}
	if err := uses.load(); err != nil {
		return err
	}
	e.uses = uses
	return nil
}

func (e *Engine) openJournal() (err error) {
	c := &e.Config
	e.Store, err = wal.Open(wal.Options{
		Starting: c.Starting, Dir: filepath.Join(c.DataDir, journalFolder), FS: c.FS, Hard: hard(c.ISPB), OnFailure: c.OnFailure, Log: c.Log,
		CacheBytes: c.cache, MemTableBytes: c.memTable, AroundSync: timed(e.syncs), ReadFault: c.readFault,
	})
	return err
}

// connect opens the simulator in this process, or prepares the provider in another process;
// to a provider it sends nothing yet.
func (e *Engine) connect() (err error) {
	c := &e.Config
	if c.inProcess() {
		e.Sim, err = sim.Open(e.simulated())
		e.scheme = &schemeCalls{Scheme: e.Sim}
		e.stated(e.Clock.Now()) // the simulator has no clock of its own
		return err
	}
	o, err := speaks(c.schemePeer(), c.SchemeSecret, e.Clock.Now, c.Log)
	if err != nil {
		return err
	}
	o.Stated = e.stated
	began := time.Now()
	e.lanes, o.Conns = transfer.NewLanes(func() time.Duration { return time.Since(began) }), transfer.Calls
	e.provider, err = provider.New(o)
	e.scheme = &schemeCalls{Scheme: e.provider}
	return err
}

// simulated returns the options of the simulator in this process.
func (e *Engine) simulated() sim.Options {
	c := &e.Config
	return sim.Options{
		Starting: c.Starting, Dir: c.simDir(), FS: c.FS, OwnISPB: c.ISPB, SettleDelay: c.SettleDelay, Now: e.Clock.Now, Entropy: e.entropy.draw, OnFailure: c.OnFailure, Log: c.Log,
		CacheBytes: c.cache, MemTableBytes: c.memTable,
	}
}

// Lookups returns the number of directory lookups that this process has made.
func (e *Engine) Lookups() uint64 { return e.scheme.lookups() }

// makeFolder makes the data folder, readable by its owner alone; on a test's file system it
// does nothing. It refuses a folder that a snapshot was being restored to: a start would make
// an empty journal in it.
func makeFolder(c *Config) error {
	if snapshot.Unfinished(c.files(), filepath.Clean(c.DataDir)) {
		return fmt.Errorf("%s: a snapshot is being restored to it, or that was interrupted: restore it again", c.DataDir)
	}
	if c.FS != nil {
		return nil
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// presentFilter is the size, in bytes, of the filter over the rows that are mostly absent. It is enough for
// thirteen million rows; with more rows, more lookups read the store in vain.
const presentFilter = 16 << 20

// fill fills the filters over rows that are mostly absent.
func (e *Engine) fill(ctx context.Context) {
	if err := account.FillPresent(ctx, e.present, e.Store.Scan); err != nil {
		e.Config.Log.Error("filter not filled: every payout and refund asks the store", "error", err)
	}
	if err := e.Registry.FillReservations(e.Store.Scan, func() bool { return ctx.Err() != nil }); err != nil {
		e.Config.Log.Error("filter not filled: every end-to-end id that a merchant chose asks the store", "error", err)
	}
}

// start begins the background work.
func (e *Engine) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	e.ending, e.cancel = ctx, cancel
	e.feed = &account.Feed{
		Rows: e.Store, Key: e.Registry.KeyOwner, Moved: e.Registry.Moved, Recent: e.Accounts.Recent(), Notice: e.Accounts.Notice,
		Refused: e.refusals.Has, Refuse: e.refusals.Refuse,
	}
	if e.Sim != nil {
		if err := e.Sim.Start(e.feed.Take); err != nil {
			return err
		}
	}
	e.snapshots.e = e
	if err := e.snapshots.begin(ctx); err != nil {
		return err
	}
	e.work.Add(10)
	go func() { defer e.work.Done(); e.load.watch(ctx) }()
	go func() { defer e.work.Done(); e.webhooks.Run(ctx) }()
	go func() { defer e.work.Done(); e.sweepWebhooks(ctx) }()
	e.work.Go(func() { e.watchWebhooks(ctx) })
	go func() { defer e.work.Done(); e.keepClock(ctx) }()
	go func() { defer e.work.Done(); e.fill(ctx) }()
	go func() { defer e.work.Done(); e.scanner.Run(ctx, e.Accounts) }()
	go func() { defer e.work.Done(); e.registrar.Run(ctx) }()
	go func() { defer e.work.Done(); e.reapIdle(ctx) }()
	go func() { defer e.work.Done(); e.keepClaims(ctx) }()
	go func() { defer e.work.Done(); e.uses.run(ctx, e.Config.Log) }()
	return nil
}

// trimEvery is the time between two trims of accounts; passivateEvery is the time between two
// searches for idle accounts.
const (
	trimEvery      = 2 * time.Second
	passivateEvery = 10 * time.Second
)

// reapIdle trims accounts at intervals and passivates idle ones.
func (e *Engine) reapIdle(ctx context.Context) {
	trim, passivate := time.NewTicker(trimEvery), time.NewTicker(passivateEvery)
	defer trim.Stop()
	defer passivate.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-trim.C:
			e.Accounts.Trim()
		case <-passivate.C:
			e.Accounts.Passivate()
		}
	}
}

// Close ends the engine's work and closes its stores. Everything that was answered is already
// durable.
func (e *Engine) Close() error {
	e.ready.Store(false)
	return e.closeAll()
}

func (e *Engine) closeAll() error {
	if e.cancel != nil {
		e.cancel()
	}
	var errs []error
	if e.Accounts != nil {
		errs = append(errs, e.Accounts.Close())
	}
	e.auditor.end()
	e.snapshots.end()
	e.work.Wait()
	if e.uses != nil {
		errs = append(errs, e.uses.keep())
	}
	if e.Sim != nil {
		errs = append(errs, e.Sim.Close())
	}
	if e.provider != nil {
		e.provider.Close()
	}
	if e.sender != nil {
		e.sender.Close()
	}
	if e.Store != nil {
		errs = append(errs, e.Store.Close())
	}
	return errors.Join(errs...)
}
