package simulation

import (
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"pixd/actors/account"
	"pixd/actors/account/accounttest"
	"pixd/actors/clock"
	"pixd/actors/due"
	"pixd/actors/keyed"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/restored"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/wal"
	"pixd/wal/waltest"
)

// life is one simulated run from one seed: the state that outlives the engine's process,
// and the process.
type life struct {
	seed   uint64
	rng    *rand.Rand
	mood   mood
	jumpy  bool             // the wall clock jumps in this run
	living bool             // the run is in its middle part, where faults happen
	healed pix.Millis       // simulated time at which all faults ended; 0: they have not
	tries  map[pix.TxID]int // number of tries of each queued payout since healed
	tells  bool
	story  strings.Builder // log of the run, for the reader of a failure
	wrong  []string        // messages of the checks that failed
	seen   map[string]int  // number of times that each event, by its name, has happened

	known pix.AccountID // the highest account number; accounts are numbered from 1

	clock      pix.Millis // simulated time, which only goes forward; the scheme's simulator runs by it
	skew       pix.Millis // difference between the engine's wall clock and clock, in ms
	bounds     due.Bounds
	drawn      uint64
	stalled    pix.Millis // the journal does not move before this time
	written    map[recordName]written
	chronicle0 *chronicle        // built from the records by the last call of rebuilt
	panicked   pix.Millis        // simulated time at which an account's code panicked last
	forged     int               // number of false notices that were sent
	panics     bool              // the renderer panics at the next answer
	refuses    bool              // the journal refuses the next entry
	failing    int               // turns until the engine notices that its disk has failed; 0: the disk works
	journal    *waltest.InMemory // the engine's journal
	outside    *outside
	hooks      *hooks
	copies     *copies
	dropped    uint16 // claims of earlier days may have been dropped
	keys       keys
	gap        *gap // what the journal lacks since it was restored; nil: it was not

	process
	people
	flipped map[pix.AccountID]bool // accounts in whose records a bit was flipped
}

// process is the state that a crash destroys.
type process struct {
	terms     ledger.Terms // the flags of this process
	time      *clock.Clock // engine time
	registry  *registry.Registry
	deps      account.Dependencies
	accounts  map[pix.AccountID]*accounttest.Driver
	due       *due.Machine
	feed      *account.Feed
	children  []*child
	mail      []letter
	watch     *watch
	filter    *keyed.Filter             // the filter over end-to-end rows, until it is filled; nil once it is filled
	tasks     map[due.Task]int          // number of due tasks under way, by task
	unheard   []func()                  // called at a crash: each fails one notice if it is not acknowledged yet
	floor     pix.Millis                // time of the newest record when this process started
	theirs    pix.Millis                // how far the scheme's clock is from simulated time
	unsettled map[pix.AccountID]bool    // accounts of which the journal has refused an entry
	appended  map[wal.Stream][]appended // each account's entries that may not be durable yet
	retried   map[pix.TxID]pix.Reading  // engine time at which each queued payout was last retried
	lives     int                       // number of this process in the run, from 1 on
	pump      pump
	keyWork
	drops pix.Millis // engine time at which claims are dropped next
}

// letter is a message to an account that is not delivered yet.
type letter struct {
	to  pix.AccountID
	put func(*accounttest.Driver)
}

const (
	ispb          = "99999004"
	schemeTimeout = pix.Millis(10_000)
	noon          = pix.Millis(1772366400000) // 2026-03-01T12:00:00Z
)

var terms = ledger.Terms{
	OwnISPB: ispb, OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000,
	MEDDeadline: 120 * 3_600_000, MEDAnalysis: 168 * 3_600_000,
}

// drawTerms returns the flags of a new process: the default flags, or random ones.
func (l *life) drawTerms() ledger.Terms {
	t := terms
	if l.odds(4) {
		l.count("start: other flags")
		t.OrphanAfter = [...]pix.Millis{5 * 60_000, 2 * 3_600_000}[l.rng.IntN(2)]
		t.QueueTTL = [...]pix.Millis{30 * 60_000, 6 * 3_600_000}[l.rng.IntN(2)]
		t.MEDDeadline = [...]pix.Millis{60_000, 3_600_000}[l.rng.IntN(2)]
		t.MEDAnalysis = t.MEDDeadline + [...]pix.Millis{0, 3_600_000}[l.rng.IntN(2)]
		t.MEDWaits = l.odds(3)
	}
	return t
}

var queueing = httpapi.Queueing{Retry: 3 * time.Second, TTL: 2 * time.Hour}

// render renders answers as the merchant API does, but without QR codes.
func render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	if a.Refusal == nil && a.Tx != nil && a.Tx.Kind == pix.TxCharge {
		return ledger.Stored{Code: 200, Body: []byte(a.Tx.Public())}, true
	}
	return httpapi.Renderer{Queueing: queueing}.Render(a, s)
}

// newLife returns a run with a few funded accounts.
func newLife(seed uint64, tells bool) *life {
	l := &life{
		seed: seed, tells: tells, rng: rand.New(rand.NewPCG(seed, 5)), clock: noon, journal: waltest.NewInMemory(layout.SetOnce...),
		seen: map[string]int{}, written: map[recordName]written{}, flipped: map[pix.AccountID]bool{}, tries: map[pix.TxID]int{},
	}
	l.mood, l.bounds = l.drawMood(), l.drawBounds()
	l.jumpy = l.mood.jump > 0
	l.copies, l.keys = newCopies(l), newKeys(seed)
	l.outside = newOutside(l)
	l.people = newPeople()
	l.hooks = l.newHooks()
	l.boot()
	for range accounts {
		l.open()
	}
	l.settle()
	return l
}

// accounts is the number of accounts at the start of a run.
const accounts = 3

// all yields the id of every account.
func (l *life) all() iter.Seq[pix.AccountID] {
	return func(yield func(pix.AccountID) bool) {
		for id := pix.AccountID(1); id <= l.known && yield(id); id++ {
		}
	}
}

// count adds one to the number of times that an event happened.
func (l *life) count(what string) { l.seen[what]++ }

// say adds a line to the run's log.
func (l *life) say(format string, args ...any) {
	if l.tells && l.story.Len() < 1<<20 {
		fmt.Fprintf(&l.story, "%d %s "+format+"\n", append([]any{l.lives, l.now()}, args...)...)
	}
}

// fail records a check that failed.
func (l *life) fail(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	l.say("WRONG "+format, args...)
}

// now returns engine time.
func (l *life) now() pix.Millis { return l.time.Now() }

// engineTime returns engine time for a new process, whose wall clock may be wrong. The
// elapsed time since the start is always right.
func (l *life) engineTime() *clock.Clock {
	newest := l.newest()
	return clock.New(clock.Sources{
		Wall:    func() pix.Millis { return l.clock + l.skew },
		Elapsed: func() pix.Millis { return l.clock },
	}, newest)
}

// newest returns the time of the journal's newest record.
func (l *life) newest() pix.Millis {
	_, newest, _ := l.journal.Head()
	return pix.Millis(newest)
}

// stated gives the engine the time of the scheme's clock, as each answer and notice of the
// scheme does.
func (l *life) stated() {
	if l.time.Stated(l.clock+l.theirs) != "" {
		l.count("clock: differs from the scheme's")
	}
}

func (l *life) entropy() (c [10]byte) {
	l.drawn++
	for i := range c {
		c[i] = byte(l.rng.Uint32())
	}
	return c
}

// odds returns true once in n calls on average, and never where n is 0.
func (l *life) odds(n int) bool { return n > 0 && l.dice().IntN(n) == 0 }

// listener is the slog.Handler of the engine: it adds each line to the run's log.
type listener struct {
	slog.Handler
	l *life
}

// boot starts a process on the current journal.
func (l *life) boot() {
	l.process = process{
		time: l.engineTime(), accounts: map[pix.AccountID]*accounttest.Driver{}, lives: l.lives + 1, floor: l.newest(), unsettled: map[pix.AccountID]bool{}, appended: map[wal.Stream][]appended{}, retried: map[pix.TxID]pix.Reading{},
		watch: newWatch(l.bounds), terms: l.drawTerms(), tasks: map[due.Task]int{},
	}
	l.due = due.New(3000, l.terms.OrphanAfter, l.bounds)
	l.pump = l.newPump()
	r, err := registry.Open(patient{l}, l.time.Stamp)
	if err != nil {
		l.fail("registry: %v", err)
		return
	}
	l.registry = r
	if err := r.FillReservations(l.journal.Scan, func() bool { return false }); err != nil {
		l.fail("filter over reservations: %v", err)
	}
	l.keys.now = false
	l.keyWork = l.newKeyWork()
	l.learn()
	config := &account.Config{
		Renderer: renderer{l}, HeadEvery: 8, Alerts: l, Webhooks: l, Present: l.filled(), Claims: account.NewClaims(l.time.Read(), 1<<10),
		KeyIsOurs: func(key string) bool { return key == ourKey.Value },
	}
	l.terms.Secret, l.terms.MaxRepeats = l.secret(), l.few(0)
	if err := restored.ReadTerms(l.hookRows(), &l.terms); err != nil {
		l.fail("terms: %v", err)
	}
	l.time.After(l.terms.RestoredAt)
	config.Recent, config.Terms = account.NewRecent(l.few(1<<15)), l.terms
	l.deps = account.Dependencies{
		Config:  config,
		Journal: observed{l}, Rows: rows{l.journal}, Tail: l.journal,
		Opening: r.Opening, Active: r.Active, Now: l.time.Read, Entropy: l.entropy, Log: slog.New(&listener{slog.DiscardHandler, l}),
		Children: l, Tasks: l, Write: l.write,
		Again: func(id pix.AccountID, m any) {
			l.mail = append(l.mail, letter{id, func(a *accounttest.Driver) { a.Take(m) }})
		},
	}
}

// secret returns the secret from which end-to-end ids are derived. The first process of a journal
// makes it, as in the engine.
func (l *life) secret() []byte {
	key := wal.MetaKey("e2e-secret")
	if b, ok, _ := l.journal.Get(key); ok {
		return b
	}
	b := []byte("a secret of the simulation's own")
	if l.gap != nil {
		b = append(b, ", made anew"...)
	}
	l.journal.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: key, Value: b}}, Shared: true})
	l.journal.Settle()
	return b
}

// account returns the driver of an account. If the account is not in memory, it is restored
// first.
func (l *life) account(id pix.AccountID) *accounttest.Driver {
	a := l.accounts[id]
	if a == nil {
		a = accounttest.Restored(&l.deps, id)
		l.accounts[id] = a
	}
	return a
}

// powerCut is the value of a panic that ends the process in the middle of a call.
type powerCut struct{}

// write implements Dependencies.Write: it appends the entry and lets the journal work until
// the entry is durable. An account recovers panics, so the simulated crash cannot happen in
// this call; the disk fails instead, and the process ends one turn later.
func (l *life) write(e *wal.Entry) error {
	done := make(released, 1)
	e.Out = append(e.Out, done)
	l.journal.Append(e)
	if l.living && l.odds(l.mood.crash/4) {
		l.journal.Commit(l.rng.IntN(6))
		l.journal.Fail(errDisk)
	}
	l.journal.Settle()
	if err := l.journal.Err(); err != nil {
		l.failing = 1
		return err
	}
	return <-done
}

type released chan error

// Release implements wal.Out.
func (r released) Release(err error) { r <- err }

// patient is the journal for callers that wait for the disk: when Append returns, the entry
// is durable.
type patient struct{ l *life }

// Append implements registry.Journal.
func (p patient) Append(e *wal.Entry) wal.Ticket {
	t := p.l.journal.Append(e)
	p.l.wait()
	return t
}

// Last implements registry.Journal.
func (p patient) Last(stream wal.Stream) (seq, sum uint64, err error) {
	return p.l.journal.Last(stream)
}

// wait lets the journal finish its work. Sometimes the process crashes instead.
func (l *life) wait() {
	if l.living && l.odds(l.mood.crash/4) {
		l.journal.Commit(l.dice().IntN(6))
		panic(powerCut{})
	}
	l.journal.Settle()
	if l.journal.Err() != nil {
		panic(powerCut{})
	}
}

// Get implements registry.Journal.
func (p patient) Get(key []byte) (value []byte, ok bool, err error) { return p.l.journal.Get(key) }

// Read implements registry.Journal.
func (p patient) Read(s wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return p.l.journal.Read(s, from, prev, fn)
}

// settle lets the journal finish its work and takes the answers that the work released.
func (l *life) settle() {
	l.journal.Settle()
	l.hear()
}

var _ sim.Store = (*waltest.InMemory)(nil)
