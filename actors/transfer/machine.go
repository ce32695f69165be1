// Package transfer carries one payout to the scheme and reports its result. A child decides
// nothing by itself: its job is journaled before it starts, the account decides and
// journals what the child reports, and a lost child is started again from the payout's due
// row.
//
// Machine decides the next step; Carry is its shell.
package transfer

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Job is a payout to carry and the goal of carrying it.
type Job struct {
	Account ledger.AccountID
	Tx      ledger.Transaction // the payout's state when the child began
	Goal    ledger.Goal
	Task    *due.Task // the due task that the child is started for; nil: none
	// Refuses is the account's control on payouts to companies, in its state when the child
	// was made. The document of the owner that the directory names is checked with it.
	Refuses func(document string) bool
}

// Act is the next thing for the shell to do.
type Act uint8

// The acts of a machine.
const (
	Lookup Act = iota + 1
	Submit
	Ask
	Pause  // wait a short time, then call Step again
	Report // report Machine.Outcome and stop
)

// Machine is the progress of one job.
type Machine struct {
	Outcome ledger.ResolvePayout // the result, complete once the act is Report

	job   Job
	last  Act
	doubt bool // a submit may have reached the scheme
	heard bool // the scheme has answered a question
}

// New makes the machine of a job.
func New(j Job) *Machine {
	m := &Machine{job: j, doubt: j.Goal == ledger.GoalResume || j.Goal == ledger.GoalClear}
	m.Outcome.ID, m.Outcome.EndToEnd = j.Tx.ID, j.Tx.EndToEnd
	m.Outcome.Owner = j.Tx.Counterparty
	return m
}

// Query is the question for Lookup.
func (m *Machine) Query() scheme.Query {
	t := &m.job.Tx
	return scheme.Query{
		Account: m.job.Account, Tx: t.ID, EndToEnd: t.EndToEnd, Key: t.Payout.Key,
	}
}

// Payment is the payment for Submit. A repeated submit has the same ids.
func (m *Machine) Payment() scheme.Payment {
	t := &m.job.Tx
	return scheme.Payment{
		Tx: t.ID, Account: m.job.Account, EndToEnd: t.EndToEnd, Amount: t.Amount,
		Key: t.Payout.Key, RecipientISPB: t.Payout.RecipientISPB,
		Description: t.Description, Purpose: t.Payout.Purpose,
	}
}

// Begin returns the first act.
func (m *Machine) Begin() Act {
	switch m.job.Goal {
	case ledger.GoalResume, ledger.GoalClear, ledger.GoalVoid:
		return m.next(Ask)
	case ledger.GoalSend:
		return m.next(Submit)
	default:
		return m.next(Lookup)
	}
}

// Reply is the result of an act: an answer, an explicit refusal, or a failure of the
// infrastructure, after which it is not known whether a Submit reached the scheme.
type Reply struct {
	Owner   ledger.Party
	State   scheme.State
	Refused *scheme.Refused
	Failed  bool
	Expired bool // the time for the job is over
}

// Step takes the result of the last act and returns the next act.
func (m *Machine) Step(r Reply) Act {
	switch m.last {
	case Lookup:
		return m.lookedUp(r)
	case Submit:
		return m.submitted(r)
	case Ask:
		if m.job.Goal == ledger.GoalVoid {
			return m.voided(r)
		}
		return m.asked(r)
	case Pause:
		if r.Expired {
			return m.open()
		}
		return m.next(Ask)
	}
	panic("payout: step after the report")
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
		return m.report(ledger.PayoutIsSending)
	}
	return m.next(Submit)
}

// unasked handles a lookup for which the directory could not be asked. A payout that was
// never sent is refused, a queued one stays queued, one in doubt stays in doubt.
func (m *Machine) unasked() Act {
	switch {
	case m.doubt:
		return m.open()
	case m.job.Goal == ledger.GoalRetry:
		return m.report(ledger.PayoutIsNotHeard)
	}
	return m.refused(ledger.RefuseLookupFailed)
}

// limited handles a lookup that was refused by a directory limit: the payout is queued or
// stays queued. One in doubt stays in doubt.
func (m *Machine) limited(code ledger.RefusalCode) Act {
	switch {
	case m.doubt:
		return m.open()
	case m.job.Goal == ledger.GoalRetry:
		return m.report(ledger.PayoutIsNotHeard)
	}
	m.Outcome.Refusal = code
	return m.report(ledger.PayoutIsLimited)
}

func (m *Machine) submitted(r Reply) Act {
	switch {
	case r.Refused != nil && m.job.Goal == ledger.GoalClear && (r.Refused.Code.Limit() != 0 || r.Refused.Code == ledger.RefuseLookupFailed):
		return m.open() // this refusal says nothing about the payment itself
	case r.Refused != nil:
		return m.refused(r.Refused.Code)
	case r.Failed || r.State.Progress == scheme.Unknown:
		m.doubt = true
		if r.Expired {
			return m.open()
		}
		return m.next(Pause)
	}
	return m.know(r.State)
}

func (m *Machine) asked(r Reply) Act {
	unheard := r.Failed || r.Refused != nil // a refusal of the question says nothing about the payment
	m.heard = m.heard || !unheard
	switch {
	case unheard && (r.Expired || m.job.Goal == ledger.GoalClear):
		return m.open() // a later task asks again
	case unheard:
		return m.next(Pause)
	case r.State.Progress != scheme.Unknown:
		return m.know(r.State)
	case r.Expired:
		return m.open()
	case m.Outcome.Owner == (ledger.Party{}):
		return m.next(Lookup) // the resumed payout has no owner of its key yet
	case m.job.Refuses != nil && m.job.Refuses(m.Outcome.Owner.Document):
		return m.open() // as it was when the directory named the owner: see refused
	}
	return m.next(Submit)
}

// voided takes the scheme's answer to the last question before a payout is voided. If the
// scheme could not be asked, the payout is not voided.
func (m *Machine) voided(r Reply) Act {
	switch {
	case r.Failed || r.Refused != nil:
		return m.report(ledger.PayoutIsNotHeard)
	case r.State.Progress == scheme.Settled || r.State.Progress == scheme.Rejected:
		return m.know(r.State)
	}
	return m.report(ledger.PayoutIsVoided)
}

// know reports the state that the scheme has stated.
func (m *Machine) know(s scheme.State) Act {
	switch s.Progress {
	case scheme.Settled:
		return m.report(ledger.PayoutIsSettled)
	case scheme.Rejected:
		m.Outcome.Reason = s.Reason
		return m.report(ledger.PayoutIsRejected)
	}
	return m.report(ledger.PayoutIsAccepted)
}

// refused reports a refusal, unless the payment may have been sent before: then the payout
// is reported as accepted in doubt, or stays so. GoalClear, which has asked first, takes a
// refusal of its submit as final. A refusal by the directory or by the account's own
// control says nothing about an earlier submit: then the hold stays until the payout may be
// voided.
func (m *Machine) refused(code ledger.RefusalCode) Act {
	switch {
	case m.doubt && (m.job.Goal != ledger.GoalClear || m.last == Lookup):
		return m.open()
	}
	m.Outcome.Refusal = code
	return m.report(ledger.PayoutIsRefused)
}

// open reports that the outcome is not known: the payout is accepted in doubt, or stays so.
func (m *Machine) open() Act {
	switch {
	case m.job.Goal == ledger.GoalClear && m.heard:
		return m.report(ledger.PayoutIsOpen)
	case m.job.Goal == ledger.GoalClear:
		return m.report(ledger.PayoutIsNotHeard)
	}
	m.Outcome.Doubt = true
	return m.report(ledger.PayoutIsAccepted)
}

func (m *Machine) report(r ledger.PayoutResult) Act {
	m.Outcome.Result = r
	return m.next(Report)
}

func (m *Machine) next(a Act) Act {
	m.last = a
	return a
}
