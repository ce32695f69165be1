package due

import (
	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// A lane runs the tasks of all kinds of due rows with the same layout.Need, and limits how
// many run at once. Because each Need has its own lane, a scheme that does not answer does
// not delay tasks that only need the clock.
//
// Three cursors read the due rows of each kind. The front cursor follows the clock and
// never goes back, so that tasks which change nothing cannot keep it from later
// rows. The trail cursor follows ten seconds later and finds rows that were not on disk yet
// when the front cursor passed. The back cursor begins again every minute and finds rows
// for which the list of postponed tasks (putOff) had no room.
type lane struct {
	machine *Machine
	need    layout.Need
	kinds   []*kind
	first   int // index in kinds of the kind whose rows the next step reads first
	fresh   int // number of running tasks that run for the first time

	// line counts the running tasks. Rows whose account has as many of them as its share are parked
	// in it: accounts take turns, and the rows of one account keep their order.
	line   fair.Line[pix.AccountID, parkedRow]
	parked map[layout.EntityID]bool // of the rows in line

	later   putOff
	tokens  pix.Millis // allowance for tasks that will probably change nothing, in thousandths of a task
	counted pix.Millis // engine time at which tokens were last added
	back    pix.Millis // engine time at which the back cursors begin again

	unheard int        // number of tasks in a row that could not reach the scheme
	quiet   pix.Millis // engine time before which no task of the lane starts
	silent  bool       // the alert AlertUnreachable was raised, and the scheme has not answered since
}

type kind struct{ front, trail, back cursor }

// parkedRow is a parked row, and how its task starts.
type parkedRow struct {
	due layout.Due
	as  startedTask
}

const (
	lookEvery  = pix.Millis(200)
	trailAfter = pix.Millis(10_000)
	backEvery  = pix.Millis(60_000)

	unreadAgain = pix.Millis(1_000) // after which a postponed task runs whose row could not be read
)

// The rate of tasks that will probably change nothing: tasks that changed nothing several
// times before, and tasks of rows that a back cursor found. A hundred such tasks start in a
// second, which takes a hundredth of a CPU core. A task that ends the waiting allows
// two more of them.
const (
	token        = pix.Millis(1000)
	tokensSecond = pix.Millis(100)
	tokensMost   = 64 * token
)

// After three tasks in a row that could not reach the scheme, no task of the lane starts
// for 5 s.
const (
	quietFor   = pix.Millis(5_000)
	quietAfter = 3
)

func newLane(m *Machine, need layout.Need) *lane {
	l := &lane{
		machine: m, need: need, line: fair.NewLine[pix.AccountID, parkedRow](m.bounds.AtOnce, m.bounds.Share),
		parked: map[layout.EntityID]bool{}, later: newPutOff(m.bounds.Remember),
	}
	for _, k := range layout.DueKinds() {
		if k.Need() == need {
			l.kinds = append(l.kinds, &kind{newCursor(k), newCursor(k), newCursor(k)})
		}
	}
	return l
}

// heard keeps count of the tasks in a row that could not reach the scheme. It returns true
// where the alert AlertUnreachable must be raised: at the first such task after an answer.
func (l *lane) heard(r Result, now pix.Millis) (alert bool) {
	switch {
	case r.Unheard:
		if l.unheard++; l.unheard >= quietAfter {
			l.quiet = now + quietFor
		}
		alert, l.silent = !l.silent, true
	case r.Open || !r.failed() && !r.Skipped && r.Again == 0:
		l.unheard, l.silent = 0, false
	}
	return alert
}

// roomForFresh tells whether a task may start that has not run before. While postponed
// tasks are due, a quarter of Bounds.AtOnce is reserved for them.
func (l *lane) roomForFresh(now pix.Millis) bool {
	most := l.machine.bounds.AtOnce
	return !l.line.Full() && (l.fresh < most-most/4 || !l.later.hopefulDue(now))
}

// start starts the task of a row, or parks the row. False: there is no room for it.
func (l *lane) start(s *step, d layout.Due, v startedTask) bool {
	switch {
	case !l.line.Shared(d.Account):
		s.begin(d, v)
	case l.line.Waiting() < l.machine.bounds.Remember:
		l.park(parkedRow{d, v})
	default:
		return false
	}
	return true
}

func (l *lane) park(w parkedRow) {
	l.parked[w.due.ID] = true
	l.line.Add(w.due.Account, w)
}

// startParked starts the tasks of parked rows, in turn.
func (l *lane) startParked(s *step) {
	for l.roomForFresh(s.now) {
		_, w, ok := l.line.Next()
		if !ok {
			return
		}
		delete(l.parked, w.due.ID)
		if l.machine.closed[w.due.Account] {
			continue
		}
		there, err := stands(s.rows, w.due)
		if err != nil {
			l.park(w)
			s.note(err)
			return // the next step goes on with another account
		}
		if there {
			s.begin(w.due, w.as)
		}
	}
}

// stands tells whether a due row still exists. Where it does not, the entity no longer waits and
// needs no task.
func stands(rows layout.Rows, d layout.Due) (bool, error) {
	_, there, err := rows.Get(layout.DueKey(d.Kind, d.At, d.Account, d.ID))
	return there, err
}

// begins counts a task that starts.
func (l *lane) begins(v startedTask, a pix.AccountID) {
	if l.line.Begin(a); !v.again {
		l.fresh++
	}
}

// ends stops counting a task.
func (l *lane) ends(v startedTask, a pix.AccountID) {
	if l.line.End(a); !v.again {
		l.fresh--
	}
}

// step starts due tasks: first those that the front and trail cursors find, then postponed
// tasks whose time has come, then those that the back cursors find.
func (l *lane) step(s *step) {
	l.earn(s.now)
	l.first++
	l.startParked(s)
	for i := range l.kinds {
		k := l.kinds[(l.first+i)%len(l.kinds)]
		l.look(s, &k.front, s.now)
		l.look(s, &k.trail, s.now-trailAfter)
	}
	l.putOffNow(s)
	l.lookBack(s)
}

// look moves a cursor forward over the rows whose due time is until or earlier, and starts
// their tasks.
func (l *lane) look(s *step, c *cursor, until pix.Millis) {
	if !l.roomForFresh(s.now) || !c.more && s.now < c.lookAt {
		return
	}
	over, err := c.scan(s, until, l.machine.bounds.Look, func(d layout.Due) (bool, error) {
		if l.passes(d) {
			return true, nil
		}
		if !l.roomForFresh(s.now) {
			return false, nil
		}
		return l.start(s, d, startedTask{lane: l}), nil
	})
	c.more, c.lookAt = !over, s.now+lookEvery
	s.note(err)
}

// passes tells whether a row needs no task now: its task is running or postponed, the row is
// parked, or its account is quarantined.
func (l *lane) passes(d layout.Due) bool {
	return l.machine.busy(d.ID) || l.later.has(d.ID) || l.parked[d.ID] || l.machine.closed[d.Account]
}

// lookBack starts a few tasks of rows that the other cursors have missed.
func (l *lane) lookBack(s *step) {
	if s.now >= l.back {
		l.back = s.now + backEvery
		for _, k := range l.kinds {
			if !k.back.more { // the cursor has reached the end of the due rows
				k.back = newCursor(k.back.kind)
				k.back.more = true
			}
		}
	}
	for _, k := range l.kinds {
		if !k.back.more || l.line.Full() || s.now < k.back.lookAt {
			continue
		}
		over, err := k.back.scan(s, s.now-trailAfter, l.machine.bounds.Look, func(d layout.Due) (bool, error) {
			if l.passes(d) || k.front.before(d) {
				return true, nil
			}
			if l.line.Shared(d.Account) {
				return true, nil // the next look back finds it
			}
			if l.line.Full() || !l.spend() {
				return false, nil
			}
			s.begin(d, startedTask{l, true, hopelessAfter})
			return true, nil
		})
		k.back.more, k.back.lookAt = !over, s.now+lookEvery
		s.note(err)
	}
}

// putOffNow starts the postponed tasks whose time has come.
func (l *lane) putOffNow(s *step) {
	for !l.line.Full() {
		p, ok := l.later.due(s.now, l.spend)
		if !ok {
			return
		}
		if l.machine.closed[p.due.Account] {
			continue
		}
		there, err := stands(s.rows, p.due)
		if err != nil {
			p.at = s.now + unreadAgain // behind the others
			l.later.add(p)
			s.note(err)
			continue
		}
		if there && !l.start(s, p.due, startedTask{l, true, p.tries}) {
			l.later.add(p)
			return
		}
	}
}

// earn adds the tokens for the time since earn was last called.
func (l *lane) earn(now pix.Millis) {
	l.tokens = min(tokensMost, l.tokens+(now-l.counted)*tokensSecond)
	l.counted = now
}

// spend takes one token; it returns false where there is no token left.
func (l *lane) spend() bool {
	if l.tokens < token {
		return false
	}
	l.tokens -= token
	return true
}

// How long a task is postponed: 30 s after an error; 3 s where the scheme gave no answer or
// left the payout or refund open, and twice as long after each further such result, up to 1 min. A
// refund for a special-return case, whose row came due 3 s after the first refusal, goes on
// with 6 s, up to 30 min.
const (
	failedAgain  = pix.Millis(30_000)
	unheardAgain = pix.Millis(3_000)
	unheardMost  = pix.Millis(60_000)
	rarelyMost   = pix.Millis(30 * 60_000)
)

// done takes the result of a task. tries is how often the task ran before and changed
// nothing.
func (l *lane) done(t Task, r Result, tries int, now pix.Millis) {
	switch {
	case r.failed():
		l.later.add(later{t.due, now + failedAgain, tries + 1})
	case (r.Unheard || r.Open) && r.Rarely:
		l.later.add(later{t.due, now + min(unheardAgain<<min(tries+1, 12), rarelyMost), tries + 1})
	case r.Unheard, r.Open:
		l.later.add(later{t.due, now + min(unheardAgain<<min(tries, 8), unheardMost), tries + 1})
	case r.Again != 0:
		l.later.add(later{t.due, r.Again, tries})
	default:
		l.tokens = min(tokensMost, l.tokens+2*token)
	}
}
