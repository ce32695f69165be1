package account

import (
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/wal"
)

// reply is what a caller gets. It carries the number of the request it answers.
type reply struct {
	number uint64
	answer ledger.Answer
	err    error
}

// caller is who waits for a reply: a channel that is used again and again, and
// the number of the request. The channel holds one reply, so a sender never
// waits; a caller that gives up drops the channel and takes another.
type caller struct {
	ch     chan reply
	number uint64
	joined *atomic.Bool // set when the caller waits for another request's work
}

func (c caller) tell(a ledger.Answer, err error) {
	if c.ch == nil {
		return
	}
	select {
	case c.ch <- reply{c.number, a, err}:
	default: // told already; whoever listens has the first word
	}
}

// waiter is a caller that waits for a payout's outcome.
type waiter struct {
	caller
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

// answered tells one caller, once its answer is durable.
type answered struct {
	to     caller
	answer *ledger.Answer
}

// Release implements wal.Out. A refused entry wrote nothing: the caller may
// try again.
func (o *answered) Release(err error) {
	if err != nil {
		o.to.tell(ledger.Answer{}, ledger.ErrInternal)
		return
	}
	o.to.tell(*o.answer, nil)
}

// dependent is an Out in an entry without records. What it stands for was decided on
// what may have been on its way to the disk: where an entry of the account was refused
// since, that never was there.
type dependent struct {
	out      wal.Out
	shell    *shell
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

// acknowledged tells the scheme's feed that a notice has had its effect.
type acknowledged struct{ done func(error) }

// Release implements wal.Out.
func (o acknowledged) Release(err error) { o.done(err) }
