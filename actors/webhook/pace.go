package webhook

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// patience is how long, in ms, an attempt may run before it counts as slow.
const patience = 1000

// class says in which pool the attempts of a subscription begin.
type class int

// The classes. A receiver that answers late or fails must not keep the others from their
// events, so each class has a pool of its own.
const (
	good    class = iota // its last attempts were neither slow nor failed
	failing              // its last attempt failed, and was not slow
	slow                 // its last attempt took longer than patience, or takes longer now
	classes
)

var classNames = [classes]string{good: "good", failing: "failing", slow: "slow"}

// attempt is an attempt that was begun.
type attempt struct {
	at     pix.Millis
	target layout.Target
	pool   *pool // where it is counted
	over   bool

	changes uint64 // of the queue, when the attempt began
}

// class returns the class of a subscription.
func (m *Machine) class(t layout.Target) class {
	if m.slow[t] {
		return slow
	}
	if _, fails := m.bad[t]; fails {
		return failing
	}
	return good
}

// begin counts an attempt that begins in a pool.
func (m *Machine) begin(c class, t layout.Target, now pix.Millis) *attempt {
	a := &attempt{at: now, target: t, pool: m.pools[c]}
	a.pool.Begin(t.Account)
	if c != slow {
		m.begun = append(m.begun, a)
	}
	return a
}

// endAttempt stops counting an attempt.
func (m *Machine) endAttempt(a *attempt, now pix.Millis) {
	a.over = true
	a.pool.End(a.target.Account)
	m.took(a.target, now-a.at >= patience)
}

// took notes whether a subscription's newest attempt is slow.
func (m *Machine) took(t layout.Target, isSlow bool) {
	if !isSlow {
		delete(m.slow, t)
	} else if len(m.slow) < m.bounds.Remember {
		m.slow[t] = true
	}
}

// overdue moves attempts that have become slow to the pool of those. One that has no place there
// stays where it is until it gets one, so that no pool ever has more than its places.
func (m *Machine) overdue(now pix.Millis) {
	for len(m.begun) > 0 && (m.begun[0].over || m.begun[0].at+patience <= now) {
		if a := m.begun[0]; !a.over {
			m.took(a.target, true)
			m.late = append(m.late, a)
		}
		m.begun = m.begun[1:]
	}
	m.late = slices.DeleteFunc(m.late, func(a *attempt) bool { return a.over || m.move(a) })
}

// move counts an attempt among the slow ones; false where it has no place there.
func (m *Machine) move(a *attempt) bool {
	to := m.pools[slow]
	if to.Full() || to.Shared(a.target.Account) {
		return false
	}
	a.pool.End(a.target.Account)
	a.pool = to
	to.Begin(a.target.Account)
	return true
}
