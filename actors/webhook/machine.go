package webhook

import (
	"errors"
	"fmt"
	"slices"

	"pixd/actors/alarms"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Rows reads the rows of deliveries, and subscriptions.
type Rows interface {
	layout.Rows
	// Subscription reads a subscription in its newest durable state; nil where there is none.
	Subscription(t layout.Target) (*ledger.Subscription, error)
}

// Bounds limit how many attempts run at once and how much is kept in memory. Each is at least
// 1. No more attempts than the places of the three pools run at once.
type Bounds struct {
	Each     int    // most attempts of one subscription that run at once
	Good     Places // for subscriptions whose receivers answer well and in time
	Failing  Places // for those whose last attempt failed
	Slow     Places // for attempts that take longer than a second
	Look     int    // most rows that are read at once for one subscription
	Find     int    // most subscriptions that one step finds in the rows after a start
	Remember int    // most subscriptions of which it is remembered that they fail, or that they are slow, while nothing of theirs is due
}

// DefaultBounds returns the bounds of an engine. One account leaves a third of the places to
// others. Of failing subscriptions one attempt runs at a time, and an account has at most 20.
func DefaultBounds() Bounds {
	return Bounds{
		Each: 16, Good: Places{All: 192, Account: 128}, Failing: Places{All: 64, Account: 20}, Slow: Places{All: 480, Account: 320},
		Look: 64, Find: 1000, Remember: 100_000,
	}
}

// Machine decides which deliveries are attempted when, and what follows from an attempt's
// result. It has no goroutine, no clock, and no I/O except for reading the rows that it is
// given. The times in its calls go on and never back; see Dispatcher.now.
//
// A delivery that waits is a row. For a subscription of which nothing is due the machine keeps
// one due time; for one of which something is due, at most Bounds.Look deliveries.
type Machine struct {
	bounds   Bounds
	schedule []pix.Millis // waits before the second and each later attempt

	find    []byte // where the search for subscriptions with deliveries goes on after a start; nil: it is over
	queues  map[layout.Target]*queue
	waiting alarms.Alarms[layout.Target] // subscriptions of which something is due later
	// pools also keep the queues in which something may be due, in the order in which they get
	// their turn. While no attempt may begin in a pool, its queues wait and nothing of theirs is
	// read.
	pools   [classes]*pool
	begun   []*attempt                // attempts of good and failing subscriptions that began within the time patience, the oldest first
	late    []*attempt                // those that are slow, and have no place among the slow ones
	bad     map[layout.Target]failure // subscriptions whose last attempt failed
	slow    map[layout.Target]bool    // subscriptions whose newest attempt is slow
	limit   int                       // see Limit
	alerted map[alertAbout]pix.Millis
	life    pix.Millis               // how long, in ms, a delivery is attempted; see slack
	held    map[layout.Target]uint64 // events before this one are held; see Watch
	passed  map[layout.Target]uint64 // where the next look of Watch goes on; none: at the first event
}

// New makes the machine of a process that starts. schedule has the waits, in ms, before the
// second and each later attempt.
func New(schedule []pix.Millis, b Bounds) *Machine {
	lo, _ := layout.AllPending()
	m := &Machine{
		bounds: b, schedule: schedule, find: lo, queues: map[layout.Target]*queue{}, life: slack, bad: map[layout.Target]failure{}, slow: map[layout.Target]bool{},
		alerted: map[alertAbout]pix.Millis{}, held: map[layout.Target]uint64{}, passed: map[layout.Target]uint64{},
	}
	for c, places := range [classes]Places{good: b.Good, failing: b.Failing, slow: b.Slow} {
		m.pools[c] = newPool(places)
	}
	for _, wait := range schedule {
		m.life += wait
	}
	return m
}

// Task is one attempt to make or, with Bury, deliveries to end without an attempt. The caller
// must call Done or Buried for it, and ResultDurable once what they returned is durable.
type Task struct {
	layout.Pending
	Subscription *ledger.Subscription
	Status       *layout.DeliveryStatus // nil before the first attempt
	Bury         []Task                 // these end as dead without an attempt
	why          string                 // with Bury: the reason
	attempt      *attempt               // nil with Bury
}

// Wake tells the machine of a row that was written: it looks at it again.
func (m *Machine) Wake(p layout.Pending) {
	q := m.queue(p.Target)
	q.dry = false
	q.back(p)
	m.line(q)
}

// Changed tells the machine that a subscription has changed. Its receiver may be another one now, so a pause
// that the one before has asked for ends, and what an attempt that runs will meet there ends neither the
// delivery nor the subscription.
func (m *Machine) Changed(t layout.Target) {
	if f, bad := m.bad[t]; bad {
		f.pause = 0
		m.bad[t] = f
	}
	q := m.queue(t)
	q.subscription = nil
	q.changes++
	q.restart(layout.Pending{})
	m.line(q)
}

// queue returns a subscription's queue, and makes it where there is none.
func (m *Machine) queue(t layout.Target) *queue {
	q := m.queues[t]
	if q == nil {
		q = newQueue(t)
		m.queues[t] = q
	}
	return q
}

// Limit sets how many attempts one Tick begins at most in each pool; 0: as many as have a place.
func (m *Machine) Limit(n int) { m.limit = n }

// Tick returns the tasks to start now.
func (m *Machine) Tick(now pix.Millis, rows Rows) (tasks []Task, err error) {
	unread := m.findMore(rows)
	m.overdue(now)
	for t, rings := m.waiting.Ring(now); rings; t, rings = m.waiting.Ring(now) {
		m.line(m.queue(t))
	}
	for c := range classes {
		if tasks, err = m.turns(c, now, rows, tasks); err != nil {
			unread = errors.Join(unread, err)
		}
	}
	if unread != nil {
		unread = fmt.Errorf("webhook: %w", unread)
	}
	return tasks, unread
}

// unreadAgain is the time, in ms, after which rows of a subscription that could not be read are
// read again. Other subscriptions go on meanwhile.
const unreadAgain = 10_000

// findMore looks for subscriptions with deliveries that an earlier process left: one seek for
// each of them.
func (m *Machine) findMore(rows Rows) error {
	for found := 0; m.find != nil && found < m.bounds.Find; found++ {
		p, next, err := firstWaiting(rows, m.find)
		if err == nil || next != nil { // where nothing could be read, the next step tries again
			m.find = next
		}
		if err != nil {
			return err
		}
		if next != nil {
			m.line(m.queue(p.Target))
		}
	}
	return nil
}

// firstWaiting reads the first delivery that waits at a key or behind it. next is where the
// deliveries of the next subscription begin, or, with the error for a damaged row, what is behind
// that row; nil: there is none, or the rows could not be read.
func firstWaiting(rows Rows, from []byte) (p layout.Pending, next []byte, err error) {
	var damage error
	_, until := layout.AllPending()
	err = rows.Scan(from, until, func(k, v []byte) (more bool, err error) {
		if p, damage = layout.DecodePending(k, v); damage != nil {
			next = append(slices.Clone(k), 0)
		} else {
			_, next = layout.PendingOf(p.Target)
		}
		return false, nil
	})
	if err != nil {
		return p, nil, err
	}
	return p, next, damage
}

// rest forgets a queue of which nothing is due and nothing runs. What is due later is kept as
// one due time.
func (m *Machine) rest(q *queue) {
	if len(q.running) > 0 { // the end of an attempt gives the queue its turn, or what is due before that
		m.waiting.Set(q.target, q.next)
		return
	}
	m.sleep(q, q.next)
}

// sleep forgets a queue until a time; 0: until something wakes it.
func (m *Machine) sleep(q *queue, until pix.Millis) {
	delete(m.queues, q.target)
	if !q.active() {
		delete(m.bad, q.target) // it does not count as failing or slow any more
		delete(m.slow, q.target)
	}
	m.waiting.Set(q.target, until)
}

// ResultDurable tells the machine that what Done or Buried returned for the task is durable. Only
// then may the rows be read again: until then they show the delivery as due.
func (m *Machine) ResultDurable(t Task) {
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
	return len(m.queues), m.waiting.Len(), len(m.bad)
}

// Pools returns the figures of each pool, by its name.
func (m *Machine) Pools() map[string]InPool {
	all := map[string]InPool{}
	for c, p := range m.pools {
		all[classNames[c]] = InPool{Running: p.InUse(), Places: p.places.All, Waiting: p.Waiting(), Aside: p.aside}
	}
	return all
}

// failure is what is remembered of a subscription whose last attempt failed.
type failure struct {
	row   int        // number of failures in a row
	pause pix.Millis // no attempt begins before this time
}
