package account

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"pixd/actors/due"
	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// harness is a host over a real journal, with a simulated scheme that a test controls. Its
// clock advances by a millisecond each time it is read.
type harness struct {
	looked atomic.Uint64 // stream of the newest read of an account that was not in memory
	looks  atomic.Int64  // how many such reads there were
	tasks  waitingTasks
	*Host
	t      *testing.T
	store  *wal.Store
	scheme *counter
	gate   *gate
	clock  atomic.Int64
	drawn  atomic.Uint64
	unread atomic.Int64 // how many reads of the store fail from now on
}

// storeRows implements Rows over the store, as the engine does.
type storeRows struct{ *wal.Store }

func (r storeRows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}

const harnessAccounts = 8

func newHarness(t *testing.T, limits Limits) *harness {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	w := &harness{t: t, scheme: &counter{}}
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem(), MemTableBytes: 4 << 20, CacheBytes: 1 << 20, ReadFault: w.fault})
	if err != nil {
		t.Fatal(err)
	}
	w.store, w.gate = s, &gate{Journal: s}
	w.clock.Store(int64(startOfTest))
	if limits.SchemeTimeout == 0 {
		limits.SchemeTimeout = 10 * time.Second
	}
	w.tasks.waiting = map[due.Task][]func(due.Result){}
	w.Host = NewHost(w.options(limits))
	t.Cleanup(func() {
		w.scheme.release()
		w.gate.open()
		if w.running.Err() == nil {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *harness) options(limits Limits) Options {
	return Options{
		Tasks:  &w.tasks,
		Config: Config{Renderer: touchyRender, HeadEvery: 8, Terms: testTerms}, Limits: limits,
		Journal: w.gate, Rows: storeRows{w.store}, Tail: w.store, Look: w.look, Scheme: w.scheme,
		Opening: func(id pix.AccountID) (ledger.Settings, bool) {
			return settings(), id >= 1 && id <= harnessAccounts
		},
		Now: func() pix.Reading {
			now := pix.Millis(w.clock.Add(1))
			return pix.Reading{Time: now + stampsAhead, Clock: now}
		},
		Entropy: w.draw, Log: slog.New(slog.DiscardHandler),
	}
}

func (w *harness) draw() (c [10]byte) {
	n := w.drawn.Add(1)
	for i := range c {
		c[i] = byte(n >> (8 * (i % 8)))
	}
	return c
}

// touchyRender panics on a charge whose description is "poison".
var touchyRender = rendering(func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	if a.Tx != nil && a.Tx.Description == "poison" {
		panic("poison")
	}
	return renderForTest(a, s)
})

func (w *harness) must(id pix.AccountID, c ledger.Command) ledger.Answer {
	w.t.Helper()
	a, err := w.Do(id, c)
	if err != nil || a.Refusal != nil {
		w.t.Fatalf("%T on %v: %+v %v", c, id, a.Refusal, err)
	}
	return a
}

func (w *harness) fund(id pix.AccountID, amount pix.Amount) {
	w.t.Helper()
	w.must(id, ledger.Credit{Kind: pix.TxTED, Amount: amount})
}

func (w *harness) totals(id pix.AccountID) ledger.Totals {
	w.t.Helper()
	return w.must(id, ledger.ReadAccount{}).Head.Totals
}

// eventually waits up to about 5 s until ok returns true.
func (w *harness) eventually(what string, ok func() bool) {
	w.t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.t.Fatal(what + " never came")
}

func payoutTo(n int, claim *ledger.Claim) ledger.RequestPayout {
	return ledger.RequestPayout{
		Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("k%d@example.com", n)}, Claim: claim,
	}
}

func under(key byte) *ledger.Claim { return &ledger.Claim{Scope: [16]byte{key}} }

var poison = ledger.CreateCharge{Amount: 100, Description: "poison", Claim: &ledger.Claim{Scope: [16]byte{66}}}

// counter is a scheme that accepts every payment and counts the calls. After hold was
// called, calls do not return until release is called, even if their context has ended.
type counter struct {
	scheme.Unassigned // for the calls that accounts do not make

	lookups, submits, asks atomic.Int64
	returns                atomic.Int64
	refuse                 atomic.Bool // true: every lookup answers that the key has no owner
	panics                 atomic.Bool // true: the next call panics where it would have returned

	mu         sync.Mutex
	lookupHold chan struct{}
	submitHold chan struct{}
}

// hold makes later lookups (true), or later submits, returns and asks (false), wait until
// release is called.
func (c *counter) hold(lookups bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lookups {
		c.lookupHold = make(chan struct{})
	} else {
		c.submitHold = make(chan struct{})
	}
}

func (c *counter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range []*chan struct{}{&c.lookupHold, &c.submitHold} {
		if *h != nil {
			close(*h)
			*h = nil
		}
	}
}

func (c *counter) wait(h *chan struct{}) {
	c.mu.Lock()
	held := *h
	c.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (c *counter) mayPanic() {
	if c.panics.CompareAndSwap(true, false) {
		panic("for the test")
	}
}

func (c *counter) RegisterKey(context.Context, pix.Key, pix.AccountID) error { return nil }

func (c *counter) DeregisterKey(context.Context, pix.Key, pix.AccountID) error { return nil }

func (c *counter) Lookup(context.Context, scheme.Query) (pix.Party, error) {
	c.lookups.Add(1)
	c.wait(&c.lookupHold)
	c.mayPanic()
	if c.refuse.Load() {
		return pix.Party{}, &scheme.Refused{Code: ledger.RefuseKeyNotFound}
	}
	return pix.Party{Name: "Ana", Document: "98765432100"}, nil
}

func (c *counter) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	c.submits.Add(1)
	c.wait(&c.submitHold)
	c.mayPanic()
	return scheme.State{Progress: scheme.Pending}, nil
}

func (c *counter) Return(context.Context, scheme.Refund) (scheme.State, error) {
	c.returns.Add(1)
	c.wait(&c.submitHold)
	c.mayPanic()
	return scheme.State{Progress: scheme.Pending}, nil
}

func (c *counter) Ask(context.Context, pix.TxID, string) (scheme.State, error) {
	c.asks.Add(1)
	c.wait(&c.submitHold)
	c.mayPanic()
	return scheme.State{}, nil
}

func (c *counter) Returns(context.Context, pix.AccountID, string) ([]ledger.Returned, error) {
	return nil, nil
}

func (c *counter) Book(context.Context) (scheme.Book, error) { return scheme.Book{}, nil }

// gate is a journal that tests can shut. While the gate is shut, entries are written, but
// none is reported as durable.
type gate struct {
	Journal
	mu   sync.Mutex
	shut bool
	word wal.Ticket // what Durable returns while the gate is shut: the newest ticket that was durable before
	outs []wal.Out
	seen int
}

type gated struct {
	gate *gate
	out  wal.Out
}

// Release implements wal.Out.
func (o gated) Release(err error) {
	o.gate.mu.Lock()
	shut := o.gate.shut
	if shut {
		o.gate.outs = append(o.gate.outs, o.out)
	}
	o.gate.mu.Unlock()
	if !shut {
		o.out.Release(err)
	}
}

// Append implements Journal.
func (g *gate) Append(e *wal.Entry) wal.Ticket {
	g.mu.Lock()
	g.seen++
	g.mu.Unlock()
	for i, out := range e.Out {
		e.Out[i] = gated{g, out}
	}
	return g.Journal.Append(e)
}

// Durable implements Journal. While the gate is shut, it reports the ticket that was
// durable when the gate was shut.
func (g *gate) Durable() wal.Ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return g.word
	}
	return g.Journal.Durable()
}

func (g *gate) shutIt() {
	g.mu.Lock()
	g.shut, g.seen, g.word = true, 0, g.Journal.Durable()
	g.mu.Unlock()
}

func (g *gate) passed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

func (g *gate) open() {
	g.mu.Lock()
	outs := g.outs
	g.shut, g.outs = false, nil
	g.mu.Unlock()
	for _, out := range outs {
		out.Release(nil)
	}
}

// damage writes a head row that does not match the account's records.
func (w *harness) damage(id pix.AccountID) {
	done := make(chan error, 1)
	w.store.Append(&wal.Entry{
		Ops: []wal.Op{{Kind: wal.OpSet, Key: layout.HeadKey(id), Value: []byte("nonsense")}},
		Out: []wal.Out{writeOut(done)},
	})
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// waitingTasks hands the result of each task to the function that was given when the task
// was started.
type waitingTasks struct {
	mu      sync.Mutex
	waiting map[due.Task][]func(due.Result)
}

// Done implements Tasks.
func (w *waitingTasks) Done(t due.Task, r due.Result) {
	w.mu.Lock()
	then := w.waiting[t]
	if len(then) == 0 {
		panic("a task has ended twice")
	}
	w.waiting[t] = then[1:]
	w.mu.Unlock()
	then[0](r)
}

// due starts a due task; then is called with the task's result.
func (w *harness) due(t due.Task, then func(due.Result)) {
	w.tasks.mu.Lock()
	w.tasks.waiting[t] = append(w.tasks.waiting[t], then)
	w.tasks.mu.Unlock()
	w.Due(t)
}
