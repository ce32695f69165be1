package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Goal is the task of a child actor, which carries one payout or refund to the scheme and
// reports the result to the account. Of a refund no key is looked up.
type Goal uint8

// The goals of a child actor.
const (
	// GoalPay looks the recipient's key up and submits a payout that was just held or just
	// approved.
	GoalPay Goal = iota
	// GoalResume goes on with a payout whose child actor was lost, and which that child
	// actor may have submitted. The new child actor asks the scheme first, and never
	// reports a refusal. If the scheme refuses the payout now, the child actor reports it
	// as accepted in doubt, and GoalClear follows later.
	GoalResume
	// GoalRetry looks the recipient's key of a queued payout up again, and submits nothing.
	GoalRetry
	// GoalSend submits a queued payout after GoalRetry has looked its key up.
	GoalSend
	// GoalClear asks the scheme about a transfer that is accepted in doubt, or about a refund
	// without an outcome, and submits it again where the scheme does not know it. A refusal
	// of this submit is final, because it is the scheme's own answer.
	GoalClear
	// GoalVoid asks the scheme once about a transfer that must not be sent again: an accepted
	// payout of which it has reported no outcome for Terms.OrphanAfter, or a refund whose
	// money may have gone back otherwise (see mayBeBack).
	GoalVoid
	// GoalFind asks the scheme once about a payout from before a restore that it may not know: that
	// one must not be sent again, because it may have failed since, and its merchant may have
	// requested another one. It is voided where the scheme does not know it.
	GoalFind
)

// goOnWith is the goal with which a transfer goes on whose child actor was lost. mayBeBack: it is a refund
// that must not be sent again.
func (t *Terms) goOnWith(x *Transaction, mayBeBack bool) Goal {
	switch {
	case mayBeBack:
		return GoalVoid
	case x.Kind == pix.TxPayout && t.sentBefore(x):
		return GoalFind
	}
	return GoalResume
}

// restoredSince tells whether a restored journal was taken into use since a payout or refund was requested.
func (t *Terms) restoredSince(x *Transaction) bool { return x.ID.Time() <= t.RestoredAt }

// sentBefore tells whether a payout that is on its way may have been sent before a restore, and may have
// failed since. One that waited for capacity or approval and went on after the restore is on its way for the
// first time: the scheme has told of no other.
func (t *Terms) sentBefore(x *Transaction) bool {
	waited := x.Payout.QueueEnds != 0 || x.Payout.Decision != 0
	since := max(x.Transfer.AcceptedAt, x.Payout.Released) > t.RestoredAt
	return t.restoredSince(x) && !(waited && since)
}

// Launch is an order to start a child actor.
type Launch struct {
	Tx   *Transaction // the payout's newest state
	Goal Goal
}

// Attended is the result of a due task (the command Attend): of looking after one payout
// that waits. Where Attend starts a child actor, the result comes with the child actor's
// report.
type Attended struct {
	Again   pix.Millis // engine time at which to look at the payout again; 0: never
	Unheard bool       // the scheme could not be asked
	Open    bool       // the scheme answered, but the payout has no final status yet
	Rarely  bool       // with Unheard or Open: the task is for a special-return case's refund, which may be tried for weeks
	Public  string     // with Unheard: transaction_id of the payout or refund
	Queued  bool       // the payout waits for directory capacity
	Skipped bool       // nothing was done: a child actor carries the payout, the payout may not be retried now, or it has a final status
}

// carriedAgain is how long, in ms, the scanner waits before it starts another due task for
// a payout that a child actor carries.
const carriedAgain = pix.Millis(1000)

// decide looks after a payout or refund that waits: it starts a child actor, or fails the payout if
// its time limit has passed.
func (c *dueTransfer) decide(d *draft) Decision {
	t, now := c.tx, d.stamp.Clock
	switch {
	case c.carried:
		return Decision{Attended: &Attended{Again: now + carriedAgain, Queued: t.Status == pix.StatusQueued, Skipped: true}}
	case c.Retry && d.stamp.Terms.Holds(t):
		return Decision{Attended: &Attended{Queued: t.Status == pix.StatusQueued, Skipped: true}}
	case d.stamp.Terms.mayBePaid(t):
		return Decision{Attended: &Attended{Again: max(t.Transfer.DueAt, now) + hour}}
	case c.Retry && (t.Status != pix.StatusQueued || d.stamp.Inactive || now >= t.Transfer.DueAt && !d.stamp.Doubted):
		return Decision{Attended: &Attended{Queued: t.Status == pix.StatusQueued, Skipped: true}}
	case c.Retry:
		return launch(t, GoalRetry)
	}
	switch t.Status {
	case pix.StatusHeld, pix.StatusSending:
		return launch(t, d.stamp.Terms.goOnWith(t, c.mayBeBack))
	case pix.StatusAccepted:
		if t.Kind == pix.TxRefund {
			return d.askAboutRefund(t, c.mayBeBack)
		}
		switch orphan := t.OrphanAt(d.stamp.Reading, &d.stamp.Terms); {
		case t.Transfer.Doubt && d.stamp.Terms.sentBefore(t):
			return launch(t, GoalFind)
		case now >= orphan:
			return launch(t, GoalVoid)
		case t.Transfer.Doubt:
			return launch(t, GoalClear)
		default:
			return Decision{Attended: &Attended{Again: orphan}}
		}
	case pix.StatusQueued, pix.StatusPending:
		return d.expire(*t)
	}
	return Decision{Attended: &Attended{Skipped: true}} // the payout has a final status already
}

// askAboutRefund asks the scheme about an accepted refund whose due time has come, or which
// is in doubt. mayBeBack: it must not be sent again.
func (d *draft) askAboutRefund(t *Transaction, mayBeBack bool) Decision {
	if at := t.askAt(d.stamp.Reading, &d.stamp.Terms); d.stamp.Clock < at && !t.Transfer.Doubt {
		return Decision{Attended: &Attended{Again: at}}
	}
	if mayBeBack {
		return launch(t, GoalVoid)
	}
	return launch(t, GoalClear)
}

func launch(t *Transaction, g Goal) Decision { return Decision{Launch: []Launch{{t, g}}} }

// expire fails a payout that has reached its time limit. Before that, and while engine time
// is doubted, the payout stays as it is.
func (d *draft) expire(t Transaction) Decision {
	switch {
	case d.stamp.Clock < t.Transfer.DueAt:
		return Decision{Attended: &Attended{Again: t.Transfer.DueAt}}
	case d.stamp.Doubted:
		return Decision{Attended: &Attended{}}
	case t.Status == pix.StatusQueued:
		t = *d.fail(t, ReasonQueueTimeout)
	default:
		t = *d.fail(t, ReasonExpired)
	}
	out := d.done(&t)
	out.Attended = &Attended{}
	return out
}

// Attend is the command of a due task: look after one payout, refund or special-return case
// that waits.
type Attend struct {
	Kind layout.DueKind // kind of the due row that the task is from; 0 with Retry
	ID   layout.EntityID
	Seq  uint64 // sequence of a record about the payout or refund; 0: the merchant can see it, and its item row leads to the record
	// Retry is true where directory capacity may be available again for a queued payout. It
	// is false where the payout's due time has come, or its child actor was lost in a
	// crash.
	Retry bool
}

// dueTransfer is the payout or refund of a due task, with what the decision about it needs.
type dueTransfer struct {
	Attend
	tx        *Transaction
	carried   bool // a child actor carries it
	mayBeBack bool // of a refund: its money may have gone back by another one, so that it must not be sent again
}

func (c Attend) traits() Traits { return Traits{NeedsActive: c.Retry} }

// gather reads the case, or the payout or refund to look after: first among those in flight or visible
// to the merchant, else from the record that the due row names.
func (c Attend) gather(g *gathering) (decider, error) {
	if c.Kind == layout.DueCase {
		return g.gatherDueCase(pix.CaseID(c.ID))
	}
	id := pix.TxID(c.ID)
	t, err := g.transfer(id, "")
	if err == nil && t == nil {
		if c.Seq == 0 {
			return nil, ErrUnknownTransfer
		}
		t, err = g.state(id, c.Seq)
	}
	if err != nil {
		return nil, err
	}
	f := &dueTransfer{Attend: c, tx: t, carried: g.Carried(id) != nil}
	g.stakes.released = t.Gross()
	if t.Kind == pix.TxRefund && t.Status.InFlight() {
		f.mayBeBack, err = g.mayBeBack(t)
	}
	return f, err
}
