package transfer

import (
	"container/list"
	"context"
	"sync"
	"time"

	"pixd/actors/pix"
)

// pace decides when jobs in doubt may ask the scheme again, all of them together. While the
// scheme answers, each job asks again after one tick. Once a call has brought no answer, one job
// at a time may ask, the first after one tick and each further one after twice the time, up to most; once
// a call is answered, one job may ask in the next tick, and in each further tick twice as many
// as in the one before.
type pace struct {
	limits paceBounds
	now    func() time.Duration // see NewLanes

	mu      sync.Mutex
	waiting int       // jobs
	lines   list.List // of *line, in the order of their accounts' turns
	of      map[pix.AccountID]*line
	ticking bool
	down    bool          // no call was answered since one failed
	probing bool          // while it is down: a job was let ask, and its call has not ended
	wait    time.Duration // while it is down: the time between two probes
	probe   time.Duration // while it is down: when the next job may ask
	rate    int           // how many jobs may ask in the next tick; 0: all
}

// line has an account's jobs that wait. Accounts take turns, so that where few may ask, one
// account's many are not in another's way.
type line struct {
	account pix.AccountID
	jobs    list.List // of chan struct{}, closed when the job may ask; who waits longest is first
	turn    *list.Element
}

// paceBounds are the times and rates of a pace.
type paceBounds struct {
	tick time.Duration // how long a job in doubt waits at least
	most time.Duration // longest time between two probes
	full int           // at this many jobs in a tick, all may ask
}

var paceLimits = paceBounds{tick: pause, most: 3200 * time.Millisecond, full: 1024}

// answered takes that a call was answered, be it with a refusal.
func (p *pace) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		p.down, p.probing, p.rate = false, false, 1
	}
}

// failed takes that a call brought no answer.
func (p *pace) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.down:
		p.down, p.wait = true, p.limits.tick
	case p.probing:
		p.wait = min(2*p.wait, p.limits.most)
	default:
		return // it was down: the call of a new request says nothing more
	}
	p.probing, p.probe = false, p.now()+p.wait
}

// away tells whether the scheme is down, so that due tasks wait before they ask.
func (p *pace) away() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

// takeProbe lets one job ask if it is time for a probe. The next one may ask after the same
// time, also where nobody hears what became of this one.
func (p *pace) takeProbe() bool {
	now := p.now()
	if now < p.probe {
		return false
	}
	p.probing, p.probe = true, now+p.wait
	return true
}

// again waits until a job of an account, which is in doubt, may ask the scheme again; false: the
// context ended first.
func (p *pace) again(ctx context.Context, account pix.AccountID) bool {
	p.mu.Lock()
	mine := make(chan struct{})
	l := p.line(account)
	place := l.jobs.PushBack(mine)
	p.waiting++
	if !p.ticking {
		p.ticking = true
		time.AfterFunc(p.limits.tick, p.ticked)
	}
	p.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-mine:
		return true
	default:
		l.jobs.Remove(place)
		p.waiting--
		p.forget(l)
		return false
	}
}

// line returns an account's line.
func (p *pace) line(account pix.AccountID) *line {
	l := p.of[account]
	if l == nil {
		if p.of == nil {
			p.of = map[pix.AccountID]*line{}
		}
		l = &line{account: account}
		l.turn = p.lines.PushBack(l)
		p.of[account] = l
	}
	return l
}

// forget drops a line in which no job waits.
func (p *pace) forget(l *line) {
	if l.jobs.Len() == 0 {
		p.lines.Remove(l.turn)
		delete(p.of, l.account)
	}
}

// let lets the job ask whose turn it is.
func (p *pace) let() {
	l := p.lines.Front().Value.(*line)
	close(l.jobs.Remove(l.jobs.Front()).(chan struct{}))
	p.waiting--
	p.lines.MoveToBack(l.turn)
	p.forget(l)
}

// ticked lets the jobs of one tick ask.
func (p *pace) ticked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.waiting
	switch {
	case p.down && p.takeProbe():
		n = 1
	case p.down:
		n = 0
	case p.rate > 0:
		n = p.rate
		if p.rate *= 2; p.rate >= p.limits.full {
			p.rate = 0
		}
	}
	for ; n > 0 && p.waiting > 0; n-- {
		p.let()
	}
	if p.ticking = p.waiting > 0; p.ticking {
		time.AfterFunc(p.limits.tick, p.ticked)
	}
}

// state returns how many jobs wait, and whether the scheme is down.
func (p *pace) state() (waiting int, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting, p.down
}
