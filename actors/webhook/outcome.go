package webhook

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Result is the result of an attempt.
type Result struct {
	Answer
	Began     pix.Millis    // time at which the attempt began
	Now       pix.Millis    // time at which it ended
	Took      time.Duration // how long it took
	CreatedAt pix.Millis    // time of the record that caused the event
	Since     pix.Millis    // from when the event's age counts: CreatedAt, or later where that stamp may be wrong
	Doubted   bool          // engine time is doubted: the time for attempts does not end
	Entropy   uint16        // drawn; makes the jitter
}

// Begun is the result of an attempt that begins. r is the record that causes the event; nil: it
// was not read, or cannot be.
func Begun(began pix.Reading, r *ledger.Record) Result {
	if r == nil {
		return Result{Began: began.Time, CreatedAt: began.Time, Since: began.Time}
	}
	return Result{Began: began.Time, CreatedAt: r.Time, Since: r.EventsSince(began)}
}

// End sets what the end of an attempt adds, besides the receiver's answer. ahead is the process's
// (see Ahead); drawn is random.
func (r *Result) End(began, now pix.Reading, ahead pix.Millis, drawn uint16) {
	r.Now, r.Took = now.Clock+ahead, time.Duration(now.Clock-began.Clock)*time.Millisecond
	r.Doubted, r.Entropy = now.Doubted, drawn
}

// Outcome is what follows from an attempt.
type Outcome struct {
	Ops   []wal.Op // changes of rows, to be written in one entry
	State layout.DeliveryState
	Next  layout.Pending // the delivery's new row, where State is DeliveryPending
	Stop  bool           // the receiver wants no more events: the subscription must be stopped
	Alert string         // the message of an alert that the delivery is dead; empty: none
}

// pauseAfterFailure is how long, in ms, a subscription's queue pauses after its first failure
// in a row; each further failure adds as much, up to maxPause. So a receiver that refuses
// every connection at once does not keep the engine busy.
const (
	pauseAfterFailure = 20
	maxPause          = 1000
)

// alertEvery is the least time, in ms, between two alerts of one kind about one subscription.
const alertEvery = 60 * 60 * 1000

// Done takes the result of an attempt.
func (m *Machine) Done(t Task, r Result) Outcome {
	m.endAttempt(t.attempt, r.Now)
	q := m.queue(t.Target)
	if r.delivered() {
		delete(m.bad, t.Target)
		q.wide = min(2*q.wide, m.bounds.Each)
		return t.endDelivery(r, layout.DeliveryDelivered, "")
	}
	if t.attempt.changes != q.changes { // that was the receiver before
		return t.again(r, r.Now)
	}
	q.wide = 1
	m.failed(q, r)
	if r.Status == http.StatusGone {
		o := t.endDelivery(r, layout.DeliveryDead, "the receiver answered 410")
		o.Stop = true
		return o
	}
	end := t.since(r) + m.life
	over := r.Now >= end && !r.Doubted
	if over || int(t.Tries) >= len(m.schedule) {
		why := ""
		if int(t.Tries) < len(m.schedule) {
			why = tooOld
		}
		o := t.endDelivery(r, layout.DeliveryDead, why)
		if m.may(AlertDead, t.Target, r.Now) {
			o.Alert = deadMessage(t.Subscription, t.Sequence)
		}
		return o
	}
	due := r.Now + m.wait(t, r)
	if !r.Doubted {
		due = min(due, end) // so that the last attempt is made although the jitter made the waits longer
	}
	return t.again(r, max(due, r.Now+pix.Millis(r.RetryAfter.Milliseconds())))
}

// since is the instant from which the delivery's schedule counts.
func (t *Task) since(r Result) pix.Millis {
	if t.Status != nil && t.Status.Since != 0 {
		return t.Status.Since
	}
	return r.Since
}

// delivered tells whether the receiver acknowledged the event.
func (r *Result) delivered() bool { return r.Status >= 200 && r.Status < 300 }

// failed counts a failure: the queue pauses.
func (m *Machine) failed(q *queue, r Result) {
	f, known := m.bad[q.target]
	f.row++
	pause := min(pauseAfterFailure*pix.Millis(f.row), maxPause)
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		pause = max(pause, pix.Millis(r.RetryAfter.Milliseconds()))
	}
	f.pause = max(f.pause, r.Now+pause)
	if known || len(m.bad) < m.bounds.Remember {
		m.bad[q.target] = f
	}
}

// wait is how long, in ms, the delivery waits for its next attempt: the schedule's time and up
// to 20 % more.
func (m *Machine) wait(t Task, r Result) pix.Millis {
	scheduled := m.schedule[t.Tries]
	return scheduled + scheduled/5*pix.Millis(r.Entropy)/(1<<16-1)
}

// alertAbout names a kind of alert about a subscription.
type alertAbout struct {
	kind string
	layout.Target
}

// may tells whether an alert of a kind is raised now: not where one of that kind was raised
// about the subscription within alertEvery.
func (m *Machine) may(kind string, t layout.Target, now pix.Millis) bool {
	about := alertAbout{kind, t}
	if last, raised := m.alerted[about]; raised && now < last+alertEvery {
		return false
	}
	if len(m.alerted) >= m.bounds.Remember {
		clear(m.alerted)
	}
	m.alerted[about] = now
	return true
}

func deadMessage(s *ledger.Subscription, sequence uint64) string {
	return fmt.Sprintf("the receiver of %v has not acknowledged event %d in time: the delivery is dead; of others of this webhook nothing more is said within the hour",
		s.ID, sequence)
}

// status returns the delivery's status with the attempt of the result.
func (t *Task) status(r Result) *layout.DeliveryStatus {
	s := &layout.DeliveryStatus{Record: t.Record, Event: t.Event, CreatedAt: r.CreatedAt}
	if t.Status != nil {
		*s = *t.Status
		s.Attempts = append([]layout.Attempt(nil), s.Attempts...)
	}
	s.Due, s.Why = 0, ""
	s.Add(layout.Attempt{At: r.Began, Took: pix.Millis(r.Took.Milliseconds()), Status: r.Status, Err: r.Err})
	return s
}

// endDelivery writes that no attempt follows.
func (t *Task) endDelivery(r Result, state layout.DeliveryState, why string) Outcome {
	s := t.status(r)
	s.Why = why
	return Outcome{State: state, Ops: append(t.deleteRows(), wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(t.Target, state, t.Sequence), Value: s.Encode()})}
}

// deleteRows deletes the delivery's rows as they are before the attempt.
func (t *Task) deleteRows() []wal.Op {
	ops := append(make([]wal.Op, 0, 3), wal.Op{Kind: wal.OpDelete, Key: t.Key()})
	if t.Status != nil {
		ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: layout.DeliveryKey(t.Target, layout.DeliveryPending, t.Sequence)})
	}
	return ops
}

// again writes that the next attempt is due at a time.
func (t *Task) again(r Result, due pix.Millis) Outcome {
	next := t.Pending
	next.Due = due
	if next.Tries < math.MaxUint8 { // attempts that ran while the receiver changed count too, and may be any number
		next.Tries++
	}
	s := t.status(r)
	s.Due = due
	return Outcome{State: layout.DeliveryPending, Next: next, Ops: []wal.Op{
		{Kind: wal.OpDelete, Key: t.Key()},
		{Kind: wal.OpSet, Key: next.Key(), Value: next.Value()},
		{Kind: wal.OpSet, Key: layout.DeliveryKey(t.Target, layout.DeliveryPending, t.Sequence), Value: s.Encode()},
	}}
}

// Buried returns the changes of rows that end the deliveries of a task with Bury as dead.
func (m *Machine) Buried(t Task) (ops []wal.Op) {
	for i := range t.Bury {
		one := &t.Bury[i]
		s := one.Status
		if s == nil {
			s = one.Untried()
		}
		s.Due, s.Why = 0, t.why
		ops = append(ops, one.deleteRows()...)
		ops = append(ops, wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(one.Target, layout.DeliveryDead, one.Sequence), Value: s.Encode()})
	}
	return ops
}

// Again puts a delivery back in line: its next attempt is due now, and the schedule begins
// anew. state and s are what is known of the delivery, of which no attempt may run now. The
// caller must call ResultDurable once the changes are durable.
func (m *Machine) Again(t layout.Target, sequence uint64, state layout.DeliveryState, s *layout.DeliveryStatus, now pix.Millis) (Task, Outcome) {
	q := m.queue(t)
	if f, bad := m.bad[t]; bad { // whoever asks for an attempt now does not wait for the receiver's pause to end
		f.pause = 0
		m.bad[t] = f
	}
	q.running[sequence] = now
	q.loaded = slices.DeleteFunc(q.loaded, func(p layout.Pending) bool { return p.Sequence == sequence })
	next := layout.Pending{Target: t, Due: now, Sequence: sequence, Record: s.Record, Event: s.Event}
	var ops []wal.Op
	if state == layout.DeliveryPending {
		old := next
		old.Due = s.Due
		ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: old.Key()})
	} else {
		ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: layout.DeliveryKey(t, state, sequence)})
	}
	again := *s
	again.Due, again.Why, again.Since = now, "", now
	if m.held[t] > sequence {
		m.held[t] = sequence
	}
	ops = append(ops, wal.Op{Kind: wal.OpSet, Key: next.Key(), Value: next.Value()},
		wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(t, layout.DeliveryPending, sequence), Value: again.Encode()})
	return Task{Pending: next}, Outcome{State: layout.DeliveryPending, Next: next, Ops: ops}
}

// attempts tells whether an attempt of a delivery runs now, or its result is not durable yet.
func (m *Machine) attempts(t layout.Target, sequence uint64) bool {
	q := m.queues[t]
	return q != nil && q.running[sequence] != 0
}
