// Package due is the one scanner of due times and of the directory's queues: rows
// that say which payout waits for which instant, or for which capacity. It knows how
// many may be looked after at once and in which order; what is to be done with each,
// its account knows. What waits costs no memory here.
//
// Machine says which tasks are to start; Scanner is its shell.
package due

import (
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// Rows is where due and queue rows are read.
type Rows interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// Task is a payout that its account is to look after.
type Task struct {
	Account ledger.AccountID
	ID      ledger.EntityID
	Seq     uint64         // of a record about it; 0 with Retry
	Retry   bool           // one in a queue: capacity may be back. Else its time has come
	Queue   ledger.QueueID // with Retry

	due ledger.Due // its row; none with Retry
}

// Kind is what waited; none with Retry.
func (t *Task) Kind() ledger.DueKind { return t.due.Kind }

// Result is what a task came to, once that is durable.
type Result struct {
	Again   ledger.Millis // when the task is to start again; 0: no more is to be done
	Unheard bool          // the scheme could not be asked
	Open    bool          // it was heard, and its answer settles nothing
	Queued  bool          // it waits for capacity, still or again
	Skipped bool          // nothing was asked
	Err     error         // its account could not look
}

func (r *Result) failed() bool { return r.Err != nil }

// closed tells that the account will not look before the next start: it is quarantined.
func (r *Result) closed() bool { return errors.Is(r.Err, ledger.ErrQuarantined) }

// Bounds are how much goes on at once and how much is remembered. Each is 1 or more.
type Bounds struct {
	AtOnce   int // due payouts looked after at once that need the scheme, and as many that do not
	Look     int // rows looked at in one step, where most are passed over
	Remember int // payouts of either sort that are put off, and quarantined accounts
	Probes   int // lookups of one queue in a round while none passes, and at once
	Skip     int // payouts passed over in a round of a queue
}

// DefaultBounds are those of an engine.
func DefaultBounds() Bounds {
	return Bounds{AtOnce: 64, Look: 20_000, Remember: 100_000, Probes: 64, Skip: 5_000}
}

// Machine knows what runs and what is to be. It has no goroutine, clock or
// I/O but the rows it is given. The times it is told never go back.
type Machine struct {
	bounds Bounds
	every  ledger.Millis // between two rounds of a queue

	resume  []cursor // where the start's look at all rows goes on
	working map[ledger.EntityID]started
	lanes   []*lane                   // one for each need
	closed  map[ledger.AccountID]bool // quarantined

	find   ledger.Millis // when queues are looked for again
	queues map[ledger.QueueID]*queue
	order  []ledger.QueueID
}

// New is a machine at the start of a process. A queue is tried every so many
// milliseconds.
func New(every ledger.Millis, b Bounds) *Machine {
	m := &Machine{
		bounds: b, every: every, working: map[ledger.EntityID]started{}, closed: map[ledger.AccountID]bool{}, queues: map[ledger.QueueID]*queue{},
	}
	for _, need := range ledger.Needs() {
		m.lanes = append(m.lanes, newLane(m, need))
	}
	for _, k := range ledger.DueKinds() {
		if k.InHand() {
			m.resume = append(m.resume, newCursor(k))
		}
	}
	return m
}

// lane is that of the tasks with a need.
func (m *Machine) lane(n ledger.Need) *lane {
	for _, l := range m.lanes {
		if l.need == n {
			return l
		}
	}
	panic(fmt.Sprintf("due: no lane for need %d", n))
}

// Tick is the tasks to start now. Done must be called for each of them. What ends by
// the clock alone waits while the clock is doubted.
func (m *Machine) Tick(now ledger.Reading, rows Rows) (tasks []Task, err error) {
	s := &step{now: now.Clock, rows: rows}
	err = m.resumed(s)
	for _, l := range m.lanes {
		if err == nil && s.now >= l.quiet && (l.need != ledger.NeedsClock || !now.Doubted) {
			err = l.step(s)
		}
	}
	if err == nil {
		err = m.runQueues(s)
	}
	if err != nil {
		err = fmt.Errorf("due: %w", err)
	}
	return s.tasks, err
}

// step is one Tick.
type step struct {
	now   ledger.Millis
	rows  Rows
	tasks []Task
}

// started is a task of a due payout under way.
type started struct {
	lane  *lane
	again bool // it ran before
	tries int  // and so often came to nothing
}

// begin starts a task of a due payout.
func (s *step) begin(d ledger.Due, v started) {
	v.lane.machine.working[d.ID] = v
	v.lane.count(v, 1)
	s.tasks = append(s.tasks, Task{Account: d.Account, ID: d.ID, Seq: d.Seq, due: d})
}

// resumed finds what the last process had in hand: a payout that is on its way, that
// is only held, or that is accepted in doubt. No clock is asked for it, so that no crash and no flag of
// another start can hide one.
func (m *Machine) resumed(s *step) error {
	for len(m.resume) > 0 {
		c := &m.resume[0]
		l := m.lane(c.kind.Need())
		if s.now < l.quiet || !l.room() {
			return nil
		}
		over, err := c.scan(s.rows, ledger.Latest, m.bounds.Look, func(d ledger.Due) (bool, error) {
			if m.busy(d.ID) || m.closed[d.Account] {
				return true, nil
			}
			if !l.room() {
				return false, nil
			}
			in, err := inHand(s.rows, d)
			if in && err == nil {
				s.begin(d, started{lane: l})
			}
			return true, err
		})
		if err != nil || !over {
			return err
		}
		m.resume = m.resume[1:]
	}
	return nil
}

// busy tells a payout that is being looked after.
func (m *Machine) busy(id ledger.EntityID) bool { return m.working[id].lane != nil }

// inHand tells a payout that a process has a child for, or would ask about within
// seconds.
func inHand(rows Rows, d ledger.Due) (bool, error) {
	if d.Kind == ledger.DueSending || d.Kind == ledger.DueDoubt {
		return true, nil
	}
	_, accepted, err := rows.Get(ledger.OpenKey(d.Account, ledger.TxID(d.ID)))
	return err == nil && !accepted, err
}

// Done takes the result of a task; true where the operators must hear that the scheme
// cannot be reached: once, until it is heard again.
func (m *Machine) Done(t Task, r Result, now ledger.Millis) (alert bool) {
	if r.closed() && len(m.closed) < m.bounds.Remember {
		m.closed[t.Account] = true
	}
	if t.Retry {
		m.endRetry(t, r, now)
		return false
	}
	was := m.working[t.ID]
	if was.lane == nil {
		return false
	}
	delete(m.working, t.ID)
	was.lane.count(was, -1)
	alert = was.lane.heard(r, now)
	if r.closed() && m.closed[t.Account] {
		return alert
	}
	was.lane.done(t, r, was.tries, now)
	return alert
}
