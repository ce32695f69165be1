package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/wal"
)

// life is one life: what outlives the engine's process, and the process.
type life struct {
	seed  uint64
	rng   *rand.Rand
	mood  mood
	jumpy bool            // the clock jumps in it
	told  strings.Builder // what went on, for whoever looks into a failure
	wrong []string        // what must not be

	clock   ledger.Millis // the world's, and the scheme's; it only goes forward
	skew    ledger.Millis // what the engine's clock is off by
	drawn   uint64
	paper   *wal.Paper // the engine's journal
	outside *outside

	process
	people
	alerts  map[string]int
	flipped map[ledger.AccountID]bool // accounts that a bit was flipped of
}

// process is what a crash takes.
type process struct {
	registry *registry.Registry
	around   account.Around
	accounts map[ledger.AccountID]*account.Lone
	due      *due.Machine
	children []*child
	mail     []letter
	visits   int      // under way
	unheard  []func() // what ends notices whose process is gone
	lives    int      // how many processes there have been
}

// letter is a message to an account, on its way.
type letter struct {
	to  ledger.AccountID
	put func(*account.Lone)
}

const (
	ispb          = "99999004"
	schemeTimeout = ledger.Millis(10_000)
	noon          = ledger.Millis(1772366400000) // 2026-03-01T12:00:00Z
)

var terms = ledger.Terms{
	OwnISPB: ispb, OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000,
}

var queueing = httpapi.Queueing{Retry: 3 * time.Second, TTL: 2 * time.Hour}

// render is the merchant API's, without the drawing of QR codes.
func render(a *ledger.Answer, camel bool) (int, []byte) {
	if a.Refusal == nil && a.Tx.Kind == ledger.TxCharge {
		return 200, []byte(a.Tx.Public())
	}
	return queueing.Render(a, camel)
}

// newLife is a world with a few funded accounts in it.
func newLife(seed uint64) *life {
	l := &life{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), clock: noon, paper: wal.NewPaper(), alerts: map[string]int{}, flipped: map[ledger.AccountID]bool{},
	}
	l.mood = l.drawMood()
	l.jumpy = l.mood.jump > 0
	l.outside = newOutside(l)
	l.people = newPeople()
	l.boot()
	for id := ledger.AccountID(1); id <= accounts; id++ {
		l.open(id)
	}
	l.settle()
	return l
}

const accounts = 3

// say notes what goes on.
func (l *life) say(format string, args ...any) {
	if l.told.Len() < 1<<20 {
		fmt.Fprintf(&l.told, "%d %s "+format+"\n", append([]any{l.lives, l.now()}, args...)...)
	}
}

// fail notes what must not be.
func (l *life) fail(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	l.say("WRONG "+format, args...)
}

func (l *life) now() ledger.Millis { return l.clock + l.skew }

func (l *life) chance() (c [10]byte) {
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
	l.process = process{accounts: map[ledger.AccountID]*account.Lone{}, due: due.New(3000), lives: l.lives + 1}
	r, err := registry.Open(patient{l}, l.now)
	if err != nil {
		l.fail("registry: %v", err)
		return
	}
	l.registry = r
	l.around = account.Around{
		Config: &account.Config{
			Secret: []byte("a secret of the simulation's own"), Render: render, HeadEvery: 8, Terms: terms,
			EndToEnd: l.filled(), Claims: l.claims(),
		},
		Journal: l.paper, Rows: rows{l.paper}, Tail: l.paper,
		Opening: l.opening, Active: l.active, Now: l.now, Chance: l.chance, Log: slog.New(&listener{slog.DiscardHandler, l}),
		Begin: l.begin, Write: l.write,
		Again: func(id ledger.AccountID, m any) {
			l.mail = append(l.mail, letter{id, func(a *account.Lone) { a.Tell(m) }})
		},
	}
}

// account is one in memory, restored where it is not.
func (l *life) account(id ledger.AccountID) *account.Lone {
	a := l.accounts[id]
	if a == nil {
		a = account.Restored(&l.around, id)
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

// write is Around.Write: the world goes on until the entry is durable.
func (l *life) write(e *wal.Entry) error {
	done := make(released, 1)
	e.Out = append(e.Out, done)
	l.paper.Append(e)
	l.paper.Settle()
	if l.paper.Err() != nil {
		panic(powerCut{})
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
	t := p.l.paper.Append(e)
	p.l.paper.Settle()
	if p.l.paper.Err() != nil {
		panic(powerCut{})
	}
	return t
}

// Get implements registry.Journal.
func (p patient) Get(key []byte) (value []byte, ok bool, err error) { return p.l.paper.Get(key) }

// Read implements registry.Journal.
func (p patient) Read(s wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return p.l.paper.Read(s, from, prev, fn)
}

// open makes an account with money.
func (l *life) open(id ledger.AccountID) {
	s := ledger.DefaultSettings()
	s.Name, s.Document = "Loja", "12345678909"
	s.CashInFee, s.CashOutFee = ledger.Fee{Fixed: 3}, ledger.Fee{Fixed: 7, BPS: 25}
	s.RepeatWindow = [...]ledger.Millis{ledger.MinRepeatWindow, 3_600_000, ledger.MaxRepeatWindow}[l.rng.IntN(3)]
	if l.odds(3) {
		threshold := ledger.Amount(40_000)
		s.ApprovalThreshold = &threshold
	}
	key := ledger.Key{Type: ledger.KeyEVP, Value: keyOf(id)}
	if _, err := l.registry.ClaimAccount(id, true, s, key); err != nil {
		l.fail("claim of %v: %v", id, err)
		return
	}
	l.outside.register(key, id)
	l.credit(id, 500_000)
}

func keyOf(id ledger.AccountID) string {
	return fmt.Sprintf("%08x-0000-4000-8000-000000000000", uint64(id))
}

// settle lets the journal come to rest.
func (l *life) settle() {
	l.paper.Settle()
	l.hear()
}

var _ sim.Store = (*wal.Paper)(nil)
