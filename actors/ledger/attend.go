package ledger

// Goal is the task of a child. A child carries one payout to the scheme and reports the
// result.
type Goal uint8

// The goals of a child.
const (
	// GoalPay looks the key up and submits a payout that was just held or just approved.
	GoalPay Goal = iota
	// GoalResume is GoalPay for a payout whose child was lost, and which may have been
	// sent: the child asks the scheme first, and never reports a refusal. If the scheme
	// refuses the payout now, the child reports it as accepted in doubt, for GoalClear.
	GoalResume
	// GoalRetry looks the key of a queued payout up again, and submits nothing.
	GoalRetry
	// GoalSend submits a queued payout whose key GoalRetry has looked up.
	GoalSend
	// GoalClear asks about a payout that is accepted in doubt, and submits it again where
	// the scheme does not know it. A refusal then is final: it is the scheme's answer.
	GoalClear
	// GoalVoid asks once about a payout that the scheme has neither settled nor rejected
	// for too long.
	GoalVoid
)

// Launch is a child to start.
type Launch struct {
	Tx   *Transaction // the payout's newest state
	Goal Goal
}

// Attended is the result of looking after a payout, where no child was started for it.
type Attended struct {
	Again   Millis // engine time at which to look at the payout again; 0: never
	Unheard bool   // the scheme could not be asked
	Open    bool   // the scheme answered, but the payout's outcome is still open
	Queued  bool   // the payout waits for directory capacity
	Skipped bool   // nothing was done: a child carries the payout, it may not be retried now, or it has ended
}

// carriedAgain is how long to wait before looking again at a payout that a child carries.
const carriedAgain = Millis(1000)

// attend looks after a payout that waits: it starts a child, or fails the payout whose time
// limit has passed.
func (d *draft) attend(c Attend, f Facts) Decision {
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
		return launch(t, GoalResume)
	case StatusAccepted:
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
	return Decision{Attended: &Attended{Skipped: true}} // it has ended already
}

func launch(t *Transaction, g Goal) Decision { return Decision{Launch: []Launch{{t, g}}} }

// expire fails a payout that has reached its time limit. Before the limit, and while engine
// time is doubted, the payout stays as it is.
func (d *draft) expire(t Transaction) Decision {
	switch {
	case d.stamp.Clock < t.Transfer.DueAt:
		return Decision{Attended: &Attended{Again: t.Transfer.DueAt}}
	case d.stamp.Doubted:
		return Decision{Attended: &Attended{}}
	case t.Status == StatusQueued:
		t = d.fail(t, ReasonQueueTimeout)
	default:
		t = d.fail(t, ReasonExpired)
	}
	out := d.done(&t)
	out.Attended = &Attended{}
	return out
}

// NeedsActive tells whether a command is not carried out for an inactive account. For such
// a command Facts.Inactive must be set where the account is inactive.
func NeedsActive(c Command) bool {
	switch c := c.(type) {
	case DecideApproval:
		return true
	case ResolvePayout:
		return c.Result == PayoutIsSending
	case Attend:
		return c.Retry
	}
	return false
}
