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
	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/wal"
	"pixd/wal/waltest"
)

// life is one life: what outlives the engine's process, and the process.
type life struct {
	seed   uint64
	rng    *rand.Rand
	mood   mood
	jumpy  bool                // the clock jumps in it
	living bool                // it is in its middle: there is trouble
	healed ledger.Millis       // when all trouble ended; 0: it has not
	tries  map[ledger.TxID]int // how often each queued payout was tried after that
	tells  bool
	story  strings.Builder // what went on, for whoever looks into a failure
	wrong  []string        // what must not be
	seen   map[string]int  // how often what happened

	known ledger.AccountID // accounts there are, from 1 on

	clock      ledger.Millis // the world's, and the scheme's; it only goes forward
	skew       ledger.Millis // what the machine's wall clock is off by
	bounds     due.Bounds
	drawn      uint64
	stalled    ledger.Millis // the journal does not move before
	written    map[recordName]written
	chronicle0 *chronicle        // what the records told the last judge
	panicked   ledger.Millis     // when an account's code panicked last
	forged     int               // notices that named another end-to-end id
	panics     bool              // the next answer that is rendered panics
	refuses    bool              // the next entry is refused
	failing    int               // turns for which the failed disk is not noticed yet
	journal    *waltest.InMemory // the engine's journal
	outside    *outside

	process
	people
	flipped map[ledger.AccountID]bool // accounts that a bit was flipped of
}

// process is what a crash takes.
type process struct {
	terms     ledger.Terms // as its flags have them
	time      *clock.Clock // engine time
	registry  *registry.Registry
	deps      account.Dependencies
	accounts  map[ledger.AccountID]*accounttest.Driver
	due       *due.Machine
	feed      *account.Feed
	children  []*child
	mail      []letter
	watch     *watch
	filter    *keyed.Filter                  // over end-to-end rows, to be filled; nil: it is
	tasks     map[due.Task]int               // under way
	unheard   []func()                       // what ends notices whose process is gone
	floor     ledger.Millis                  // the newest record there was at its start
	theirs    ledger.Millis                  // what the scheme's clock is off by
	unsettled map[ledger.AccountID]bool      // an entry of the account was refused
	retried   map[ledger.TxID]ledger.Reading // when each queued payout was tried again last
	lives     int                            // how many processes there have been
}

// letter is a message to an account, on its way.
type letter struct {
	to  ledger.AccountID
	put func(*accounttest.Driver)
}

const (
	ispb          = "99999004"
	schemeTimeout = ledger.Millis(10_000)
	noon          = ledger.Millis(1772366400000) // 2026-03-01T12:00:00Z
)

var terms = ledger.Terms{
	OwnISPB: ispb, OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000,
}

// drawTerms are the flags of a process: those of before, or others.
func (l *life) drawTerms() ledger.Terms {
	t := terms
	if l.odds(4) {
		l.count("start: other flags")
		t.OrphanAfter = [...]ledger.Millis{5 * 60_000, 2 * 3_600_000}[l.rng.IntN(2)]
		t.QueueTTL = [...]ledger.Millis{30 * 60_000, 6 * 3_600_000}[l.rng.IntN(2)]
	}
	return t
}

var queueing = httpapi.Queueing{Retry: 3 * time.Second, TTL: 2 * time.Hour}

// render is the merchant API's, without the drawing of QR codes.
func render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	if a.Refusal == nil && a.Tx.Kind == ledger.TxCharge {
		return ledger.Stored{Code: 200, Body: []byte(a.Tx.Public())}, true
	}
	return httpapi.Renderer{Queueing: queueing}.Render(a, s)
}

// newLife is a world with a few funded accounts in it.
func newLife(seed uint64, tells bool) *life {
	l := &life{
		seed: seed, tells: tells, rng: rand.New(rand.NewPCG(seed, 5)), clock: noon, journal: waltest.NewInMemory(),
		seen: map[string]int{}, written: map[recordName]written{}, flipped: map[ledger.AccountID]bool{}, tries: map[ledger.TxID]int{},
	}
	l.mood, l.bounds = l.drawMood(), l.drawBounds()
	l.jumpy = l.mood.jump > 0
	l.outside = newOutside(l)
	l.people = newPeople()
	l.boot()
	for range accounts {
		l.open()
	}
	l.settle()
	return l
}

// accounts is how many there are at first.
const accounts = 3

// all are the accounts there are.
func (l *life) all() iter.Seq[ledger.AccountID] {
	return func(yield func(ledger.AccountID) bool) {
		for id := ledger.AccountID(1); id <= l.known && yield(id); id++ {
		}
	}
}

// count notes that something happened.
func (l *life) count(what string) { l.seen[what]++ }

// say notes what goes on.
func (l *life) say(format string, args ...any) {
	if l.tells && l.story.Len() < 1<<20 {
		fmt.Fprintf(&l.story, "%d %s "+format+"\n", append([]any{l.lives, l.now()}, args...)...)
	}
}

// fail notes what must not be.
func (l *life) fail(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	l.say("WRONG "+format, args...)
}

// now is engine time.
func (l *life) now() ledger.Millis { return l.time.Now() }

// engineTime is a new process's clock: the wall clock may be wrong, what elapses is
// what elapses.
func (l *life) engineTime() *clock.Clock {
	newest := l.newest()
	return clock.New(clock.Sources{
		Wall:    func() ledger.Millis { return l.clock + l.skew },
		Elapsed: func() ledger.Millis { return l.clock },
	}, newest)
}

// newest is the time of the journal's newest record.
func (l *life) newest() ledger.Millis {
	_, newest, _ := l.journal.Head()
	return ledger.Millis(newest)
}

// stated is the scheme's word on the time, in whatever it says.
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

// odds is true once in n.
func (l *life) odds(n int) bool { return n > 0 && l.rng.IntN(n) == 0 }

// Handle implements slog.Handler for what the engine logs: alerts are counted.
type listener struct {
	slog.Handler
	l *life
}

// boot starts a process on what the journal has.
func (l *life) boot() {
	l.process = process{
		time: l.engineTime(), accounts: map[ledger.AccountID]*accounttest.Driver{}, lives: l.lives + 1, floor: l.newest(), unsettled: map[ledger.AccountID]bool{}, retried: map[ledger.TxID]ledger.Reading{},
		due: due.New(3000, l.bounds), watch: newWatch(l.bounds), terms: l.drawTerms(), tasks: map[due.Task]int{},
	}
	r, err := registry.Open(patient{l}, l.time.Stamp)
	if err != nil {
		l.fail("registry: %v", err)
		return
	}
	l.registry = r
	l.learn()
	config := &account.Config{Renderer: renderer{l}, HeadEvery: 8, Alerts: l, EndToEnd: l.filled(), Claims: l.claims()}
	l.terms.Secret, l.terms.MaxRepeats = []byte("a secret of the simulation's own"), l.few(0)
	config.Recent, config.Terms = account.NewRecent(l.few(1<<15)), l.terms
	l.deps = account.Dependencies{
		Config:  config,
		Journal: observed{l}, Rows: rows{l.journal}, Tail: l.journal,
		Opening: l.opening, Active: l.active, Now: l.time.Read, Entropy: l.entropy, Log: slog.New(&listener{slog.DiscardHandler, l}),
		Children: l, Tasks: l, Write: l.write,
		Again: func(id ledger.AccountID, m any) {
			l.mail = append(l.mail, letter{id, func(a *accounttest.Driver) { a.Take(m) }})
		},
	}
}

// account is one in memory, restored where it is not.
func (l *life) account(id ledger.AccountID) *accounttest.Driver {
	a := l.accounts[id]
	if a == nil {
		a = accounttest.Restored(&l.deps, id)
		l.accounts[id] = a
	}
	return a
}

func (l *life) opening(id ledger.AccountID) (ledger.Settings, bool) {
	a, ok := l.registry.Account(id)
	if !ok {
		return ledger.Settings{}, false
	}
	return *a.Opening, true
}

func (l *life) active(id ledger.AccountID) bool {
	a, ok := l.registry.Account(id)
	return ok && a.Active
}

// powerCut is thrown where the process ends in the middle of a call.
type powerCut struct{}

// write is Dependencies.Write: the world goes on until the entry is durable. An account
// contains panics, so the power that goes here is noticed a turn later.
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

// patient is the journal for who waits for it: whatever is appended is durable when
// it returns.
type patient struct{ l *life }

// Append implements registry.Journal.
func (p patient) Append(e *wal.Entry) wal.Ticket {
	t := p.l.journal.Append(e)
	p.l.wait()
	return t
}

// wait is somebody's for the journal: it comes to rest, or the power goes meanwhile.
func (l *life) wait() {
	if l.living && l.odds(l.mood.crash/4) {
		l.journal.Commit(l.rng.IntN(6))
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

// settle lets the journal come to rest.
func (l *life) settle() {
	l.journal.Settle()
	l.hear()
}

var _ sim.Store = (*waltest.InMemory)(nil)
