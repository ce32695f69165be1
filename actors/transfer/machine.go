// Package transfer carries one payout or refund to the scheme and reports its result. A child
// actor does this. It decides nothing by itself: its job is journaled before it starts, the
// account decides on its report and journals the decision, and where a child actor is lost,
// a new one is started from the transfer's due row.
//
// Machine decides the next step; Carry is its shell.
package transfer

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Job is a payout or refund to carry to the scheme, and the goal to reach. A refund needs no
// lookup: the scheme knows the payer of the payment that it gives back.
type Job struct {
	Account pix.AccountID
	Tx      *ledger.Transaction // the transfer's state when the child actor was started; nobody changes it
	Goal    ledger.Goal
	Task    *due.Task // the due task that the child actor is started for; nil: it is started for a request
	// Refuses is the account's rule against payouts to companies, as it was when the job
	// was made; nil: the account has no such rule. It gets the document of the owner that
	// the directory returns for the key, and returns true where a payout to that document
	// is forbidden.
	Refuses func(document string) bool
}

// Act is the next thing that the machine's caller must do.
type Act uint8

// The acts of a machine.
const (
	Lookup Act = iota + 1
	Submit
	Ask
	Pause  // wait for the duration pause, then call Step again
	Report // report Machine.Outcome and stop
)

// Machine is the state of one job.
type Machine struct {
	Outcome ledger.ResolveTransfer // the result to report, complete once Step has returned Report

	job   Job
	last  Act
	doubt bool // true: a submit, in this job or before, may have reached the scheme
	sent  bool // true: a submit of this job may have reached the scheme
	heard bool // true: the scheme has answered an Ask
}

// New makes the machine of a job.
func New(j Job) *Machine {
	m := &Machine{job: j, doubt: j.Goal == ledger.GoalResume || j.Goal == ledger.GoalClear}
	m.Outcome.ID, m.Outcome.EndToEnd = j.Tx.ID, j.Tx.EndToEnd
	m.Outcome.Owner = j.Tx.Counterparty
	return m
}

// Query returns the question to send with the act Lookup.
func (m *Machine) Query() scheme.Query {
	t := m.job.Tx
	return scheme.Query{
		Account: m.job.Account, Tx: t.ID, EndToEnd: t.EndToEnd, Key: t.Payout.Key,
	}
}

// Payment returns the payment to send with the act Submit. A repeated submit has the same
// transaction id and end-to-end id.
func (m *Machine) Payment() scheme.Payment {
	t := m.job.Tx
	return scheme.Payment{
		Tx: t.ID, Account: m.job.Account, EndToEnd: t.EndToEnd, Amount: t.Amount,
		Key: t.Payout.Key, RecipientISPB: t.Payout.RecipientISPB,
		Description: t.Description, Purpose: t.Payout.Purpose,
	}
}

// Refund returns the refund to send with the act Submit, where the job is a refund. A
// repeated submit has the same ids.
func (m *Machine) Refund() scheme.Refund {
	t := m.job.Tx
	return scheme.Refund{
		Tx: t.ID, Account: m.job.Account, EndToEnd: t.EndToEnd, Original: t.Refund.OriginalEndToEnd, Amount: t.Amount,
		Reason: t.Refund.Code, Description: t.Description,
	}
}

func (m *Machine) refund() bool { return m.job.Tx.Kind == pix.TxRefund }

// Begin returns the first act.
func (m *Machine) Begin() Act {
	switch {
	case m.job.Goal == ledger.GoalResume || m.job.Goal == ledger.GoalClear || m.job.Goal == ledger.GoalVoid || m.job.Goal == ledger.GoalFind:
		return m.next(Ask)
	case m.job.Goal == ledger.GoalSend || m.refund():
		return m.next(Submit)
	default:
		return m.next(Lookup)
	}
}

// Reply is the result of an act: an answer, an explicit refusal, or a failure of the
// infrastructure. After a failure it is not known whether a Submit reached the scheme.
type Reply struct {
	Owner   pix.Party
	State   scheme.State
	Refused *scheme.Refused
	Failed  bool
	Expired bool // the time for the job was over when the act ended
}

// Step takes the result of the last act and returns the next act.
func (m *Machine) Step(r Reply) Act {
	switch m.last {
	case Lookup:
		return m.lookedUp(r)
	case Submit:
		return m.submitted(r)
	case Ask:
		if m.job.Goal == ledger.GoalVoid || m.job.Goal == ledger.GoalFind {
			return m.voided(r)
		}
		return m.asked(r)
	case Pause:
		if r.Expired {
			return m.reportOpen()
		}
		return m.next(Ask)
	}
	panic("transfer: step after the report")
}

func (m *Machine) lookedUp(r Reply) Act {
	switch {
	case r.Refused != nil && r.Refused.Code.Limit() != 0:
		return m.limited(r.Refused.Code)
	case r.Refused != nil && r.Refused.Code == ledger.RefuseLookupFailed:
		return m.unasked()
	case r.Refused != nil:
		return m.refused(r.Refused.Code)
	case r.Failed || r.Expired:
		return m.unasked()
	}
	m.Outcome.Owner = r.Owner
	if m.job.Refuses != nil && m.job.Refuses(r.Owner.Document) {
		return m.refused(ledger.RefuseCNPJBlocked)
	}
	if m.job.Goal == ledger.GoalRetry {
		return m.report(ledger.TransferIsSending)
	}
	return m.next(Submit)
}

// unasked handles a lookup that the directory did not answer. A payout that was never sent
// is refused, a queued payout stays queued, and a payout in doubt stays in doubt.
func (m *Machine) unasked() Act {
	switch {
	case m.doubt:
		return m.reportOpen()
	case m.job.Goal == ledger.GoalRetry:
		return m.report(ledger.TransferIsNotHeard)
	}
	return m.refused(ledger.RefuseLookupFailed)
}

// limited handles a lookup that a directory limit refused. The payout is queued or stays
// queued; a payout in doubt stays in doubt.
func (m *Machine) limited(code ledger.RefusalCode) Act {
	switch {
	case m.doubt:
		return m.reportOpen()
	case m.job.Goal == ledger.GoalRetry:
		return m.report(ledger.TransferIsNotHeard)
	}
	m.Outcome.Refusal = code
	return m.report(ledger.TransferIsLimited)
}

func (m *Machine) submitted(r Reply) Act {
	switch {
	case r.Refused != nil && m.job.Goal == ledger.GoalClear && m.forNow(r.Refused.Code):
		m.Outcome.Refusal = r.Refused.Code
		return m.reportOpen()
	case r.Refused != nil:
		m.Outcome.Doubt = m.sent
		return m.refused(r.Refused.Code)
	case r.Failed || r.State.Progress == scheme.Unknown || m.duplicate(r.State):
		m.doubt, m.sent = true, true
		if r.Expired {
			return m.reportOpen()
		}
		return m.next(Pause)
	}
	m.Outcome.Doubt = m.sent && r.State.Progress == scheme.Rejected
	return m.know(r.State)
}

// forNow tells whether a refusal of a further submit says nothing about the transfer itself. Of
// a refund for a special-return case that is every refusal which may be another one later.
func (m *Machine) forNow(code ledger.RefusalCode) bool {
	return code.Limit() != 0 || code == ledger.RefuseLookupFailed || m.job.Tx.Refund.Case != nil && code.ForNow()
}

// duplicate tells whether the scheme calls a refund a duplicate. The id of a return belongs to
// one refund: an earlier submit of it arrived, and what became of that one is not known yet.
func (m *Machine) duplicate(s scheme.State) bool {
	return m.refund() && s.Progress == scheme.Rejected && s.Reason == ledger.ReasonDuplicate
}

func (m *Machine) asked(r Reply) Act {
	unheard := r.Failed || r.Refused != nil // the scheme gave no answer; a refusal of the question says nothing about the payment either
	m.heard = m.heard || !unheard
	switch {
	case unheard && (r.Expired || m.job.Goal == ledger.GoalClear):
		return m.reportOpen() // the outcome stays unknown: a due task asks the scheme later
	case unheard:
		return m.next(Pause)
	case m.duplicate(r.State):
		return m.reportOpen()
	case r.State.Progress != scheme.Unknown:
		return m.know(r.State)
	case r.Expired:
		return m.reportOpen()
	case m.refund():
		return m.next(Submit)
	case m.Outcome.Owner == (pix.Party{}):
		return m.next(Lookup) // the previous child actor was lost before its lookup was recorded
	case m.job.Refuses != nil && m.job.Refuses(m.Outcome.Owner.Document):
		return m.reportOpen() // as it was when the directory named the owner: see refused
	}
	return m.next(Submit)
}

// voided handles the scheme's answer to the one question that GoalVoid and GoalFind ask. Without an answer
// nothing is voided; what is not accepted yet, so that a caller may have no answer, then becomes accepted
// in doubt, so that the caller gets one and the scheme is asked again. With GoalVoid, a payout is voided
// also if the scheme still has it as pending; all else only if the scheme does not know it.
func (m *Machine) voided(r Reply) Act {
	unheard := r.Failed || r.Refused != nil
	once := m.refund() || m.job.Goal == ledger.GoalFind // it must not be sent a second time
	switch {
	case m.duplicate(r.State), unheard && once && m.job.Tx.Status != pix.StatusAccepted:
		return m.reportOpen()
	case unheard:
		return m.report(ledger.TransferIsNotHeard)
	case r.State.Progress == scheme.Settled || r.State.Progress == scheme.Rejected,
		once && r.State.Progress != scheme.Unknown:
		return m.know(r.State)
	}
	return m.report(ledger.TransferIsVoided)
}

// know reports the payment's state as the scheme has answered it.
func (m *Machine) know(s scheme.State) Act {
	switch s.Progress {
	case scheme.Settled:
		return m.report(ledger.TransferIsSettled)
	case scheme.Rejected:
		m.Outcome.Reason = s.Reason
		return m.report(ledger.TransferIsRejected)
	}
	return m.report(ledger.TransferIsAccepted)
}

// refused reports a refusal, unless the payment may have been sent before: then the payout
// is reported as accepted in doubt, or stays so. With GoalClear, which has asked the scheme
// first, a refusal of the submit is final. A refusal by the directory, or by the account's
// own rule about recipients, says nothing about an earlier submit, so the hold stays until
// the payout may be voided.
func (m *Machine) refused(code ledger.RefusalCode) Act {
	switch {
	case m.doubt && (m.job.Goal != ledger.GoalClear || m.last == Lookup):
		return m.reportOpen()
	}
	m.Outcome.Refusal = code
	return m.report(ledger.TransferIsRefused)
}

// reportOpen reports that the payout's outcome is not known: the payout is accepted in doubt, or
// stays so.
func (m *Machine) reportOpen() Act {
	m.Outcome.Doubt = m.sent
	switch {
	case m.job.Goal == ledger.GoalClear && m.heard:
		return m.report(ledger.TransferIsOpen)
	case m.job.Goal == ledger.GoalClear:
		return m.report(ledger.TransferIsNotHeard)
	}
	m.Outcome.Doubt = true
	return m.report(ledger.TransferIsAccepted)
}

func (m *Machine) report(r ledger.TransferResult) Act {
	m.Outcome.Result = r
	return m.next(Report)
}

func (m *Machine) next(a Act) Act {
	m.last = a
	return a
}
