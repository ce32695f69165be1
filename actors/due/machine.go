// Package due is the scanner of due times and of the directory's queues. It reads due rows, which
// say until which time an entity (a payout, a refund or a special-return case) waits, and queue
// rows, which say for which directory capacity a payout waits. The scanner decides when and in
// which order they are looked after, and how many at once; the account decides what to do with
// each. An entity that waits takes no memory in the scanner.
//
// Machine decides which tasks start; Scanner is its shell.
package due

import (
	"errors"
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Task names an entity that its account must look after.
type Task struct {
	Account pix.AccountID
	ID      layout.EntityID
	Seq     uint64       // sequence of a record about the entity; 0 with Retry
	Retry   bool         // directory capacity may be available again for the queued payout; false: the entity's due time has come
	Queue   layout.Queue // the queue that the payout is in; set only with Retry

	due layout.Due // the due row that the task is from; empty with Retry
}

// Kind returns the kind of the task's due row; 0 with Retry.
func (t *Task) Kind() layout.DueKind { return t.due.Kind }

// Result is the result of a task, which Accounts reports to Scanner.Done. Its fields are
// those of ledger.Attended, and an error.
type Result struct {
	Again   pix.Millis // engine time at which the task must run again; 0: it need not run again
	Unheard bool       // the scheme gave no answer
	Open    bool       // the scheme answered, but the payout or refund has no final status yet
	Rarely  bool       // with Unheard or Open: the task may be postponed for up to 30 min
	Queued  bool       // the payout still waits for directory capacity
	Skipped bool       // the account did nothing for the entity
	Public  string     // with Unheard: transaction_id of the payout or refund
	Err     error      // why the account could not carry out the task; nil: it could
}

func (r *Result) failed() bool { return r.Err != nil }

// closed tells whether the account is quarantined, so that it takes no task before the next
// start of the engine.
func (r *Result) closed() bool { return errors.Is(r.Err, ledger.ErrQuarantined) }

// Bounds limit how many tasks run at once and how much is kept in memory. Each bound is at
// least 1.
type Bounds struct {
	AtOnce   int // most tasks that run at once in one lane, tasks with Retry not counted
	Share    int // most of them that are of one account
	Look     int // most rows that one step reads with one cursor
	Remember int // most postponed tasks of one lane that are remembered, most rows whose account has its share running, and most quarantined accounts
	Probes   int // most lookups for one limit that run at once, and most in a round in which none succeeds
	Skip     int // most tries of a round that may end without a lookup and be replaced by another try
}

// DefaultBounds returns the bounds of an engine.
func DefaultBounds() Bounds {
	return Bounds{AtOnce: 80, Share: 64, Look: 20_000, Remember: 100_000, Probes: 64, Skip: 5_000}
}

// Machine decides which tasks start. It has no goroutine, no clock, and no I/O except for
// reading the rows that it is given. The times in its calls must never go back.
type Machine struct {
	bounds Bounds
	every  pix.Millis // time between two rounds of a queue
	orphan pix.Millis // time from an acceptance to the due time of its row

	resume  []cursor // cursors of the pass over all due rows at the start of the process; the first that can be read is in use
	working map[layout.EntityID]startedTask
	lanes   []*lane                // one lane for each layout.Need
	closed  map[pix.AccountID]bool // accounts that have reported that they are quarantined

	find   pix.Millis               // engine time at which to look for queues with payouts again
	limits map[pix.AccountID]*limit // see limitOf
	tries  int                      // number of tries that run, for all limits together
	order  []pix.AccountID          // limits with queues
}

// New makes the machine of a process that starts. every is the time in ms between two
// rounds of a queue; orphan is ledger.Terms.OrphanAfter.
func New(every, orphan pix.Millis, b Bounds) *Machine {
	m := &Machine{
		bounds: b, every: every, orphan: orphan, working: map[layout.EntityID]startedTask{}, closed: map[pix.AccountID]bool{}, limits: map[pix.AccountID]*limit{},
	}
	for _, need := range layout.Needs() {
		m.lanes = append(m.lanes, newLane(m, need))
	}
	for _, k := range layout.DueKinds() {
		if k.InHand() {
			m.resume = append(m.resume, newCursor(k))
		}
	}
	return m
}

// lane returns the lane whose tasks have this Need.
func (m *Machine) lane(n layout.Need) *lane {
	for _, l := range m.lanes {
		if l.need == n {
			return l
		}
	}
	panic(fmt.Sprintf("due: no lane for need %d", n))
}

// Tick returns the tasks to start now. The caller must call Done for each of them. While
// engine time is doubted, no task with layout.NeedsClock starts. Where a row cannot be read, there are the
// tasks of others beside the first such error; a damaged row is passed over.
func (m *Machine) Tick(now pix.Reading, rows layout.Rows) (tasks []Task, err error) {
	s := &step{now: now.Clock, rows: rows}
	m.resumed(s)
	for _, l := range m.lanes {
		if s.now >= l.quiet && (l.need != layout.NeedsClock || !now.Doubted) {
			l.step(s)
		}
	}
	m.runQueues(s)
	if s.unread != nil {
		err = fmt.Errorf("due: %w", s.unread)
	}
	return s.tasks, err
}

// step is the state of one call of Tick.
type step struct {
	now    pix.Millis
	rows   layout.Rows
	tasks  []Task
	unread error // the first error of a row that cannot be read or decoded; others do not wait for it
}

// note keeps the first error.
func (s *step) note(err error) {
	if s.unread == nil {
		s.unread = err
	}
}

// startedTask is a task of a due row that was started and has no result yet.
type startedTask struct {
	lane  *lane
	again bool // true: the task ran before
	tries int  // how often the task ran and changed nothing
}

// begin starts the task of a due row.
func (s *step) begin(d layout.Due, v startedTask) {
	v.lane.machine.working[d.ID] = v
	v.lane.begins(v, d.Account)
	s.tasks = append(s.tasks, Task{Account: d.Account, ID: d.ID, Seq: d.Seq, due: d})
}

// resumed starts tasks for the payouts and refunds that a child actor of the previous process may have
// carried: those that are held, sending, or accepted in doubt. It starts them even before
// their due time, so that neither a wrong clock nor a changed setting can hide such a
// one. An accepted one gets a task if it would wait for longer than from its acceptance: it was
// stamped by a clock that was ahead, and its account says when the task runs again.
func (m *Machine) resumed(s *step) {
	for at := 0; at < len(m.resume); {
		c := &m.resume[at]
		l := m.lane(c.kind.Need())
		if s.now < l.quiet || l.line.Full() {
			return
		}
		over, err := c.scan(s, pix.Latest, m.bounds.Look, func(d layout.Due) (bool, error) {
			if m.busy(d.ID) || l.parked[d.ID] || m.closed[d.Account] {
				return true, nil
			}
			if l.line.Full() {
				return false, nil
			}
			in := d.Kind == layout.DueTransfer && d.At > s.now+m.orphan // stamped by a clock that was ahead
			if !in {
				var err error
				if in, err = inHand(s.rows, d); err != nil { // the account finds out, once it can read
					s.note(err)
					in = true
				}
			}
			if in {
				return l.start(s, d, startedTask{lane: l}), nil
			}
			return true, nil
		})
		switch {
		case err != nil: // the next kind does not wait for this one
			s.note(err)
			at++
		case !over:
			return
		default:
			m.resume = slices.Delete(m.resume, at, at+1)
		}
	}
}

// busy tells whether a due row's task for the entity is running.
func (m *Machine) busy(id layout.EntityID) bool { return m.working[id].lane != nil }

// inHand tells whether a child actor of the previous process may have carried the payout or refund:
// it is sending, accepted in doubt, or held. One that is held has no open row.
func inHand(rows layout.Rows, d layout.Due) (bool, error) {
	if d.Kind == layout.DueSending || d.Kind == layout.DueDoubt {
		return true, nil
	}
	_, accepted, err := rows.Get(layout.OpenKey(d.Account, pix.TxID(d.ID)))
	return err == nil && !accepted, err
}

// Done takes the result of a task. It returns true where the alert AlertUnreachable must be
// raised, which happens once until the scheme answers again.
func (m *Machine) Done(t Task, r Result, now pix.Millis) (alert bool) {
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
	was.lane.ends(was, t.Account)
	alert = was.lane.heard(r, now)
	if r.closed() && m.closed[t.Account] {
		return alert
	}
	was.lane.done(t, r, was.tries, now)
	return alert
}
