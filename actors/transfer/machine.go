// Package transfer carries one payout to the scheme and brings its outcome back.
// A child owns no truth: what it was given is journaled, what it reports is
// decided and journaled by the account, and a child that is lost is started
// again from the payout's due row.
//
// Machine says what to do next; Carry is its shell.
package transfer

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Job is a payout to carry.
type Job struct {
	Account ledger.AccountID
	Tx      ledger.Transaction // as it stands
	Goal    ledger.Goal
	Task    *due.Task // that the child is started for; nil: none
	// Refuses is the account's control on payouts to companies, as it was when the
	// child was made: the directory's word on the owner is held against it.
	Refuses func(document string) bool
}

// Act is what the shell is to do next.
type Act uint8

// The acts.
const (
	Lookup Act = iota + 1
	Submit
	Ask
	Pause  // a short while, then Step again
	Report // Machine.Outcome, and then nothing more
)

// Machine is one payout's way to the scheme.
type Machine struct {
	Outcome ledger.ResolvePayout // with Report

	job   Job
	last  Act
	doubt bool // a submit may have arrived
	heard bool // the scheme has answered
}

// New is a machine before its first act.
func New(j Job) *Machine {
	m := &Machine{job: j, doubt: j.Goal == ledger.GoalResume || j.Goal == ledger.GoalClear}
	m.Outcome.ID, m.Outcome.EndToEnd = j.Tx.ID, j.Tx.EndToEnd
	m.Outcome.Owner = j.Tx.Counterparty
	return m
}

// Query is what Lookup asks.
func (m *Machine) Query() scheme.Query {
	t := &m.job.Tx
	return scheme.Query{
		Account: m.job.Account, Tx: t.ID, EndToEnd: t.EndToEnd, Key: t.Payout.Key,
	}
}

// Payment is what Submit hands over: the same ids, however often.
func (m *Machine) Payment() scheme.Payment {
	t := &m.job.Tx
	return scheme.Payment{
		Tx: t.ID, Account: m.job.Account, EndToEnd: t.EndToEnd, Amount: t.Amount,
		Key: t.Payout.Key, RecipientISPB: t.Payout.RecipientISPB,
		Description: t.Description, Purpose: t.Payout.Purpose,
	}
}

// Begin is the first act.
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

// Reply is what came of an act: an answer, an explicit refusal, or a failure
// of the infrastructure (which after Submit and Ask leaves everything open).
type Reply struct {
	Owner   ledger.Party
	State   scheme.State
	Refused *scheme.Refused
	Failed  bool
	Expired bool // no time is left
}

// Step takes the reply to the last act and tells the next.
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

// unasked is a directory that could not be asked: nothing has left of a payout
// that goes out for the first time; one in line waits on; one in doubt stays so.
func (m *Machine) unasked() Act {
	switch {
	case m.doubt:
		return m.open()
	case m.job.Goal == ledger.GoalRetry:
		return m.report(ledger.PayoutIsNotHeard)
	}
	return m.refused(ledger.RefuseLookupFailed)
}

// limited is a lookup that met a limit: the payout goes into the queue, or stays
// there; one in doubt waits as it is.
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
		return m.open() // no word on the payment
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
	unheard := r.Failed || r.Refused != nil // who refuses the question says nothing of the payment
	m.heard = m.heard || !unheard
	switch {
	case unheard && (r.Expired || m.job.Goal == ledger.GoalClear):
		return m.open() // it is asked again later, after others
	case unheard:
		return m.next(Pause)
	case r.State.Progress != scheme.Unknown:
		return m.know(r.State)
	case r.Expired:
		return m.open()
	case m.Outcome.Owner == (ledger.Party{}):
		return m.next(Lookup) // a resumed payout never learned its recipient
	case m.job.Refuses != nil && m.job.Refuses(m.Outcome.Owner.Document):
		return m.open() // as it was when the directory named the owner: see refused
	}
	return m.next(Submit)
}

// voided takes the scheme's last chance to speak. One that cannot be reached at
// all has not been asked.
func (m *Machine) voided(r Reply) Act {
	switch {
	case r.Failed || r.Refused != nil:
		return m.report(ledger.PayoutIsNotHeard)
	case r.State.Progress == scheme.Settled || r.State.Progress == scheme.Rejected:
		return m.know(r.State)
	}
	return m.report(ledger.PayoutIsVoided)
}

// know reports what the scheme says.
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

// refused reports a refusal, unless the money may have left. Then the payout is
// accepted in doubt, and Clear, which asks again first, takes the scheme's refusal at
// its word; the directory's, or the account's own control, says nothing of what was
// sent before: there the hold stays, and the orphan rule decides.
func (m *Machine) refused(code ledger.RefusalCode) Act {
	switch {
	case m.doubt && (m.job.Goal != ledger.GoalClear || m.last == Lookup):
		return m.open()
	}
	m.Outcome.Refusal = code
	return m.report(ledger.PayoutIsRefused)
}

// open ends a goal without the scheme's word: the payout is accepted in doubt,
// or stays so.
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
