package webhook

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// world is a machine with its inbox, a journal that makes entries durable one after the other,
// and receivers. Everything in it happens in an order that a seed decides.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	seed    uint64
	machine *Machine
	inbox   Inbox
	shelf   *shelf
	now     pix.Millis
	events  map[pix.AccountID]uint64

	written  []entry            // appended, and not durable
	durable  []entry            // durable, and not released
	tasks    []Task             // attempts that run
	attempts map[delivered]bool // deliveries of tasks
	known    map[delivered]bool // deliveries that became durable
	tried    map[delivered]bool // deliveries of which an attempt began
	ending   map[layout.Target]bool
}

// delivered names a delivery.
type delivered struct {
	layout.Target
	sequence uint64
}

// entry is an entry of the journal, and what is to be done when it is released.
type entry struct {
	ops     []wal.Op
	apply   func()
	release func()
}

var worldTargets = []layout.Target{{Account: 1, Number: 1}, {Account: 1, Number: 2}, {Account: 1, Number: 3}, {Account: 2, Number: 1}}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), seed: seed, shelf: newShelf(), now: 1_000_000, events: map[pix.AccountID]uint64{},
		known: map[delivered]bool{}, tried: map[delivered]bool{}, ending: map[layout.Target]bool{},
	}
	for _, of := range worldTargets {
		w.shelf.subscribe(of, ledger.SubscriptionActive)
	}
	w.start()
	return w
}

// start begins a new process on the rows that are durable.
func (w *world) start() {
	w.machine = New([]pix.Millis{1000, 5000}, Bounds{
		Each: 1 + w.rng.IntN(4), Good: Places{4, 3}, Failing: Places{2, 1 + w.rng.IntN(2)}, Slow: Places{1 + w.rng.IntN(3), 2},
		Look: 1 + w.rng.IntN(4), Find: 1, Remember: 3,
	})
	w.inbox, w.written, w.durable, w.tasks, w.attempts = Inbox{}, nil, nil, nil, map[delivered]bool{}
}

func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s", w.seed, fmt.Sprintf(format, args...))
}

// emit writes a record with a few events.
func (w *world) emit() {
	a := pix.AccountID(1 + w.rng.IntN(2))
	r := &ledger.Record{Account: a, Seq: w.events[a] + 1, Time: w.now}
	var rows []wal.Op
	n := 1 + w.rng.IntN(2)
	w.events[a] += uint64(n)
	r.Totals.Events = w.events[a]
	for i := range n {
		r.Events = append(r.Events, pix.EventReceived)
		for _, of := range worldTargets {
			if of.Account == a && !w.ending[of] {
				r.Deliveries = append(r.Deliveries, ledger.Delivery{Event: uint8(i), Subscription: of.Number})
			}
		}
	}
	for _, p := range r.Waiting() {
		rows = append(rows, wal.Op{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()})
	}
	w.written = append(w.written, entry{rows, func() {
		for _, p := range r.Waiting() {
			w.known[delivered{p.Target, p.Sequence}] = true
		}
	}, func() { w.inbox.Emitted(r) }})
}

// end stops or removes a subscription.
func (w *world) end() {
	of := worldTargets[w.rng.IntN(len(worldTargets))]
	status := ledger.SubscriptionStopped + ledger.SubscriptionStatus(w.rng.IntN(2))
	if w.ending[of] || w.rng.IntN(10) > 0 {
		return
	}
	w.ending[of] = true
	r := &ledger.Record{Account: of.Account, Time: w.now}
	r.Subscription = &ledger.Subscription{ID: pix.NewSubscriptionID(of.Account, of.Number, [4]byte{})}
	w.written = append(w.written, entry{nil, func() { w.shelf.subscribe(of, status) }, func() { w.inbox.Emitted(r) }})
}

// commit makes the next entry durable.
func (w *world) commit() {
	if len(w.written) == 0 {
		return
	}
	e := w.written[0]
	w.written = w.written[1:]
	w.shelf.apply(e.ops)
	if e.apply != nil {
		e.apply()
	}
	w.durable = append(w.durable, e)
	w.consistent(e.ops)
}

func (w *world) release() {
	if len(w.durable) > 0 {
		w.durable[0].release()
		w.durable = w.durable[1:]
	}
}

// consistent checks the rows of every delivery that changes are about.
func (w *world) consistent(ops []wal.Op) {
	for _, o := range ops {
		p, err := layout.DecodePending(o.Key, make([]byte, 10))
		if err != nil {
			p.Target, _, p.Sequence, _ = layout.DecodeDeliveryKey(o.Key)
		}
		if got := w.shelf.stands(p.Target, p.Sequence); got != "new" && got != "pending" && got != "delivered" && got != "dead" {
			w.failf("delivery %d of %+v is %s", p.Sequence, p.Target, got)
		}
	}
}

// tick starts what may start now.
func (w *world) tick() {
	w.inbox.Into(w.machine)
	tasks, err := w.machine.Tick(w.now, w.shelf)
	if err != nil {
		w.failf("%v", err)
	}
	running := map[layout.Target]int{}
	for _, t := range append(w.tasks, tasks...) {
		if running[t.Target]++; running[t.Target] > w.machine.bounds.Each {
			w.failf("%d attempts of %+v run", running[t.Target], t.Target)
		}
	}
	for _, t := range tasks {
		if t.Bury == nil {
			w.begins(t)
			w.tasks = append(w.tasks, t)
			continue
		}
		for i := range t.Bury {
			w.begins(t.Bury[i])
		}
		w.settles(t, w.machine.Buried(t), nil)
	}
	w.counted()
}

// counted checks that each attempt is counted in a pool, and that no pool and no account has more
// than its places.
func (w *world) counted() {
	running := 0
	for c, p := range w.machine.pools {
		inPool, waiting := 0, 0
		for id := range pix.AccountID(3) {
			inUse, queues := p.Of(id)
			inPool, waiting = inPool+inUse, waiting+queues
			if inUse > p.places.Account {
				w.failf("%v: account %v has %d attempts and %d queues in line", classNames[c], id, inUse, queues)
			}
		}
		if p.InUse() > p.places.All || p.InUse() != inPool || p.Waiting() != waiting {
			w.failf("%s: %d attempts run, and %d of accounts; %d queues wait, and %d", classNames[c], p.InUse(), inPool, p.Waiting(), waiting)
		}
		running += p.InUse()
	}
	if running != len(w.tasks) {
		w.failf("%d attempts run, counted as %d", len(w.tasks), running)
	}
}

// begins checks that nothing else is done with the delivery, and that its row is there.
func (w *world) begins(t Task) {
	d := delivered{t.Target, t.Sequence}
	if w.attempts[d] {
		w.failf("delivery %+v begins twice", d)
	}
	if _, there := w.shelf.rows[string(t.Key())]; !there || t.Due > w.now && !w.ending[t.Target] {
		w.failf("delivery %+v begins at %d, its row is there: %v", t.Pending, w.now, there)
	}
	_, attempted := w.shelf.rows[string(layout.DeliveryKey(t.Target, layout.DeliveryPending, t.Sequence))]
	if attempted != (t.Status != nil) {
		w.failf("delivery %+v begins with the status %+v", t.Pending, t.Status)
	}
	w.attempts[d], w.tried[d] = true, true
}

// settles appends what follows from a task.
func (w *world) settles(t Task, ops []wal.Op, next *layout.Pending) {
	w.written = append(w.written, entry{ops, nil, func() {
		delete(w.attempts, delivered{t.Target, t.Sequence})
		for i := range t.Bury {
			delete(w.attempts, delivered{t.Bury[i].Target, t.Bury[i].Sequence})
		}
		w.inbox.ResultDurable(&t, next)
	}})
}

// answer ends an attempt: with success of ten times good, on average.
func (w *world) answer(good int) {
	if len(w.tasks) == 0 {
		return
	}
	i := w.rng.IntN(len(w.tasks))
	t := w.tasks[i]
	w.tasks = append(w.tasks[:i:i], w.tasks[i+1:]...)
	r := Result{Began: w.now, Now: w.now, CreatedAt: w.now, Entropy: uint16(w.rng.Uint32())}
	r.Status = 200
	if w.rng.IntN(10) >= good {
		r.Status = []int{0, 500, 503, 301, 199}[w.rng.IntN(5)]
		r.RetryAfter = time.Duration(w.rng.IntN(3)) * time.Second
	}
	o := w.machine.Done(t, r)
	var next *layout.Pending
	if o.State == layout.DeliveryPending {
		next = &o.Next
	}
	w.settles(t, o.Ops, next)
}

// again puts a delivery back in line.
func (w *world) again() {
	of := worldTargets[w.rng.IntN(len(worldTargets))]
	d := delivered{of, 1 + uint64(w.rng.IntN(int(w.events[of.Account])+1))}
	if !w.known[d] || w.ending[of] {
		return
	}
	w.inbox.Into(w.machine)
	if w.machine.attempts(d.Target, d.sequence) {
		return
	}
	if w.attempts[d] {
		w.failf("delivery %+v is put back in line during an attempt", d)
	}
	state, s, err := findDelivery(w.shelf, d.Target, d.sequence)
	if err != nil {
		w.failf("%v", err)
	}
	t, o := w.machine.Again(d.Target, d.sequence, state, s, w.now)
	w.attempts[d] = true
	w.settles(t, o.Ops, &o.Next)
}
