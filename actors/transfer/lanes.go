package transfer

import (
	"time"

	"pixd/actors/fair"
	"pixd/actors/pix"
)

// Lanes bound the jobs that are at work at a scheme in another process, so that no account's
// jobs keep another's waiting: each lane has its places, of which an account has at most a
// share. A job that waits for a place has not begun: its own time does not run.
type Lanes struct {
	payments  *fair.Pool[pix.AccountID] // jobs that are started for a request, a merchant's or an operator's
	questions *fair.Pool[pix.AccountID] // jobs of due tasks: they ask what became of a transfer, or try a queued one again
	pace      *pace
	now       func() time.Duration
}

// The places of the lanes, each of which makes at most one call to the scheme at a time. An account
// alone has as many as keep a scheme busy that takes 100 ms for a call, at 1,500 payouts a
// second with two calls each; what stays is for the others. The scanner of due tasks starts
// fewer than questionPlaces at once (due.DefaultBounds).
const (
	paymentPlaces  = 320
	paymentShare   = 256
	questionPlaces = 128
	questionShare  = 96

	waiting = 4096 // most jobs of one account that wait in a lane: as many requests as an account has in work
)

// Calls is the most calls that all lanes make at once.
const Calls = paymentPlaces + questionPlaces

// NewLanes makes lanes in which no job is at work. now is the time since any one moment, by a
// clock that does not jump.
func NewLanes(now func() time.Duration) *Lanes {
	return &Lanes{
		now: now, pace: newPace(paceLimits, now),
		payments:  fair.New[pix.AccountID](fair.Bounds{Places: paymentPlaces, Share: paymentShare, Queue: waiting}),
		questions: fair.New[pix.AccountID](fair.Bounds{Places: questionPlaces, Share: questionShare, Queue: waiting}),
	}
}

// of returns the lane of a job.
func (l *Lanes) of(j *Job) *fair.Pool[pix.AccountID] {
	if j.Task != nil {
		return l.questions
	}
	return l.payments
}

// LaneCounts are the figures of the lanes.
type LaneCounts struct {
	Payments, Questions fair.Counts
	Repeats             int  // jobs in doubt that wait until they may ask the scheme again
	Down                bool // no call was answered since one failed
}

// Counts returns the figures of this moment.
func (l *Lanes) Counts() LaneCounts {
	c := LaneCounts{Payments: l.payments.Counts(), Questions: l.questions.Counts()}
	c.Repeats, c.Down = l.pace.state()
	return c
}
