package webhook

import (
	"container/heap"
	"fmt"

	"pixd/actors/ledger"
)

// Rows reads the rows of deliveries, and subscriptions.
type Rows interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	// Subscription reads a subscription in its newest durable state; nil where there is none.
	Subscription(t ledger.Target) (*ledger.Subscription, error)
}

// Bounds limit how many attempts run at once and how much is kept in memory. Each is at least
// 1.
type Bounds struct {
	Each     int // most attempts of one subscription that run at once
	Good     int // most attempts in all that run at once for subscriptions whose last attempt did not fail
	Bad      int // most attempts in all that run at once for the others
	Look     int // most rows that are read at once for one subscription
	Find     int // most subscriptions that one step finds in the rows after a start
	Remember int // most subscriptions whose failures are remembered while nothing of theirs is due
}

// DefaultBounds returns the bounds of an engine.
func DefaultBounds() Bounds {
	return Bounds{Each: 16, Good: 128, Bad: 64, Look: 64, Find: 1000, Remember: 100_000}
}

// Machine decides which deliveries are attempted when, and what follows from an attempt's
// result. It has no goroutine, no clock, and no I/O except for reading the rows that it is
// given. The times in its calls go on and never back; see Dispatcher.now.
//
// A delivery that waits is a row. For a subscription of which nothing is due the machine keeps
// one due time; for one of which something is due, at most Bounds.Look deliveries.
type Machine struct {
	bounds   Bounds
	schedule []ledger.Millis // waits before the second and each later attempt

	find    []byte // where the search for subscriptions with deliveries goes on after a start; nil: it is over
	queues  map[ledger.Target]*queue
	ready   []*queue                        // queues in which something may be due, in the order in which they get their turn
	waiting alarms                          // subscriptions of which something is due later
	asleep  map[ledger.Target]ledger.Millis // the earliest alarm of each of them
	running [2]int                          // attempts that run: for good and for bad subscriptions
	bad     map[ledger.Target]failure       // subscriptions whose last attempt failed
	alerted map[ledger.Target]ledger.Millis
}

// New makes the machine of a process that starts. schedule has the waits, in ms, before the
// second and each later attempt.
func New(schedule []ledger.Millis, b Bounds) *Machine {
	lo, _ := ledger.AllPending()
	return &Machine{
		bounds: b, schedule: schedule, find: lo, queues: map[ledger.Target]*queue{},
		asleep: map[ledger.Target]ledger.Millis{}, bad: map[ledger.Target]failure{}, alerted: map[ledger.Target]ledger.Millis{},
	}
}

// Task is one attempt to make or, with Bury, deliveries to end without an attempt. The caller
// must call Done or Buried for it, and Settled once what they returned is durable.
type Task struct {
	ledger.Pending
	Subscription *ledger.Subscription
	Status       *ledger.DeliveryStatus // nil before the first attempt
	Bury         []Task                 // these end as dead, because the subscription is stopped or removed
	slot         int                    // which of Machine.running counts the attempt
}

// Emitted tells the machine of a durable record that causes events for subscriptions, or that
// is about a subscription.
func (m *Machine) Emitted(r *ledger.Record) {
	if s := r.Subscription; s != nil {
		m.Changed(ledger.Target{Account: r.Account, Number: s.ID.Number()})
	}
	for _, p := range r.Waiting() {
		m.Wake(p)
	}
}

// Wake tells the machine of a row that was written: it looks at it again.
func (m *Machine) Wake(p ledger.Pending) {
	q := m.queue(p.Target)
	q.dry = false
	q.back(p)
	m.line(q)
}

// Changed tells the machine that a subscription has changed.
func (m *Machine) Changed(t ledger.Target) {
	q := m.queue(t)
	q.subscription = nil
	q.restart(ledger.Pending{})
	m.line(q)
}

// queue returns a subscription's queue, and makes it where there is none.
func (m *Machine) queue(t ledger.Target) *queue {
	q := m.queues[t]
	if q == nil {
		q = newQueue(t)
		m.queues[t] = q
	}
	return q
}

// line gives the queue its turn.
func (m *Machine) line(q *queue) {
	if !q.lined {
		q.lined = true
		m.ready = append(m.ready, q)
	}
}

// Tick returns the tasks to start now.
func (m *Machine) Tick(now ledger.Millis, rows Rows) (tasks []Task, err error) {
	if err := m.findMore(rows); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	for len(m.waiting) > 0 && m.waiting[0].at <= now {
		a := heap.Pop(&m.waiting).(alarm)
		if m.asleep[a.target] == a.at {
			delete(m.asleep, a.target)
		}
		m.line(m.queue(a.target))
	}
	// Each queue gets one turn; a queue that has more to do goes to the end of the line.
	for range len(m.ready) {
		q := m.ready[0]
		m.ready = m.ready[1:]
		q.lined = false
		if tasks, err = m.turn(q, now, rows, tasks); err != nil {
			m.line(q)
			return tasks, fmt.Errorf("webhook: deliveries of subscription %d of %v: %w", q.target.Number, q.target.Account, err)
		}
	}
	return tasks, nil
}

// findMore looks for subscriptions with deliveries that an earlier process left: one seek for
// each of them.
func (m *Machine) findMore(rows Rows) error {
	_, hi := ledger.AllPending()
	for found := 0; m.find != nil && found < m.bounds.Find; found++ {
		over := true
		err := rows.Scan(m.find, hi, func(k, v []byte) (bool, error) {
			p, err := ledger.DecodePending(k, v)
			if err != nil {
				return false, err
			}
			over = false
			m.line(m.queue(p.Target))
			_, m.find = ledger.PendingOf(p.Target)
			return false, nil
		})
		if err != nil {
			return err
		}
		if over {
			m.find = nil
		}
	}
	return nil
}

// turn starts what one queue may start now.
func (m *Machine) turn(q *queue, now ledger.Millis, rows Rows, tasks []Task) ([]Task, error) {
	if q.subscription == nil {
		s, err := rows.Subscription(q.target)
		if err != nil {
			return tasks, err
		}
		if s == nil { // only damage makes a delivery without a subscription; the command that verifies a store reports it
			delete(m.queues, q.target)
			return tasks, nil
		}
		q.subscription = s
	}
	if pause := m.bad[q.target].pause; pause > now && q.active() {
		if len(q.running) == 0 {
			m.sleep(q, pause)
		}
		return tasks, nil
	}
	slot, most := m.slot(q)
	for len(q.running) < q.width(m.bounds.Each) {
		if len(q.loaded) == 0 && q.mayLoad(now) {
			if err := q.load(now, rows, m.bounds.Look); err != nil {
				return tasks, err
			}
		}
		switch {
		case len(q.loaded) == 0:
			m.rest(q)
			return tasks, nil
		case !q.active():
			tasks = append(tasks, q.bury())
		case m.running[slot] >= most:
			m.line(q) // its turn comes again when an attempt has ended
			return tasks, nil
		default:
			m.running[slot]++
			tasks = append(tasks, q.begin(slot))
		}
	}
	return tasks, nil
}

// slot returns which of Machine.running counts the queue's attempts, and how many there may be.
func (m *Machine) slot(q *queue) (slot, most int) {
	if _, bad := m.bad[q.target]; bad {
		return 1, m.bounds.Bad
	}
	return 0, m.bounds.Good
}

// rest forgets a queue of which nothing is due and nothing runs. What is due later is kept as
// one due time.
func (m *Machine) rest(q *queue) {
	if len(q.running) > 0 {
		return // the end of an attempt gives the queue its turn again
	}
	if !q.active() {
		delete(m.bad, q.target) // it does not count as failing any more
	}
	m.sleep(q, q.next)
}

// sleep forgets a queue until a time; 0: until something wakes it.
func (m *Machine) sleep(q *queue, until ledger.Millis) {
	delete(m.queues, q.target)
	if first, set := m.asleep[q.target]; until == 0 || set && first <= until {
		return // each event wakes a queue that has a retry due in hours, and must not leave an alarm for it
	}
	m.asleep[q.target] = until
	heap.Push(&m.waiting, alarm{until, q.target})
}

// Settled tells the machine that what Done or Buried returned for the task is durable. Only
// then may the rows be read again: until then they show the delivery as due.
func (m *Machine) Settled(t Task) {
	q := m.queue(t.Target)
	for i := range t.Bury {
		delete(q.running, t.Bury[i].Sequence)
	}
	if t.Bury == nil {
		delete(q.running, t.Sequence)
	}
	m.line(q)
}

// Idle tells whether nothing is due or runs. Something may be due later.
func (m *Machine) Idle() bool { return m.find == nil && len(m.queues) == 0 }

// Counts returns the number of subscriptions with something due or running, of those that wait
// for a due time, and of those whose last attempt failed.
func (m *Machine) Counts() (due, waiting, failing int) {
	return len(m.queues), len(m.asleep), len(m.bad)
}

// failure is what is remembered of a subscription whose last attempt failed.
type failure struct {
	row   int           // number of failures in a row
	pause ledger.Millis // no attempt begins before this time
}

// alarm is a subscription of which something is due at a time. A subscription may have a later
// one too; a needless one costs a look.
type alarm struct {
	at     ledger.Millis
	target ledger.Target
}

// alarms is a heap of alarms, the earliest first.
type alarms []alarm

// Len implements heap.Interface.
func (a alarms) Len() int { return len(a) }

// Less implements heap.Interface.
func (a alarms) Less(i, j int) bool { return a[i].at < a[j].at }

// Swap implements heap.Interface.
func (a alarms) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *alarms) Push(x any) { *a = append(*a, x.(alarm)) }

// Pop implements heap.Interface.
func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
