package ledger

// Goal is what a child is started for: a child carries one payout to the scheme and
// reports what became of it.
type Goal uint8

// The goals.
const (
	// GoalPay looks the key up and submits: of a payout just held, or just approved.
	GoalPay Goal = iota
	// GoalResume is GoalPay of one that a lost process had in hand, and may have sent:
	// the child asks first, and never reports a refusal. What it is refused is accepted
	// in doubt, for GoalClear.
	GoalResume
	// GoalRetry looks the key up again, of a queued one, and no more.
	GoalRetry
	// GoalSend submits what was looked up by GoalRetry.
	GoalSend
	// GoalClear asks about one accepted in doubt, and submits it again where the scheme
	// does not know it. A refusal counts: it is the scheme's word.
	GoalClear
	// GoalVoid asks once, of one that the scheme has owed its word on for too long.
	GoalVoid
)

// Launch is a child to start.
type Launch struct {
	Tx   *Transaction // as it stands
	Goal Goal
}

// Attended is what came of looking after a payout, where its child is not on its way.
type Attended struct {
	Again   Millis // look again then; 0: no more is to be done
	Unheard bool   // the scheme could not be asked
	Open    bool   // it was heard, and its answer settles nothing
	Queued  bool   // the payout waits for directory capacity, still or again
	Skipped bool   // nothing was asked
}

// carriedAgain is when to look again at a payout whose child is on its way.
const carriedAgain = Millis(1000)

// attend starts what a waiting payout needs: a child, or the end of its waiting.
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
	return Decision{Attended: &Attended{}}
}

func launch(t *Transaction, g Goal) Decision { return Decision{Launch: []Launch{{t, g}}} }

// expire fails a payout that has waited for too long; one that has not is left as it
// is, and so is every one while the clock is doubted.
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

// NeedsActive tells commands that an inactive account does not carry out: with them,
// Facts.Inactive must say whether it is.
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
