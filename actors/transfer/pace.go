package transfer

import (
	"context"
	"sync"
	"time"

	"pixd/actors/fair"
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

	mu sync.Mutex

	// line has the jobs that wait, as channels that are closed when the job may ask. Accounts take
	// turns, so that where few may ask, one account's many are not in another's way. No places are
	// counted in it.
	line fair.Line[pix.AccountID, chan struct{}]

	ticking bool
	down    bool          // no call was answered since one failed
	probing bool          // while it is down: a job was let ask, and its call has not ended
	wait    time.Duration // while it is down: the time between two probes
	probe   time.Duration // while it is down: when the next job may ask
	rate    int           // how many jobs may ask in the next tick; 0: all
}

// paceBounds are the times and rates of a pace.
type paceBounds struct {
	tick time.Duration // how long a job in doubt waits at least
	most time.Duration // longest time between two probes
	full int           // at this many jobs in a tick, all may ask
}

// newPace makes a pace of which no job waits; now is NewLanes's.
func newPace(limits paceBounds, now func() time.Duration) *pace {
	return &pace{limits: limits, now: now, line: fair.NewLine[pix.AccountID, chan struct{}](1, 1)}
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
	place := p.line.Add(account, mine)
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
		p.line.Remove(place)
		return false
	}
}

// ticked lets the jobs of one tick ask.
func (p *pace) ticked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.line.Waiting()
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
	for ; n > 0 && p.line.Waiting() > 0; n-- {
		_, job, _ := p.line.Next()
		close(job)
	}
	if p.ticking = p.line.Waiting() > 0; p.ticking {
		time.AfterFunc(p.limits.tick, p.ticked)
	}
}

// state returns how many jobs wait, and whether the scheme is down.
func (p *pace) state() (waiting int, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line.Waiting(), p.down
}
