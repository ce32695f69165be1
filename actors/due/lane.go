package due

import "pixd/actors/ledger"

// A lane is what is due of the kinds with one need, with a bound of its own on what goes
// on at once: a silent scheme holds up nothing that ends by the clock.
//
// Every row is met by three cursors over its kind. The first goes on with the clock
// and never back, so that no number of payouts whose tasks come to nothing keeps it
// from the next one. The second follows ten seconds later: it finds what was on its
// way to the disk when the first passed. The third begins again every minute, and
// finds what the memory of those put off had no room for.
type lane struct {
	machine *Machine
	need    ledger.Need
	kinds   []*kind
	first   int // whose turn it is to be looked at first
	fresh   int // tasks under way that run for the first time
	again   int // and that were put off before
	later   putOff
	tokens  ledger.Millis // for tasks that are likely to come to nothing, in thousandths
	counted ledger.Millis // when tokens were added
	back    ledger.Millis // when the third cursors begin again

	unheard int           // tasks in a row that did not reach what they need
	quiet   ledger.Millis // until then none starts
	silent  bool          // that it cannot be reached was reported
}

type kind struct{ front, trail, back cursor }

const (
	lookEvery  = ledger.Millis(200)
	trailAfter = ledger.Millis(10_000)
	backEvery  = ledger.Millis(60_000)
)

// Of payouts whose tasks have come to nothing several times, or that are not
// remembered, a hundred tasks a second start, which is a hundredth of a core. Each
// task that does end one allows two more.
const (
	token        = ledger.Millis(1000)
	tokensSecond = ledger.Millis(100)
	tokensMost   = 64 * token
)

// After three tasks in a row that did not reach what they need, none starts for a while.
const (
	quietFor   = ledger.Millis(5_000)
	quietAfter = 3
)

func newLane(m *Machine, need ledger.Need) *lane {
	l := &lane{machine: m, need: need, later: newPutOff(m.bounds.Remember)}
	for _, k := range ledger.DueKinds() {
		if k.Need() == need {
			l.kinds = append(l.kinds, &kind{newCursor(k), newCursor(k), newCursor(k)})
		}
	}
	return l
}

// heard notes whether a task reached what it needs; true where the operators must hear
// that it cannot be reached.
func (l *lane) heard(r Result, now ledger.Millis) (alert bool) {
	switch {
	case r.Unheard:
		if l.unheard++; l.unheard >= quietAfter {
			l.quiet = now + quietFor
		}
		alert, l.silent = !l.silent, true
	case r.Open || !r.failed() && r.Again == 0:
		l.unheard, l.silent = 0, false
	}
	return alert
}

// room tells whether another task may start.
func (l *lane) room() bool { return l.fresh+l.again < l.machine.bounds.AtOnce }

// roomForFresh leaves a quarter to what was put off until now.
func (l *lane) roomForFresh(now ledger.Millis) bool {
	most := l.machine.bounds.AtOnce
	return l.room() && (l.fresh < most-most/4 || !l.later.waits(now))
}

func (l *lane) count(v started, n int) {
	if v.again {
		l.again += n
	} else {
		l.fresh += n
	}
}

// step starts what is due: first what has become due, then what was put off until
// now, then what may have been missed.
func (l *lane) step(s *step) error {
	l.earn(s.now)
	l.first++
	for i := range l.kinds {
		k := l.kinds[(l.first+i)%len(l.kinds)]
		if err := l.look(s, &k.front, s.now); err != nil {
			return err
		}
		if err := l.look(s, &k.trail, s.now-trailAfter); err != nil {
			return err
		}
	}
	if err := l.putOffNow(s); err != nil {
		return err
	}
	return l.lookBack(s)
}

// look takes a cursor on, up to an instant.
func (l *lane) look(s *step, c *cursor, until ledger.Millis) error {
	if !l.roomForFresh(s.now) || !c.more && s.now < c.lookAt {
		return nil
	}
	over, err := c.scan(s.rows, until, l.machine.bounds.Look, func(d ledger.Due) (bool, error) {
		if l.passes(d) {
			return true, nil
		}
		if !l.roomForFresh(s.now) {
			return false, nil
		}
		s.begin(d, started{lane: l})
		return true, nil
	})
	c.more, c.lookAt = !over, s.now+lookEvery
	return err
}

// passes tells a row that needs no task now: its payout is being looked after, or is
// put off, or its account is quarantined.
func (l *lane) passes(d ledger.Due) bool {
	return l.machine.busy(d.ID) || l.later.has(d.ID) || l.machine.closed[d.Account]
}

// lookBack starts the tasks that no memory has, a few at a time.
func (l *lane) lookBack(s *step) error {
	if s.now >= l.back {
		l.back = s.now + backEvery
		for _, k := range l.kinds {
			if !k.back.more { // it has come to the end
				k.back = newCursor(k.back.kind)
				k.back.more = true
			}
		}
	}
	for _, k := range l.kinds {
		if !k.back.more || !l.room() || s.now < k.back.lookAt {
			continue
		}
		over, err := k.back.scan(s.rows, s.now-trailAfter, l.machine.bounds.Look, func(d ledger.Due) (bool, error) {
			if l.passes(d) || k.front.before(d) {
				return true, nil
			}
			if !l.room() || !l.spend() {
				return false, nil
			}
			s.begin(d, started{l, true, hopelessAfter})
			return true, nil
		})
		if err != nil {
			return err
		}
		k.back.more, k.back.lookAt = !over, s.now+lookEvery
	}
	return nil
}

// putOffNow starts what was put off until now.
func (l *lane) putOffNow(s *step) error {
	for l.room() {
		p := l.later.due(s.now, l.spend)
		if p == nil {
			return nil
		}
		if l.machine.closed[p.due.Account] {
			continue
		}
		// Its row may be gone since: then its waiting has ended.
		_, there, err := s.rows.Get(ledger.DueKey(p.due.Kind, p.due.At, p.due.Account, p.due.ID))
		if err != nil {
			l.later.keep(p)
			return err
		}
		if there {
			s.begin(p.due, started{l, true, p.tries})
		}
	}
	return nil
}

// earn adds tokens for the time that has passed.
func (l *lane) earn(now ledger.Millis) {
	l.tokens = min(tokensMost, l.tokens+(now-l.counted)*tokensSecond)
	l.counted = now
}

// spend takes a token, where there is one.
func (l *lane) spend() bool {
	if l.tokens < token {
		return false
	}
	l.tokens -= token
	return true
}

// How long a task that came to nothing waits: a failed one, and one whose scheme was
// not heard or knew nothing (twice as long each time).
const (
	failedAgain  = ledger.Millis(30_000)
	unheardAgain = ledger.Millis(3_000)
	unheardMost  = ledger.Millis(60_000)
)

// done takes the result of a task.
func (l *lane) done(t Task, r Result, tries int, now ledger.Millis) {
	switch {
	case r.failed():
		l.later.add(t.due, now+failedAgain, tries+1)
	case r.Unheard, r.Open:
		l.later.add(t.due, now+min(unheardAgain<<min(tries, 8), unheardMost), tries+1)
	case r.Again != 0:
		l.later.add(t.due, r.Again, tries)
	default:
		l.tokens = min(tokensMost, l.tokens+2*token)
	}
}
