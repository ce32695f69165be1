package simulation

import (
	"pixd/actors/pix"
)

// drawSkew returns a random error of a clock: none, seconds, hours, or up to 25 hours.
func (l *life) drawSkew() pix.Millis {
	const hour = 3_600_000
	most := [...]int{0, 50_000, 4 * hour, 13 * hour, 25 * hour}[l.rng.IntN(5)]
	return pix.Millis(l.rng.IntN(2*most+1) - most)
}

// setRight gives the engine the scheme's time if the scheme can be reached, as the engine's
// periodic calls to the scheme do. Sometimes an operator accepts engine time that is right
// but behind the journal's newest record.
func (l *life) setRight() {
	if l.clock >= l.outside.down {
		l.stated()
	}
	l.acceptDifference()
	if l.time.Behind() > 0 && l.time.Now() == l.clock && l.odds(3) {
		l.count("clock: accepted by an operator")
		l.time.Accept()
	}
}

// acceptDifference checks `pixd clock accept` while the scheme's clock is wrong and engine
// time is right: engine time is no longer doubted, and is doubted again only when the
// difference between the two clocks changes.
func (l *life) acceptDifference() {
	if !l.jumpy || l.time.Now() != l.clock || l.time.Behind() > 0 || l.clock < l.outside.down || !l.odds(4) {
		return
	}
	doubted := func() bool { l.stated(); return l.time.Doubted() }
	if l.theirs = l.drawSkew(); within(l.theirs) == doubted() {
		l.fail("the scheme's clock is %d ms ahead, the clock is doubted: %v", l.theirs, l.time.Doubted())
	}
	l.time.Accept()
	l.count("clock: a difference accepted")
	if doubted() {
		l.fail("a difference of %d ms was accepted, and is doubted", l.theirs)
	}
	was := l.theirs
	if l.theirs = l.drawSkew(); !within(l.theirs) && !within(l.theirs-was) && !doubted() {
		l.fail("a difference of %d ms is not doubted, %d were accepted", l.theirs, was)
	}
	if l.theirs = 0; doubted() {
		l.fail("the scheme agrees, and the clock is doubted")
	}
}

func within(d pix.Millis) bool { return d >= -60_000 && d <= 60_000 }
