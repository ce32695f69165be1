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

	"pixd/actors/account"
	"pixd/actors/catchup"
	"pixd/actors/clock"
	"pixd/actors/due"
	"pixd/actors/history"
	"pixd/actors/keyed"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/restored"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/actors/transfer"
	"pixd/actors/webhook"
	"pixd/cmd/auditor"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/cmd/metrics"
	"pixd/cmd/overload"
	"pixd/cmd/serving"
	"pixd/cmd/snapshots"
	"pixd/snapshot"
	"pixd/wal"
)

// Engine is a running engine without its listeners.
type Engine struct {
	Config   Config
	Store    *wal.Store
	Clock    *clock.Clock
	Registry *registry.Registry

	Operators *registry.Operators // operators with names
	Accounts  *account.Host
	History   *history.History
	Sim       *sim.Sim // nil: the scheme is in another process

	terms     ledger.Terms
	scheme    *metrics.SchemeCalls
	provider  *provider.Provider // nil: the simulator is in this process
	lanes     *transfer.Lanes    // of the calls to a provider; nil: the simulator is in this process
	feed      *account.Feed
	registrar *registry.Registrar
	refusals  *account.Refusals
	catchup   *catchup.Runner
	gap       *restored.Mark // what the journal lacks; nil: it was not restored, or has caught up
	accepted  bool           // that gap was accepted at an earlier start
	unasked   error          // see Unasked
	catching  *catchup.State // of the catch-up of a restored journal; nil: it is not to catch up
	auditor   *auditor.Auditor
	endAudits context.CancelFunc
	present   *keyed.Filter // filter over every row that layout.MostlyAbsent is about, complete once fill has run
	entropy   *machine.Entropy
	targets   *webhook.Targets
	sender    *webhook.Sender
	webhooks  *webhook.Dispatcher
	snapshots *snapshots.Maker
	load      overload.Load
	writes    *metrics.Journal // figures of the journal's writes
	scanner   *due.Scanner
	ready     atomic.Bool
	ending    context.Context // cancelled when Close begins
	cancel    context.CancelFunc
	work      sync.WaitGroup
}

// Open restores an engine from its data folder, or makes a new one, and starts its background
// work. An error says what failed and where. A folder that cannot be used stays unchanged.
func Open(c Config) (*Engine, error) {
	e, err := open(c)
	if why := GoesOn(err); why != nil && c.Shared == nil && c.goesOn() == nil {
		c.Log.Error("the restored journal cannot catch up", "error", err)
		c.Uncaught = why
		return open(c)
	}
	return e, err
}

// GoesOn returns why a restored journal whose gap is accepted could not catch up, from an error of Open; nil: it is
// another error. An engine alone is opened again without; a node's journal has been closed by then, and it begins anew
// with Config.Uncaught.
func GoesOn(err error) error {
	if failed := (*notCaughtUp)(nil); errors.As(err, &failed) && failed.accepted {
		return failed.why
	}
	return nil
}

func open(c Config) (*Engine, error) {
	e := &Engine{Config: c, entropy: machine.NewEntropy(), present: keyed.NewFilter(presentFilter), writes: metrics.NewJournal()}
	e.ending, e.cancel = context.WithCancel(context.Background())
	e.auditor = e.newAuditor()
	if e.Config.alerts == nil {
		e.Config.alerts = newAlerts(nil, c.Log)
	}
	if err := e.openParts(); err != nil {
		return nil, errors.Join(serving.Ended(c.Starting, err), e.closeAll())
	}
	return e, nil
}

// openParts opens and connects the parts of the engine, each after those that it needs.
func (e *Engine) openParts() error {
	for _, step := range []func() error{
		e.makeFolder, e.openJournal, e.connect, e.takeRestored, e.readTerms, e.openAlerts, e.openRegistry,
		e.newWebhooks, e.newAccounts, e.openAside, e.Config.goesOn, e.catchUp, e.start,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// newAccounts makes the reader of lists and the accounts, and what works beside them.
func (e *Engine) newAccounts() error {
	c := &e.Config
	e.History = history.New(e.Store)
	var appendTo account.Journal = e.Store
	if c.wrap != nil {
		appendTo = c.wrap(appendTo)
	}
	e.scanner = due.NewScanner(due.New(millis(c.QueueRetry), e.terms.OrphanAfter, due.DefaultBounds()), e.Store, e.Clock.Read, c.alerts, c.Log)
	e.Accounts = account.NewHost(account.Options{
		Config: account.Config{
			Renderer: c.renderer(), HeadEvery: journal.HeadEvery, Terms: e.terms,
			KeyIsOurs: e.Registry.Holds, Present: e.present, Claims: account.NewClaims(e.Clock.Read(), claimsFilter), Alerts: c.alerts, Webhooks: e.webhooks,
		},
		Limits:  account.Limits{SchemeTimeout: c.SchemeTimeout, ClosePatience: c.patience},
		Journal: appendTo, Rows: rows{e.Store}, Tail: e.Store, Look: e.Store.Look, Scheme: e.scheme, Lanes: e.lanes, Tasks: e.scanner,
		Opening: e.Registry.Opening, Active: e.Registry.Active, Now: e.Clock.Read, Entropy: e.entropy.Draw, Log: c.Log,
	})
	e.registrar = &registry.Registrar{
		Registry: e.Registry, Scheme: e.scheme, Log: c.Log, Timeout: c.SchemeTimeout, Forgetful: e.provider != nil,
	}
	return nil
}

// readTerms sets the service's terms: those of the flags, and what the store adds to them.
func (e *Engine) readTerms() error {
	secret, err := endToEndSecret(e.Store)
	if err != nil {
		return err
	}
	e.terms = e.Config.terms(secret)
	uncaught, err := restored.Uncaught(e.Store)
	if err != nil {
		return err
	}
	e.terms.GapOpen = uncaught != nil && e.catching == nil
	if err := restored.ReadTerms(webhookRows{e.Store}, &e.terms); err != nil {
		return err
	}
	e.Clock.After(e.terms.RestoredAt) // what is made from now on is younger than what was restored
	return nil
}

// openRegistry restores the registry, and what is kept beside it.
func (e *Engine) openRegistry() (err error) {
	if e.Registry, err = registry.Open(startReader{e.Store, &e.Config}, e.Clock.Stamp); err != nil {
		return err
	}
	e.refusals = &account.Refusals{Journal: e.Store, Known: e.Registry.Has, Alerts: e.Config.alerts, Stamp: e.Clock.Stamp}
	if err := e.refusals.Load(e.Store.Scan); err != nil {
		return err
	}
	if e.Operators, err = registry.OpenOperators(e.Store, e.Clock.Stamp, e.terms.RestoredAt); err != nil {
		return err
	}
	return e.Registry.LoadUses(e.Store)
}

// openAlerts writes the alerts of the start so far, and lets later ones be written at once.
func (e *Engine) openAlerts() error {
	e.Config.alerts.Open(e.Store, e.Clock)
	return nil
}

// openJournal opens the journal, and begins engine time at its newest batch.
func (e *Engine) openJournal() (err error) {
	c := &e.Config
	if sh := c.Shared; sh != nil {
		e.Store = sh.Store
		if err = e.Store.Lead(sh.Lead); err == nil {
			e.beginTime()
		}
		return err
	}
	e.Store, err = wal.Open(wal.Options{
		Starting: c.Starting, Dir: filepath.Join(c.DataDir, journal.Folder), FS: c.FS, Hard: journal.HardSettings(c.ISPB), SetOnce: layout.SetOnce, OnFailure: c.OnFailure, Log: c.Log,
		CacheBytes: c.cache, MemTableBytes: c.memTable, AroundSync: e.writes.AroundSync, AroundCommit: e.writes.AroundCommit, ReadFault: c.readFault, LeaveCluster: c.LeaveCluster,
	})
	if err == nil {
		e.beginTime()
	}
	return err
}

// beginTime begins engine time at the journal's newest batch.
func (e *Engine) beginTime() {
	_, newest, _ := e.Store.Head()
	e.Clock = clock.New(e.Config.clocks(), pix.Millis(newest))
}

// connect opens the simulator in this process, or prepares the provider in another process;
// to a provider it sends nothing yet.
func (e *Engine) connect() (err error) {
	if e.Config.inProcess() {
		e.Sim, err = sim.Open(e.simulated())
		e.scheme = metrics.NewSchemeCalls(e.Sim)
		e.stated(e.Clock.Now()) // the simulator has no clock of its own
	} else {
		err = e.connectProvider()
	}
	if sh := e.Config.Shared; err == nil && sh != nil {
		e.scheme.Scheme = fenced{e.scheme.Scheme, sh.Certain}
	}
	if err == nil && e.Config.wrapScheme != nil {
		e.scheme.Scheme = e.Config.wrapScheme(e.scheme.Scheme)
	}
	return err
}

func (e *Engine) connectProvider() error {
	c := &e.Config
	o, err := c.schemePeer().Speaks(c.SchemeSecret, e.Clock.Now, c.Log)
	if err != nil {
		return err
	}
	o.Stated, o.PageWithin = e.stated, c.SchemeTimeout
	began := time.Now()
	e.lanes, o.Conns = transfer.NewLanes(func() time.Duration { return time.Since(began) }), transfer.Calls
	e.provider, err = provider.New(o)
	e.scheme = metrics.NewSchemeCalls(e.provider)
	return err
}

// simulated returns the options of the simulator in this process.
func (e *Engine) simulated() sim.Options {
	c := &e.Config
	return sim.Options{
		Starting: c.Starting, Dir: c.simDir(), FS: c.FS, OwnISPB: c.ISPB, SettleDelay: c.SettleDelay, Now: e.Clock.Now, Entropy: e.entropy.Draw, OnFailure: c.OnFailure, Log: c.Log,
		CacheBytes: c.cache, MemTableBytes: c.memTable,
	}
}

// Lookups returns the number of directory lookups that this process has made.
func (e *Engine) Lookups() uint64 { return e.scheme.Lookups() }

// makeFolder makes the data folder, readable by its owner alone; on a test's file system it
// does nothing. It refuses a folder that a snapshot was being restored to: a start would make
// an empty journal in it.
func (e *Engine) makeFolder() error {
	c := &e.Config
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

// Close ends the engine's work and closes its stores. Everything that was answered is already
// durable.
func (e *Engine) Close() error {
	e.ready.Store(false)
	return e.closeAll()
}

func (e *Engine) closeAll() error {
	e.cancel()
	var errs []error
	if e.Accounts != nil {
		errs = append(errs, e.Accounts.Close())
	}
	e.auditor.Close()
	if e.snapshots != nil && e.Config.Shared == nil {
		e.snapshots.Close()
	}
	e.work.Wait()
	if e.Registry != nil {
		errs = append(errs, e.Registry.WriteUses(e.Store))
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
		errs = append(errs, e.resign(), e.Store.Close())
	}
	return errors.Join(errs...)
}
