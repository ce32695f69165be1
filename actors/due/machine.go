// Package due is the scanner of due times and of the directory's queues. Its rows say which
// payout waits until which time, or for which directory capacity. The scanner decides when
// and in which order payouts are looked after, and how many at once; the account decides
// what to do with a payout. A waiting payout takes no memory here.
//
// Machine decides which tasks start; Scanner is its shell.
package due

import (
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// Rows reads due rows and queue rows.
type Rows interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// Task names a payout that its account must look after.
type Task struct {
	Account ledger.AccountID
	ID      ledger.EntityID
	Seq     uint64         // sequence of a record about the payout; 0 with Retry
	Retry   bool           // the payout is queued and directory capacity may be back; false: its due time has come
	Queue   ledger.QueueID // the payout's queue; set only with Retry

	due ledger.Due // the due row; empty with Retry
}

// Kind is the kind of the due row; 0 with Retry.
func (t *Task) Kind() ledger.DueKind { return t.due.Kind }

// Result is the result of a task. It is reported once it is durable.
type Result struct {
	Again   ledger.Millis // when the task must run again; 0: it need not
	Unheard bool          // the scheme could not be asked
	Open    bool          // the scheme answered, but the payout's outcome is still open
	Queued  bool          // the payout waits for directory capacity
	Skipped bool          // the account did nothing for the payout
	Err     error         // the account could not carry out the task
}

func (r *Result) failed() bool { return r.Err != nil }

// closed tells whether the account is quarantined: it takes no task before the next start.
func (r *Result) closed() bool { return errors.Is(r.Err, ledger.ErrQuarantined) }

// Bounds limit how many tasks run at once and how much is kept in memory. Each is at least
// 1.
type Bounds struct {
	AtOnce   int // running tasks of due payouts, for each need
	Look     int // rows that one step reads with one cursor
	Remember int // postponed payouts of each need, and quarantined accounts
	Probes   int // lookups of one queue that run at once, and in a round while none succeeds
	Skip     int // payouts of a queue that a round may skip without a lookup
}

// DefaultBounds returns the bounds of an engine.
func DefaultBounds() Bounds {
	return Bounds{AtOnce: 64, Look: 20_000, Remember: 100_000, Probes: 64, Skip: 5_000}
}

// Machine decides which tasks start. It has no goroutine, no clock, and no I/O except the
// rows it is given. The times in its calls must never go back.
type Machine struct {
	bounds Bounds
	every  ledger.Millis // time between two rounds of a queue

	resume  []cursor // cursors of the pass over all rows at the start; the first is in use
	working map[ledger.EntityID]started
	lanes   []*lane                   // one lane for each need
	closed  map[ledger.AccountID]bool // quarantined accounts

	find   ledger.Millis // when to look for queues again
	queues map[ledger.QueueID]*queue
	order  []ledger.QueueID
}

// New makes the machine of a process that starts. every is the time between two rounds of a
// queue.
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

// lane returns the lane of a need.
func (m *Machine) lane(n ledger.Need) *lane {
	for _, l := range m.lanes {
		if l.need == n {
			return l
		}
	}
	panic(fmt.Sprintf("due: no lane for need %d", n))
}

// Tick returns the tasks to start now. Done must be called for each of them. While engine
// time is doubted, tasks that end by the clock do not start.
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

// step is the state of one call of Tick.
type step struct {
	now   ledger.Millis
	rows  Rows
	tasks []Task
}

// started is a running task of a due payout.
type started struct {
	lane  *lane
	again bool // the task ran before
	tries int  // how often the task ran and changed nothing
}

// begin starts the task of a due row.
func (s *step) begin(d ledger.Due, v started) {
	v.lane.machine.working[d.ID] = v
	v.lane.count(v, 1)
	s.tasks = append(s.tasks, Task{Account: d.Account, ID: d.ID, Seq: d.Seq, due: d})
}

// resumed starts tasks for the payouts that a child of the last process may have carried:
// held, sending, or accepted in doubt. It does so before their due time too, so that no
// wrong clock and no other setting of a due time can hide such a payout.
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

// busy tells whether a task of the payout is running.
func (m *Machine) busy(id ledger.EntityID) bool { return m.working[id].lane != nil }

// inHand tells whether a child of the last process may have carried the payout: it is
// sending, accepted in doubt, or held (it has no open row).
func inHand(rows Rows, d ledger.Due) (bool, error) {
	if d.Kind == ledger.DueSending || d.Kind == ledger.DueDoubt {
		return true, nil
	}
	_, accepted, err := rows.Get(ledger.OpenKey(d.Account, ledger.TxID(d.ID)))
	return err == nil && !accepted, err
}

// Done takes the result of a task. It returns true where an alert must be raised that the
// scheme cannot be reached: once, until the scheme answers again.
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
