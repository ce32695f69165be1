package webhook

import "pixd/actors/ledger"

// patience is how long, in ms, an attempt may run before it counts as slow.
const patience = 1000

// pools count the attempts that run. Those for subscriptions whose last attempt did not fail
// have a pool of their own, so that receivers that fail cannot keep the others from their
// events. An attempt that turns out to be slow moves to the pool of those that fail: receivers
// that never answer fill the good pool only for the time patience, and not until each attempt
// is given up.
type pools struct {
	good, bad int
	begun     []*attempt // attempts that began in the good pool within the time patience, the oldest first
}

// attempt is an attempt that was begun.
type attempt struct {
	at        ledger.Millis
	bad, over bool
}

// full tells whether no more attempts may begin in a pool. limit is the most of each pool for
// the present; 0: only the bounds count.
func (p *pools) full(bad bool, b *Bounds, limit int) bool {
	running, most := p.good, b.Good
	if bad {
		running, most = p.bad, b.Bad
	}
	if limit > 0 {
		most = min(most, limit)
	}
	return running >= most
}

// begin counts an attempt.
func (p *pools) begin(bad bool, now ledger.Millis) *attempt {
	a := &attempt{at: now, bad: bad}
	if bad {
		p.bad++
	} else {
		p.good++
		p.begun = append(p.begun, a)
	}
	return a
}

// end stops counting an attempt.
func (p *pools) end(a *attempt) {
	a.over = true
	if a.bad {
		p.bad--
	} else {
		p.good--
	}
}

// tick moves attempts that have become slow.
func (p *pools) tick(now ledger.Millis) {
	for len(p.begun) > 0 && (p.begun[0].over || p.begun[0].at+patience <= now) {
		if a := p.begun[0]; !a.over {
			a.bad = true
			p.good--
			p.bad++
		}
		p.begun = p.begun[1:]
	}
}
