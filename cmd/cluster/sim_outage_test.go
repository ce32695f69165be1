package cluster

import (
	"time"

	"pixd/wal/waltest"
)

// outage is a fault that lasts.
type outage int

const (
	outageCut outage = iota
	outageHold
	outageMute
	outageDeaf
	outageSlow
	outageLate
	outages
)

// set begins an outage, or ends it.
func (b *box) set(o outage, is bool) {
	switch o {
	case outageCut:
		b.net.Cut(is)
		b.net.cut.Store(is)
	case outageHold:
		b.net.Hold(is)
	case outageMute:
		b.net.mute.Store(is)
	case outageDeaf:
		b.net.deaf.Store(is)
	case outageSlow:
		slow := 2 * time.Millisecond
		if is {
			slow = time.Duration(b.l.rng.Int64N(int64(600 * time.Millisecond)))
		}
		b.net.slow.Store(int64(slow))
	case outageLate:
		late := time.Duration(0)
		if is {
			late = time.Duration(b.l.rng.Int64N(int64(3 * time.Second)))
		}
		b.net.late.Store(int64(late))
	}
}

func (b *box) begin(o outage) {
	what := [outages]string{"cut off", "held", "mute", "deaf", "slow", "late"}[o]
	b.l.count(what)
	b.healing[o] = b.l.now() + b.l.span(4*time.Second)
	b.l.tell("%s is %s until %v", b.name, what, b.healing[o])
	b.set(o, true)
}

func (b *box) end(o outage) {
	b.healing[o] = 0
	b.set(o, false)
}

// span draws a time; short ones are as likely as long ones.
func (l *life) span(most time.Duration) time.Duration {
	d := most >> l.rng.IntN(6)
	return d/2 + time.Duration(l.rng.Int64N(int64(d)/2+1))
}

// healAll ends all outages of a machine.
func (b *box) healAll() {
	for o := range outages {
		b.end(o)
	}
	b.net.clear()
	if b.p != nil {
		b.goOn()
	} else {
		b.back = min(b.back, b.l.now())
	}
}

// goOn lets a frozen process go on.
func (b *box) goOn() {
	b.thaw = 0
	if b.p.line.isFrozen() {
		b.l.tell("%s goes on", b.p.n.self.Run)
	}
	p := b.p
	p.line.thaw()
	if p.books == nil || b.p != p || b.l.quiet {
		return
	}
	for _, c := range b.l.clients { // what was asked meanwhile
		if p.n.lease.valid() {
			c.read(p.books)
			c.look(p.books)
		}
	}
}

func (b *box) freeze() {
	b.p.line.freeze()
	b.frozeAt(b.p, nowhere)
}

// frozeAt is told that a process has been frozen.
func (b *box) frozeAt(p *process, at gate) {
	if b.p != p || b.thaw != 0 {
		return
	}
	what := "frozen"
	if at != nowhere {
		what += " " + gateNames[at]
	}
	b.l.count(what)
	b.thaw = b.l.now() + b.l.span(5*time.Second)
	if !b.l.outages {
		b.thaw = b.l.now()
	}
	b.l.tell("%s is %s until %v", p.n.self.Run, what, b.thaw)
}

// strike lets something bad happen, mostly to the owner.
func (l *life) strike() {
	l.outage = l.now() + time.Duration(l.rng.Int64N(int64(500*time.Millisecond)))
	b := l.boxes[l.rng.IntN(len(l.boxes))]
	if l.rng.IntN(2) == 0 {
		for _, other := range l.boxes {
			if other.p != nil && other.p.books != nil {
				b = other
			}
		}
	}
	switch n := l.rng.IntN(30); {
	case n < 8:
		b.net.next(call(l.rng.IntN(int(calls))), l.faults()...)
	case n < 13:
		b.begin(outage(l.rng.IntN(int(outages))))
	case n < 20:
		if l.tape.Arrive() > 0 {
			l.count("late calls arrive")
		}
	case b.p == nil || b.thaw != 0:
	case n < 23:
		b.freeze()
	case n < 27:
		b.p.line.mu.Lock()
		b.p.line.stopAt = gate(1 + l.rng.IntN(int(gates)-1))
		b.p.line.mu.Unlock()
	case n < 28:
		if lose := l.rng.IntN(2) == 0; lose {
			l.count("crash that loses data")
			l.tell("%s crashes and loses data", b.name)
			b.crash(0)
		} else {
			l.count("crash that keeps data")
			l.tell("%s crashes", b.name)
			b.crash(100)
		}
	case n < 29:
		if b.p.books != nil && b.p.n.lease.valid() {
			b.p.handOver([]string{"", l.boxes[l.rng.IntN(len(l.boxes))].name}[l.rng.IntN(2)])
		}
	}
}

func (l *life) faults() (all []waltest.Fault) {
	for range 1 + l.rng.IntN(3) {
		all = append(all, waltest.Fault(1+l.rng.IntN(4)))
	}
	return all
}
