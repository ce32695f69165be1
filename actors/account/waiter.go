package account

import (
	"fmt"
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/wal"
)

// response is what a caller gets. It carries the number of the request it answers.
type response struct {
	number uint64
	answer ledger.Answer
	err    error
}

// caller is who waits for a reply: a channel that is used again and again, and
// the number of the request. The channel holds one reply, so a sender never
// waits; a caller that gives up drops the channel and takes another.
type caller struct {
	ch     chan response
	number uint64
	joined *atomic.Bool // set when the caller waits for another request's work
}

func (c *caller) answered(a *ledger.Answer, _ *ledger.Attended) { c.tell(*a, nil) }
func (c *caller) failed(err error)                              { c.tell(ledger.Answer{}, err) }
func (c *caller) keeps() bool                                   { return false }

func (c *caller) tell(a ledger.Answer, err error) {
	if c.ch == nil {
		return
	}
	select {
	case c.ch <- response{c.number, a, err}:
	default: // told already; whoever listens has the first word
	}
}

// waiter is a caller that waits for a payout's outcome.
type waiter struct {
	*caller
	join  bool // it repeats another request: a 2xx is a replay
	other bool // whose body was another
}

// outcome is what this waiter is told of the payout.
func (w waiter) outcome(a *ledger.Answer) ledger.Answer {
	out := *a
	if w.join && out.Stored != nil {
		out.Replay, out.Mismatch = true, w.other
	}
	return out
}

// reply tells who asked, once its answer is durable.
type reply struct {
	to       asker
	answer   *ledger.Answer
	attended *ledger.Attended
}

// Release implements wal.Out. A refused entry wrote nothing: whoever asked may try again.
func (o *reply) Release(err error) {
	if err != nil {
		o.to.failed(fmt.Errorf("%w: %w", ledger.ErrInternal, err))
		return
	}
	o.to.answered(o.answer, o.attended)
}

// dependent is an Out in an entry without records. What it stands for was decided on
// what may have been on its way to the disk: where an entry of the account was refused
// since, that never was there.
type dependent struct {
	out      wal.Out
	shell    *Shell
	refusals uint64 // that there were when it was decided
}

// Release implements wal.Out.
func (o *dependent) Release(err error) {
	if err == nil && o.shell.refusals.Load() != o.refusals {
		err = wal.ErrSequence
	}
	o.out.Release(err)
}

// outcomes tells everyone who waits for one payout.
type outcomes struct {
	to     []waiter
	answer *ledger.Answer
}

// Release implements wal.Out. A refused entry leaves the outcome open: the
// connection is cut rather than answered.
func (o *outcomes) Release(err error) {
	for _, w := range o.to {
		if err != nil {
			w.tell(ledger.Answer{}, ledger.ErrCut)
			continue
		}
		w.tell(w.outcome(o.answer), nil)
	}
}

// written tells that an entry is durable.
type written chan<- error

// Release implements wal.Out.
func (o written) Release(err error) { o <- err }

// raised tells the operators of an alert.
type raised struct {
	alerts  Alerts
	account ledger.AccountID
	alert   ledger.Alert
}

// Release implements wal.Out.
func (o *raised) Release(err error) {
	if err == nil {
		o.alerts.Raised(o.account, o.alert)
	}
}
