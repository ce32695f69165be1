package webhook

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/system"
	"pixd/wal"
)

// Options are what a Dispatcher needs.
type Options struct {
	Rows     Rows
	Journal  wal.Journal
	Record   func(a pix.AccountID, seq uint64) (*ledger.Record, error)
	Render   func(e ledger.Event) []byte // makes the body of a webhook
	Post     func(ctx context.Context, p Post) Answer
	End      func(id pix.AccountID, c ledger.EndSubscription) error // carries the command out
	Alerts   ledger.Alerts                                          // nil: no alerts are raised
	Busy     func() bool                                            // the processor is needed for other work: attempts begin at a slower pace; nil: it never is
	Schedule []time.Duration                                        // waits before the second and each later attempt
	Now      func() pix.Reading
	Entropy  func() [10]byte
	Log      *slog.Logger
}

// The kinds of alerts about deliveries.
const (
	AlertDead    = "delivery_dead"    // no attempt follows, and the receiver has not acknowledged the event
	AlertDelayed = "delivery_delayed" // the oldest event that waits is over an hour old
)

// Dispatcher is the shell around Machine: it calls Machine.Tick, gives tasks to child actors,
// and writes what follows from their results.
type Dispatcher struct {
	Options
	ahead  pix.Millis // see Ahead
	counts Counts
	inbox  Inbox
	wake   chan struct{} // a value makes Run call Tick at once; capacity 1

	mu      sync.Mutex
	machine *Machine

	behind *fair.Pool[pix.AccountID] // requests that wait for the end of an attempt

	system *actor.ActorSystem
	props  *actor.Props
	idleMu sync.Mutex
	idle   []*actor.PID
	work   sync.WaitGroup // child actors at work
	ending context.Context
	cancel context.CancelFunc
}

// NewDispatcher makes a dispatcher; Run delivers.
func NewDispatcher(o Options) *Dispatcher {
	schedule := make([]pix.Millis, len(o.Schedule))
	for i, wait := range o.Schedule {
		schedule[i] = pix.Millis(wait.Milliseconds())
	}
	d := &Dispatcher{Options: o, wake: make(chan struct{}, 1), behind: fair.New[pix.AccountID](fair.Bounds{Places: behindAtOnce, Share: behindShare}), machine: New(schedule, DefaultBounds())}
	d.ahead = Ahead(d.Now())
	d.ending, d.cancel = context.WithCancel(context.Background())
	d.system = system.New(slog.DiscardHandler)
	d.props = actor.PropsFromProducer(func() actor.Actor { return &child{d} })
	return d
}

// Ahead is what is added to the clock, in ms, for the time by which deliveries are due, in a
// process whose start has this reading. That time begins at the stamp of a record of then and
// goes on with the clock. The stamp itself would stand still, for hours perhaps, while the
// clock is behind the newest record, and nothing that waits would become due.
func Ahead(start pix.Reading) pix.Millis { return max(0, start.Time-start.Clock) }

// now is the time by which deliveries are due; see Ahead.
func (d *Dispatcher) now() pix.Millis { return d.Now().Clock + d.ahead }

// Emitted implements account.Webhooks.
func (d *Dispatcher) Emitted(r *ledger.Record) {
	d.inbox.Emitted(r)
	d.look()
}

// look makes Run call Tick at once.
func (d *Dispatcher) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// lookEvery is how often Run looks for deliveries that have become due.
const lookEvery = 50 * time.Millisecond

// While the processors are needed for other work, at most busyAttempts attempts for each of them
// begin every busyPause. Deliveries can wait; merchants' requests cannot.
const (
	busyPause    = 20 * time.Millisecond
	busyAttempts = 8
)

// Run delivers until the context ends.
func (d *Dispatcher) Run(ctx context.Context) {
	ticker, pause := time.NewTicker(lookEvery), time.NewTimer(0)
	defer ticker.Stop()
	defer pause.Stop()
	for ctx.Err() == nil {
		if d.Busy != nil && d.Busy() {
			pause.Reset(busyPause)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
		}
		tasks, err := d.tick()
		if err != nil {
			d.Log.Error("webhook: deliveries not read; tried again", "error", err)
		}
		d.begin(tasks)
		if err != nil {
			select { // rows that cannot be read are not read in a loop without a pause
			case <-ctx.Done():
			case <-ticker.C:
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-d.wake:
		}
	}
	d.cancel()
	d.work.Wait()
	d.system.Shutdown()
}

func (d *Dispatcher) tick() ([]Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inbox.Into(d.machine)
	d.machine.Limit(0)
	if d.Busy != nil && d.Busy() {
		d.machine.Limit(busyAttempts * runtime.GOMAXPROCS(0))
	}
	return d.machine.Tick(d.now(), d.Rows)
}

// begin holds the tasks of a tick, and starts those of earlier ticks that need not be held.
func (d *Dispatcher) begin(tasks []Task) {
	if len(tasks) > 0 {
		d.Journal.Append(&wal.Entry{Out: []wal.Out{&heldTasks{d, tasks}}})
	}
	tasks = d.inbox.drain()
	for i := range tasks {
		d.start(&tasks[i])
	}
}

// heldTasks are tasks that begin once everything that Tick may have read is durable: the rows of a
// record can be read before the record is durable, and a crash may still lose it.
type heldTasks struct {
	d     *Dispatcher
	tasks []Task
}

// Release implements wal.Out.
func (h *heldTasks) Release(err error) {
	if err == nil {
		h.d.inbox.put(h.tasks)
		h.d.look()
	}
}

// start gives an attempt to a child actor. Deliveries that end without an attempt need none.
func (d *Dispatcher) start(t *Task) {
	if t.Bury != nil {
		d.mu.Lock()
		ops := d.machine.Buried(*t)
		d.mu.Unlock()
		d.counts.dead.Add(uint64(len(t.Bury)))
		d.write(t, ops, nil)
		return
	}
	d.work.Add(1)
	d.system.Root.Send(d.child(), t)
}

// child returns an idle child actor, or spawns a new one.
func (d *Dispatcher) child() *actor.PID {
	d.idleMu.Lock()
	defer d.idleMu.Unlock()
	if n := len(d.idle); n > 0 {
		pid := d.idle[n-1]
		d.idle = d.idle[:n-1]
		return pid
	}
	return d.system.Root.Spawn(d.props)
}

func (d *Dispatcher) rested(pid *actor.PID) {
	d.idleMu.Lock()
	d.idle = append(d.idle, pid)
	d.idleMu.Unlock()
}

// attempted takes the result of a child actor.
func (d *Dispatcher) attempted(t *Task, r Result) {
	d.mu.Lock()
	d.inbox.Into(d.machine) // whether the subscription has changed meanwhile
	o := d.machine.Done(*t, r)
	d.mu.Unlock()
	d.counts.attempt(r, o.State)
	var next *layout.Pending
	if o.State == layout.DeliveryPending {
		next = &o.Next
	}
	if o.Stop {
		d.work.Add(1)
		go d.stop(t)
	}
	if o.Alert != "" {
		d.raise(t.Target, AlertDead, o.Alert)
	}
	d.write(t, o.Ops, next)
}

// write writes what follows from a task. Once it is durable, the machine may read the rows.
func (d *Dispatcher) write(t *Task, ops []wal.Op, next *layout.Pending) {
	d.counts.rows.Add(uint64(len(ops)))
	d.Journal.Append(&wal.Entry{
		Stream: wal.Stream(t.Account), Ops: ops, Shared: true, Out: []wal.Out{&durableResult{d, t, next}},
	})
}

// Written is the number of rows that were written or deleted for attempts.
func (d *Dispatcher) Written() uint64 { return d.counts.rows.Load() }

// durableResult tells the dispatcher that what follows from a task is durable.
type durableResult struct {
	d    *Dispatcher
	task *Task
	next *layout.Pending // the delivery's new row; nil: it waits no more
}

// Release implements wal.Out.
func (s *durableResult) Release(err error) {
	if err == nil {
		s.d.inbox.ResultDurable(s.task, s.next)
		s.d.look()
	}
}

// stop ends the subscription of a receiver that wants no more events. If the command fails, the
// next delivery's attempt meets the same answer.
func (d *Dispatcher) stop(t *Task) {
	defer d.work.Done()
	err := d.End(t.Account, ledger.EndSubscription{ID: t.Subscription.ID, Stop: true, URL: t.Subscription.URL})
	if err != nil {
		d.Log.Warn("webhook: receiver answered 410, and its webhook could not be stopped", "webhook", t.Subscription.ID.String(), "error", err)
	}
}
