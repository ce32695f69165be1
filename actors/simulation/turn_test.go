package simulation

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
)

// mood is how often each fault happens in a life. A value of n means one chance in n; 0 means
// never.
type mood struct {
	lost, late, doubled int // messages between engine and scheme that are lost, delayed or sent twice
	linger              int // in one turn of linger, a delayed submission reaches the scheme
	crash, fail, flip   int // crashes of the process, failures of the disk, flipped bits
	jump                int // jumps of the engine's wall clock
	steps               int
	lazy, stall         int // in one chance of lazy the journal moves; in one turn of stall it stops for up to 60 s
	limited             int // submissions that a gateway refuses
	refuse, panic       int // entries that the journal refuses, and panics in an account's code
}

// drawMood returns a random mood: most runs have some faults, few have all.
func (l *life) drawMood() mood {
	one := func(often ...int) int { return often[l.rng.IntN(len(often))] }
	return mood{
		lost: one(0, 0, 20, 6), late: one(0, 0, 0, 10, 4, 1, 1), linger: one(1, 10, 100), doubled: one(0, 8, 3),
		crash: one(0, 400, 120, 40), fail: one(0, 0, 300, 100), flip: one(0, 0, 0, 0, 0, 0, 0, 400),
		jump: one(0, 0, 0, 200, 100), steps: 200 + l.rng.IntN(400), lazy: one(1, 2, 6),
		stall: one(0, 0, 80), limited: one(0, 0, 12, 4), refuse: one(0, 0, 100, 30), panic: one(0, 0, 60, 15),
	}
}

// drawBounds returns the scanner's bounds: the engine's own, or small bounds that a life does
// reach.
func (l *life) drawBounds() due.Bounds {
	b := due.DefaultBounds()
	if l.odds(3) || l.mood.flip > 0 && l.odds(2) {
		for _, bound := range []*int{&b.AtOnce, &b.Look, &b.Remember, &b.Probes, &b.Skip} {
			*bound = [...]int{*bound, 20, 4}[l.rng.IntN(3)]
		}
	}
	return b
}

// few returns the given bound or, in a life with small bounds, sometimes a smaller one.
func (l *life) few(bound int) int {
	if l.bounds == due.DefaultBounds() {
		return bound
	}
	return [...]int{bound, 20, 4}[l.rng.IntN(3)]
}

// live is the middle part of a run, in which faults happen.
func (l *life) live() {
	for turn := range l.mood.steps {
		l.contained(l.turn)
		l.copies.after(l, turn)
		if len(l.wrong) > 0 {
			return
		}
	}
}

// contained calls f. If f panics because the process ends, contained starts the next process.
func (l *life) contained(f func()) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(powerCut); !ok {
				panic(p)
			}
			l.crash("in the middle of a call")
		}
	}()
	f()
}

// turn lets one random thing happen.
func (l *life) turn() {
	m := &l.mood
	switch {
	case l.odds(m.crash):
		l.crash("the power is cut")
		return
	case l.failing > 0:
		if l.failing--; l.failing == 0 {
			l.crash("the disk failed")
			return
		}
	case l.odds(m.fail):
		l.say("the disk fails")
		l.journal.Fail(errDisk)
		l.failing = 1 + l.rng.IntN(10)
		if l.odds(2) { // requests arrive before the engine notices the failure
			id := l.someone()
			l.chargeOf(id)
			l.ask(&request{account: id, make: func() ledger.Command { return ledger.ReadAccount{} }})
		}
	case l.odds(m.stall):
		l.count("fault: disk slow")
		l.stalled = l.clock + pix.Millis(l.rng.IntN(60_000))
	case l.odds(m.flip):
		l.flip()
		l.crash("a bit flipped")
		return
	case l.odds(m.jump):
		l.skew = l.drawSkew()
		l.say("the clock jumps")
		l.count("fault: clock jumps")
		return
	}
	l.clock += pix.Millis(l.rng.IntN(300))
	switch n := l.rng.IntN(100); {
	case n < 11:
		l.payout()
	case n < 14:
		l.refunds()
	case n < 16:
		l.charge()
	case n < 20:
		l.again()
	case n < 21:
		l.customer()
		l.complain()
	case n < 22:
		l.idle()
	case n < 24:
		l.read()
	case n < 44:
		if len(l.children) > 0 {
			l.carry(l.rng.IntN(len(l.children)))
		}
	case n < 45:
		l.meet()
	case n < 70:
		l.move()
	case n < 80:
		l.outside.tell()
	case n < 84:
		l.look()
	case n < 86:
		if l.odds(m.linger) {
			l.outside.arrive()
		}
	case n < 89:
		l.post()
	case n < 91:
		l.decide()
	case n < 93:
		l.govern()
		l.fill()
	case n < 94:
		l.passivate()
	case n < 95:
		l.hangUp()
		switch l.rng.IntN(8) {
		case 0:
			l.open()
		case 1, 2:
			l.setRight()
		}
	case n < 96:
		l.outside.down = l.clock + pix.Millis([...]int{20_000, 20_000, 4_000_000}[l.rng.IntN(3)])*pix.Millis(min(m.lost, 1))
	case n < 97:
		l.meet()
	case n < 98:
		l.administer()
		if l.odds(4) {
			l.creditOtherwise()
		}
	default:
		l.clock += pix.Millis([...]int{1_000, 3_000, 60_000, 1_800_000, 7_200_000, 43_200_000}[min(l.rng.IntN(6), l.rng.IntN(6))])
	}
	l.webhooks()
	l.hear()
	l.apart(l.turnKeys)
}

// move lets the journal do one step of its work, or none.
func (l *life) move() {
	commit, sync := l.journal.Waiting()
	switch {
	case !l.odds(l.mood.lazy) || l.clock < l.stalled:
	case commit:
		l.journal.Commit(l.rng.IntN(6))
	case sync:
		l.journal.Sync()
	}
}

// post delivers the oldest letter.
func (l *life) post() bool {
	if len(l.mail) == 0 {
		return false
	}
	m := l.mail[0]
	l.mail = l.mail[1:]
	m.put(l.account(m.to))
	return true
}

func (l *life) read() {
	if l.odds(2) {
		l.readList()
		return
	}
	l.ask(&request{account: l.someone(), make: func() ledger.Command { return ledger.ReadAccount{} }})
}

// customer has a customer pay one of the accounts, sometimes for one of its charges.
func (l *life) customer() {
	id, txid := l.someone(), ""
	for i := range l.answers {
		if a := &l.answers[i]; a.tx.Kind == pix.TxCharge && a.account == id && l.odds(3) {
			txid = a.tx.Public()
		}
	}
	amount := pix.Amount(5_000)
	if l.odds(4) {
		amount -= 1 + 4_997*pix.Amount(l.rng.IntN(2)) // another amount than the charge's, and perhaps less than the fee
	}
	if l.odds(3) {
		amount *= 4
	}
	l.outside.pay(id, amount, txid)
}

func (l *life) hangUp() {
	if len(l.asked) > 0 {
		i := l.rng.IntN(len(l.asked))
		l.asked = append(l.asked[:i], l.asked[i+1:]...)
	}
}

// heal ends all faults.
func (l *life) heal() {
	m := &l.mood
	m.lost, m.late, m.doubled, m.crash, m.fail, m.flip, m.jump, m.lazy = 0, 0, 0, 0, 0, 0, 0, 1
	m.limited, m.stall, m.refuse, m.panic = 0, 0, 0, 0
	l.outside.down, l.skew, l.stalled = 0, 0, 0
	if l.failing > 0 {
		l.failing = 0
		l.crash("the disk failed")
	}
	if l.time.Now() != l.clock {
		l.crash("the clock was set right")
	}
	l.fill()
	if err := l.outside.sim.SetCapacity(ctx, sim.Available); err != nil {
		l.fail("capacity: %v", err)
	}
	l.healed = l.clock
	for l.odds(m.linger) && l.outside.lates() > 0 {
		l.outside.arrive()
	}
	l.repeat()
}

// repeat sends each request again whose key must still have its kept answer.
func (l *life) repeat() {
	for key, k := range sorted(l.kept) {
		if l.answered(key) {
			l.ask(k.request)
			l.settle()
		}
	}
}

// rest runs until no work is left. Where nothing else happens, simulated time goes forward.
func (l *life) rest() {
	steps := []pix.Millis{200, 1_000, 3_000, 30_000, 60_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 43_200_000, 864_000_000}
	for idle, rounds := 0, 0; idle < 20 || rounds < 6*len(steps)+20; rounds++ {
		busy := false
		if rounds == 400 {
			if len(l.flipped) == 0 {
				l.fail("no rest: %d children, %d letters", len(l.children), len(l.mail))
			}
			return
		}
		for len(l.children) > 0 {
			l.carry(0)
			busy = true
		}
		l.settle()
		for n := 0; n < 1_000 && (l.post() || l.outside.tell()); n++ {
			busy = true
			l.settle()
		}
		for reference, done := range sorted(l.credited) {
			if !done {
				l.creditAgain(reference)
			}
		}
		l.stated()
		l.apart(l.tellKeys)
		l.apart(l.copyArrives)
		l.look()
		l.settle()
		busy = l.dispatchAll() || busy
		if l.odds(10) {
			l.outside.arrive() // perhaps a delayed submission arrives after its payout was voided
		}
		for rounds >= 100 && l.outside.lates() > 0 {
			l.outside.arrive()
		}
		if busy || l.outside.lates() > 0 || len(l.children) > 0 || len(l.mail) > 0 {
			idle = 0
		} else {
			idle++
		}
		step := steps[min(rounds/6, len(steps)-1)]
		for step > schemeTimeout && len(l.children) > 0 {
			l.carry(0) // in time: a child that is asked only after so long a step never submits anything
			busy = true
			l.settle()
		}
		l.clock += step
		if len(l.wrong) > 0 {
			return
		}
	}
}
