package ledger

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
	// money may have gone back otherwise (Facts.MayBeBack).
	GoalVoid
)

// Launch is an order to start a child actor.
type Launch struct {
	Tx   *Transaction // the payout's newest state
	Goal Goal
}

// Attended is the result of a due task (the command Attend): of looking after one payout
// that waits. Where Attend starts a child actor, the result comes with the child actor's
// report.
type Attended struct {
	Again   Millis // engine time at which to look at the payout again; 0: never
	Unheard bool   // the scheme could not be asked
	Open    bool   // the scheme answered, but the payout has no final status yet
	Rarely  bool   // with Unheard or Open: the task is for a special-return case's refund, which may be tried for weeks
	Public  string // with Unheard: transaction_id of the payout or refund
	Queued  bool   // the payout waits for directory capacity
	Skipped bool   // nothing was done: a child actor carries the payout, the payout may not be retried now, or it has a final status
}

// carriedAgain is how long, in ms, the scanner waits before it starts another due task for
// a payout that a child actor carries.
const carriedAgain = Millis(1000)

// attend looks after a payout, refund or case that waits: it starts a child actor, or fails the payout if
// its time limit has passed.
func (d *draft) attend(c Attend, f Facts) Decision {
	if c.Kind == DueCase {
		return d.attendCase(f)
	}
	t, now := f.Tx, d.stamp.Clock
	switch {
	case f.Carried:
		return Decision{Attended: &Attended{Again: now + carriedAgain, Queued: t.Status == StatusQueued, Skipped: true}}
	case c.Retry && (t.Status != StatusQueued || f.Inactive || now >= t.Transfer.DueAt && !d.stamp.Doubted):
		return Decision{Attended: &Attended{Queued: t.Status == StatusQueued, Skipped: true}}
	case c.Retry:
		return launch(t, GoalRetry)
	}
	switch t.Status {
	case StatusHeld, StatusSending:
		if f.MayBeBack {
			return launch(t, GoalVoid)
		}
		return launch(t, GoalResume)
	case StatusAccepted:
		if t.Kind == TxRefund {
			return d.askAboutRefund(t, f.MayBeBack)
		}
		switch orphan := t.OrphanAt(d.stamp.Reading, &d.stamp.Terms); {
		case now >= orphan:
			return launch(t, GoalVoid)
		case t.Transfer.Doubt:
			return launch(t, GoalClear)
		default:
			return Decision{Attended: &Attended{Again: orphan}}
		}
	case StatusQueued, StatusPending:
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
	case t.Status == StatusQueued:
		t = *d.fail(t, ReasonQueueTimeout)
	default:
		t = *d.fail(t, ReasonExpired)
	}
	out := d.done(&t)
	out.Attended = &Attended{}
	return out
}

// NeedsActive tells whether a command must not be carried out for an inactive account. The
// caller sets Facts.Inactive for such a command if the account is inactive; Decide then
// does nothing or refuses.
func NeedsActive(c Command) bool {
	switch c := c.(type) {
	case DecideApproval:
		return true
	case ResolveTransfer:
		return c.Result == TransferIsSending
	case Attend:
		return c.Retry
	}
	return false
}
