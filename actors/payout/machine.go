// Package payout carries one payout to the scheme and brings its outcome back.
// A child owns no truth: what it was given is journaled, what it reports is
// decided and journaled by the account, and a child that is lost is started
// again from the payout's due row.
//
// Machine says what to do next; Carry is its shell.
package payout

import (
	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Job is a payout to carry.
type Job struct {
	Account ledger.AccountID
	Tx      ledger.Transaction // as it was held
	// InDoubt: the process that held it may have sent it already. Such a job
	// asks first, and never reports a refusal: the hold stays until the scheme
	// has spoken.
	InDoubt bool
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
}

// New is a machine before its first act.
func New(j Job) *Machine {
	m := &Machine{job: j, doubt: j.InDoubt}
	m.Outcome.ID, m.Outcome.EndToEnd = j.Tx.ID, j.Tx.EndToEnd
	return m
}

// Query is what Lookup asks.
func (m *Machine) Query() scheme.Query {
	t := &m.job.Tx
	return scheme.Query{
		Account: m.job.Account, Tx: t.ID, EndToEnd: t.EndToEnd,
		Key: ledger.Key{Type: t.KeyType, Value: t.Key},
	}
}

// Payment is what Submit hands over: the same ids, however often.
func (m *Machine) Payment() scheme.Payment {
	t := &m.job.Tx
	return scheme.Payment{
		Tx: t.ID, Account: m.job.Account, EndToEnd: t.EndToEnd, Amount: t.Amount,
		Key: ledger.Key{Type: t.KeyType, Value: t.Key}, RecipientISPB: t.RecipientISPB,
		Description: t.Description, Purpose: t.Purpose,
	}
}

// Begin is the first act.
func (m *Machine) Begin() Act {
	if m.doubt {
		return m.next(Ask)
	}
	return m.next(Lookup)
}

// Reply is what came of an act: an answer, an explicit refusal, or a failure
// of the world (which after Submit and Ask leaves everything open).
type Reply struct {
	Owner   ledger.Owner
	State   scheme.State
	Refused *scheme.Refused
	Failed  bool
	Expired bool // no time is left inside the request that waits
}

// Step takes the reply to the last act and tells the next.
func (m *Machine) Step(r Reply) Act {
	switch m.last {
	case Lookup:
		return m.lookedUp(r)
	case Submit:
		return m.submitted(r)
	case Ask:
		return m.asked(r)
	case Pause:
		if r.Expired {
			return m.accepted()
		}
		return m.next(Ask)
	}
	panic("payout: step after the report")
}

func (m *Machine) lookedUp(r Reply) Act {
	switch {
	case r.Refused != nil:
		return m.refused(r.Refused.Code)
	case r.Failed || r.Expired:
		return m.refused(ledger.RefuseLookupFailed)
	}
	m.Outcome.Owner = r.Owner
	if m.job.Refuses != nil && m.job.Refuses(r.Owner.Document) {
		return m.refused(ledger.RefuseCNPJBlocked)
	}
	return m.next(Submit)
}

func (m *Machine) submitted(r Reply) Act {
	switch {
	case r.Refused != nil:
		return m.refused(r.Refused.Code)
	case r.Failed || r.State.Progress == scheme.Unknown:
		m.doubt = true
		if r.Expired {
			return m.accepted()
		}
		return m.next(Pause)
	}
	return m.know(r.State)
}

func (m *Machine) asked(r Reply) Act {
	switch {
	case r.Failed && r.Expired:
		return m.accepted()
	case r.Failed || r.Refused != nil:
		return m.next(Pause)
	case r.State.Progress != scheme.Unknown:
		return m.know(r.State)
	case r.Expired:
		return m.accepted()
	case m.Outcome.Owner == (ledger.Owner{}):
		return m.next(Lookup) // a resumed payout never learned its recipient
	}
	return m.next(Submit)
}

// know reports what the scheme says.
func (m *Machine) know(s scheme.State) Act {
	switch s.Progress {
	case scheme.Settled:
		m.Outcome.Result = ledger.PayoutIsSettled
	case scheme.Rejected:
		m.Outcome.Result, m.Outcome.Reason = ledger.PayoutIsRejected, s.Reason
	default:
		m.Outcome.Result = ledger.PayoutIsAccepted
	}
	return m.next(Report)
}

// refused reports a refusal, unless the money may have left: then the hold
// stays, and the orphan rule decides.
func (m *Machine) refused(code ledger.RefusalCode) Act {
	if m.doubt {
		return m.accepted()
	}
	m.Outcome.Result, m.Outcome.Refusal = ledger.PayoutIsRefused, code
	return m.next(Report)
}

func (m *Machine) accepted() Act {
	m.Outcome.Result = ledger.PayoutIsAccepted
	return m.next(Report)
}

func (m *Machine) next(a Act) Act {
	m.last = a
	return a
}
