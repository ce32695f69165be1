package transfer

import (
	"context"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// placedScheme is a job on its way through the lanes. It has a place while it is at work, and none
// while it waits to ask the scheme again. Its own time runs in both, and not while it waits for
// a place.
type placedScheme struct {
	lanes  *Lanes
	scheme scheme.Scheme
	job    *Job
	ctx    context.Context    // ends with the process
	left   time.Duration      // what is left of the job's own time when it gets its next place
	most   time.Duration      // what is left of the time that it may wait for places
	within context.Context    // with a place: ends when the job's own time is over; nil: it has no place
	end    context.CancelFunc // with a place: ends within
	began  time.Duration      // with a place: when it got the place
}

// carry is Carry in a lane. timeout is the job's own time, and the longest time that it waits for
// places.
func (l *Lanes) carry(ctx context.Context, s scheme.Scheme, j *Job, timeout time.Duration) ledger.ResolveTransfer {
	p := &placedScheme{lanes: l, scheme: s, job: j, ctx: ctx, left: timeout, most: timeout}
	defer p.leave()
	m := New(*j)
	act := m.Begin()
	if j.Task != nil && l.pace.away() && !p.waits() {
		act = m.Step(Reply{Failed: true, Expired: true})
	}
	for act != Report {
		switch {
		case act == Pause:
			act = m.Step(Reply{Expired: !p.waits()})
		case p.within == nil && !p.enter():
			act = m.Step(Reply{Failed: true, Expired: true})
		default:
			act = m.Step(p.perform(m, act))
		}
	}
	return m.Outcome
}

// waits waits without a place until the job may ask the scheme again; false: its time was over
// before.
func (p *placedScheme) waits() bool {
	p.leave()
	began := p.lanes.now()
	within, cancel := context.WithTimeout(p.ctx, p.left)
	defer cancel()
	may := p.lanes.pace.again(within, p.job.Account)
	p.left -= p.lanes.now() - began
	return may
}

// enter waits for a place; false: it got none in time.
func (p *placedScheme) enter() bool {
	began := p.lanes.now()
	waits, cancel := context.WithTimeout(p.ctx, p.most)
	defer cancel()
	if p.lanes.of(p.job).Take(waits, p.job.Account) != nil {
		return false
	}
	p.began = p.lanes.now()
	p.most -= p.began - began
	p.within, p.end = context.WithTimeout(p.ctx, p.left)
	return true
}

// leave gives the place back, if the job has one.
func (p *placedScheme) leave() {
	if p.within == nil {
		return
	}
	p.end()
	p.within = nil
	p.left -= p.lanes.now() - p.began
	p.lanes.of(p.job).Give(p.job.Account)
}

// A call that ends sooner than this because the job's own time is over says nothing about the
// scheme.
const tooShort = time.Second

// perform performs one act, and notes whether the scheme has answered.
func (p *placedScheme) perform(m *Machine, act Act) Reply {
	began := p.lanes.now()
	r := Perform(p.within, p.scheme, m, act)
	switch {
	case !r.Failed:
		p.lanes.pace.answered()
	case p.ctx.Err() == nil && (!r.Expired || p.lanes.now()-began >= tooShort):
		p.lanes.pace.failed()
	}
	return r
}
