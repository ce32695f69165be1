package account

import (
	"fmt"
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// response is the answer or error that a caller gets, with the number of its request.
type response struct {
	number uint64
	answer ledger.Answer
	err    error
}

// caller is the asker of a request: a channel that later requests use again, and the number
// of the request. The channel has room for one response, so the sender never waits. A
// request that gives up drops its channel, and the next request takes another.
type caller struct {
	ch     chan response
	number uint64
	joined *atomic.Bool // true while the caller waits for the outcome of an earlier request under the same key
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
	default: // the request has its answer already, and only the first answer counts
	}
}

// waiter is a caller that waits for a payout's or refund's outcome.
type waiter struct {
	*caller
	join  bool // an earlier request under the same key waits too, so a 2xx answer is a replay
	other bool // the body of that earlier request was different
}

// outcome is this waiter's answer about the payout or refund.
func (w waiter) outcome(a *ledger.Answer) ledger.Answer {
	out := *a
	if w.join && out.Stored != nil {
		out.Replay, out.Mismatch = true, w.other
	}
	return out
}

// reply answers an asker once the answer is durable.
type reply struct {
	to       asker
	answer   *ledger.Answer
	attended *ledger.Attended
}

// Release implements wal.Out. A refused entry wrote nothing, so the client may try again.
func (o *reply) Release(err error) {
	if err != nil {
		o.to.failed(fmt.Errorf("%w: %w", ledger.ErrInternal, err))
		return
	}
	o.to.answered(o.answer, o.attended)
}

// dependent wraps an Out of an entry without records. The Out was decided on records that
// may not have been durable yet. If the journal has refused an entry of the account since,
// those records never existed, and the Out is refused too.
type dependent struct {
	out      wal.Out
	shell    *Shell
	refusals uint64 // value of the shell's refusals when the Out was decided
}

// Release implements wal.Out.
func (o *dependent) Release(err error) {
	if err == nil && o.shell.refusals.Load() != o.refusals {
		err = wal.ErrSequence
	}
	o.out.Release(err)
}

// outcomes answers every request that waits for one payout or refund.
type outcomes struct {
	to     []waiter
	answer *ledger.Answer
}

// Release implements wal.Out. After a refused entry the outcome is not known, so
// the requests' connections are cut instead of answered.
func (o *outcomes) Release(err error) {
	for _, w := range o.to {
		if err != nil {
			w.tell(ledger.Answer{}, ledger.ErrCut)
			continue
		}
		w.tell(w.outcome(o.answer), nil)
	}
}

// writeOut is a channel that gets an entry's result once the entry is durable or refused.
type writeOut chan<- error

// Release implements wal.Out.
func (o writeOut) Release(err error) { o <- err }

// alertOut reports an alert to the operators.
type alertOut struct {
	alerts  Alerts
	account pix.AccountID
	alert   ledger.Alert
}

// Release implements wal.Out.
func (o *alertOut) Release(err error) {
	if err == nil {
		o.alerts.Raised(o.account, o.alert)
	}
}

// eventOut hands a record to the webhooks.
type eventOut struct {
	webhooks Webhooks
	record   *ledger.Record
}

// Release implements wal.Out.
func (o *eventOut) Release(err error) {
	if err == nil {
		o.webhooks.Emitted(o.record)
	}
}
