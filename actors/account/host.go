package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/due"
	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/system"
	"pixd/actors/transfer"
	"pixd/wal"
)

// Journal is the part of the journal that accounts use.
type Journal interface {
	wal.Journal
	Durable() wal.Ticket
	Tell(wal.Stream, []wal.Out)
}

// The default limits on requests that are handled at once; see Limits.
const (
	DefaultPerAccount = 4096
	DefaultTransfers  = 16384
)

// Limits bound the work that one engine takes on at once.
type Limits struct {
	PerAccount    int           // most requests of one account that are in work at once, and as many reads of its head; 0: DefaultPerAccount
	Transfers     int           // most payout and refund requests of all accounts that wait for an answer at once; an account with less than its equal share is taken beyond it; 0: DefaultTransfers
	SchemeTimeout time.Duration // the most time for the lookup and the submit of one payout together
	IdleAfter     time.Duration // after this long without a request or other work an account is passivated; default 1 min

	// How long a caller waits for its answer. Every caller waits SchemeTimeout plus
	// JoinGrace. Then a caller that waits for an earlier request under the same idempotency
	// key gives up; any other caller waits another LastGrace.
	JoinGrace time.Duration // added to SchemeTimeout; default 5 s
	LastGrace time.Duration // added for a caller that does not wait for an earlier request; default 20 s

	ClosePatience time.Duration // how long Close waits for accounts and child actors; default 10 s
}

// Options are the settings and dependencies of a host.
type Options struct {
	Config  Config
	Limits  Limits
	Journal Journal
	Rows    Rows
	Tail    wal.Tail
	Look    Look // reads accounts that are not in memory; nil: such a read restores the account
	Scheme  scheme.Scheme
	Lanes   *transfer.Lanes // bounds the calls to a scheme in another process; nil: nothing does
	Tasks   Tasks           // nil: the results of due tasks are ignored
	// Opening returns the settings that a new account starts with; false: the registry has
	// no such account.
	Opening func(pix.AccountID) (ledger.Settings, bool)
	// Active tells whether an account is active; nil: every account is active.
	Active  func(pix.AccountID) bool
	Now     func() pix.Reading
	Entropy func() [10]byte
	Log     *slog.Logger
}

// Host finds the actor of an account, or restores the account, and counts the requests that
// each account has in work.
type Host struct {
	deps   Dependencies
	limits Limits
	look   Look

	system   *actor.ActorSystem
	root     *actor.RootContext
	running  context.Context
	stop     context.CancelFunc
	workers  *workers
	children children
	props    *actor.Props // Props of every account's actor
	toTrim   struct {
		sync.Mutex
		entries []*entry // entries that were used since the last call of Trim
	}
	entries   keyed.Map[pix.AccountID, *entry]
	transfers atomic.Int64
	inWork    atomic.Int64                                        // accounts with requests or reads in work; one that has both counts twice
	refused   struct{ requests, transfers, equals atomic.Uint64 } // see Figures
	callers   sync.Pool
	number    atomic.Uint64
	inMemory  atomic.Int64 // accounts whose actor runs
}

// entry is what the host knows about one account. mu is locked while a message is sent to
// the account's actor, so that no message reaches an actor that was passivated.
type entry struct {
	mu     sync.Mutex
	pid    *actor.PID
	used   pix.Millis // when the newest message was sent, or the head was read without one; 0: never
	inWork atomic.Int64
	reads  atomic.Int64 // reads of the head in work, not counted in inWork: however much work waits, the head can be read
	toTrim atomic.Bool  // whether the entry is in the host's toTrim list
}

// NewHost makes a host with no account in memory: an account is restored when a message for
// it comes.
func NewHost(p Options) *Host {
	d := &Host{limits: p.Limits, look: p.Look}
	d.running, d.stop = context.WithCancel(context.Background())
	d.deps = Dependencies{
		Config: &p.Config, Journal: p.Journal, Rows: p.Rows, Tail: p.Tail,
		Opening: p.Opening, Active: p.Active, Now: p.Now, Entropy: p.Entropy, Log: p.Log,
		Children: d, Tasks: p.Tasks, Again: d.again, Write: d.write, Ending: d.running.Err,
	}
	d.deps.complete()
	if d.limits.PerAccount == 0 {
		d.limits.PerAccount = DefaultPerAccount
	}
	if d.limits.Transfers == 0 {
		d.limits.Transfers = DefaultTransfers
	}
	if d.limits.IdleAfter == 0 {
		d.limits.IdleAfter = time.Minute
	}
	if d.limits.ClosePatience == 0 {
		d.limits.ClosePatience = closePatience
	}
	d.workers = newWorkers()
	scheduled := []actor.PropsOption{actor.WithDispatcher(d.workers), actor.WithMailbox(actor.UnboundedLockfree())}
	d.props = actor.PropsFromProducer(func() actor.Actor { return &Shell{Dependencies: &d.deps} },
		append(scheduled, actor.WithSupervisor(overChildren{d}))...)
	d.deps.ChildProps = transfer.Props(&transfer.Runner{
		Context: d.running, Scheme: p.Scheme, Timeout: d.limits.SchemeTimeout, Work: &d.children.work, Lanes: p.Lanes,
	}, scheduled...)
	if d.limits.JoinGrace == 0 {
		d.limits.JoinGrace = 5 * time.Second
	}
	if d.limits.LastGrace == 0 {
		d.limits.LastGrace = 20 * time.Second
	}
	// The log of the actor library: below a warning it appears only with debugging on.
	d.system = system.New(quiet{p.Log.Handler()})
	d.root = actor.NewRootContext(d.system, nil).WithGuardian(lastNet{p.Log, p.Config.Alerts})
	d.callers.New = func() any { return &caller{ch: make(chan response, 1), joined: new(atomic.Bool)} }
	return d
}

// lastNet supervises the accounts' actors. The shell contains panics itself
// (Shell.attempt); where a panic passes the shell all the same, lastNet stops the actor. A
// restarted actor would begin without the account's state.
type lastNet struct {
	log    *slog.Logger
	alerts Alerts
}

// HandleFailure implements actor.SupervisorStrategy.
func (n lastNet) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	n.log.Error("account: actor stopped", "actor", child.Id, "error", fmt.Sprint(reason))
	if n.alerts != nil {
		n.alerts.Raise(0, ledger.Alert{Kind: AlertQuarantine, Message: "account: actor stopped: " + fmt.Sprint(reason)})
	}
	s.StopChildren(child)
}

// again sends a message to an account from a new goroutine. It is called on the journal's
// own goroutine, which must not wait for the lock of the account's entry.
func (d *Host) again(id pix.AccountID, message any) { go d.send(id, d.entry(id), message) }

// write appends an entry and waits until it is durable.
func (d *Host) write(e *wal.Entry) error {
	done := make(chan error, 1)
	e.Out = append(e.Out, writeOut(done))
	d.deps.Journal.Append(e)
	return <-done
}

func newEntry() *entry { return &entry{} }

func (d *Host) entry(id pix.AccountID) *entry {
	return d.entries.GetOrMake(id, newEntry)
}

// send hands a message to the account's actor. Where the account is not in memory, send
// first starts an actor, which restores the account.
func (d *Host) send(id pix.AccountID, e *entry, message any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := d.running.Err(); err != nil {
		refuse(message, err)
		return
	}
	if e.pid == nil {
		e.pid = d.root.Spawn(d.props)
		d.inMemory.Add(1)
		d.root.Send(e.pid, &assign{id})
	}
	e.used = d.deps.Now().Clock
	d.mark(e)
	d.root.Send(e.pid, message)
}

// Do carries a command out and returns its answer once the answer is durable. The errors
// are the ledger's: ErrUnknown where the registry has no such account; ErrBusy where a
// limit is reached, before anything was decided; ErrWaited where an earlier request under
// the same idempotency key has no answer yet; ErrCut where the outcome is not known.
func (d *Host) Do(id pix.AccountID, c ledger.Command) (ledger.Answer, error) {
	if _, ok := d.deps.Opening(id); !ok {
		return ledger.Answer{}, ledger.ErrUnknown
	}
	e := d.entry(id)
	lane, traits := &e.inWork, ledger.TraitsOf(c)
	if traits.ReadsHead {
		lane = &e.reads
	}
	defer d.leave(lane)
	if d.enter(lane) > int64(d.limits.PerAccount) {
		d.refused.requests.Add(1)
		return ledger.Answer{}, ledger.ErrBusy
	}
	switch {
	case traits.ReadsHead:
		if answer, asleep := d.readAsleep(id, e); asleep {
			return answer, nil
		}
	case traits.AwaitsScheme:
		defer d.transfers.Add(-1)
		if d.transfers.Add(1) > int64(d.limits.Transfers) && !d.modest(e, d.limits.Transfers, 1) {
			d.refused.transfers.Add(1)
			return ledger.Answer{}, ledger.ErrBusy
		}
	}
	to := d.callers.Get().(*caller)
	to.number = d.number.Add(1)
	to.joined.Store(false)
	asks := *to // a copy: the pool may give the caller to another request while this message is still queued
	d.send(id, e, &call{command: c, from: &asks})
	answer, err := d.wait(to)
	if errors.Is(err, ledger.ErrBusy) { // only payouts under one end-to-end id are refused so late
		d.refused.equals.Add(1)
	}
	return answer, err
}

func (d *Host) wait(to *caller) (ledger.Answer, error) {
	select {
	case r := <-to.ch: // most answers arrive within a millisecond
		return d.takeResponse(to, r)
	default:
	}
	timer := time.NewTimer(d.limits.SchemeTimeout + d.limits.JoinGrace)
	defer timer.Stop()
	select {
	case r := <-to.ch:
		return d.takeResponse(to, r)
	case <-timer.C:
	}
	if to.joined.Load() {
		return ledger.Answer{}, ledger.ErrWaited
	}
	timer.Reset(d.limits.LastGrace)
	select {
	case r := <-to.ch:
		return d.takeResponse(to, r)
	case <-timer.C:
		return ledger.Answer{}, ledger.ErrCut
	}
}

// takeResponse gives the caller back to the pool, for another request, unless the response is an
// error. After an error a second response may still come, and no other request may receive
// it.
func (d *Host) takeResponse(to *caller, r response) (ledger.Answer, error) {
	if r.number != to.number {
		panic(fmt.Sprintf("account: reply %d to request %d", r.number, to.number))
	}
	if r.err == nil {
		d.callers.Put(to)
	}
	return r.answer, r.err
}

// How long to wait before a report that an account could not take is sent again: 1 s after
// the first failure, then twice as long after each further failure, up to 1 min.
const (
	outcomeAgain  = time.Second
	outcomeAtMost = time.Minute
)

// bring hands an account a child actor's report. The limits on requests do not apply to
// reports.
func (d *Host) bring(r *Report) {
	d.send(r.Account, d.entry(r.Account), ReportMessage(&d.deps, *r))
}

// NotTaken sends a report to its account again until the account takes it, says that it has
// no such transaction, or the host closes. If the host closes first, the next start of the engine
// asks the scheme about the transaction.
func (d *Host) NotTaken(r *Report, err error) {
	if d.running.Err() != nil {
		return
	}
	d.deps.Log.Error("transfer: outcome not taken", "account", r.Account.String(), "transaction", r.Outcome.ID.String(), "error", err)
	if errors.Is(err, ledger.ErrUnknownTransfer) {
		return
	}
	again := *r
	again.Again = min(2*r.Again, outcomeAtMost)
	time.AfterFunc(r.Again, func() { d.bring(&again) })
}

// Notice hands an account the command that a notice of the scheme means. done(nil) is
// called once the command's effect is durable, done(err) where the command failed.
func (d *Host) Notice(id pix.AccountID, c ledger.Command, done func(error)) {
	d.send(id, d.entry(id), NoticeMessage(c, done))
}

// Tell is Notice for what an engine that was restored is told: done also says whether the command has
// changed anything.
func (d *Host) Tell(id pix.AccountID, c ledger.Command, done func(changed bool, err error)) {
	d.send(id, d.entry(id), TellMessage(c, done))
}

// Recent returns the table of recently accepted payouts and refunds of all accounts.
func (d *Host) Recent() *Recent { return d.deps.Config.Recent }

// Due hands an account a due task: the account looks after a payout, a refund or a case whose
// due time has come, a payout or refund whose child actor was lost in a crash, or a payout that
// waits for directory capacity.
// Tasks.Done gets the task's result once.
func (d *Host) Due(t due.Task) { d.send(t.Account, d.entry(t.Account), DueMessage(d.deps.Tasks, t)) }
