package account

import (
	"sync/atomic"

	"pixd/actors/due"
	"pixd/actors/ledger"
)

// Driver is one account without a mailbox or a goroutine: whoever holds it carries
// its messages, one at a time. A simulation drives accounts so, through the very
// shell that the host's actors have.
type Driver struct{ shell shell }

// Restored is an account from the journal, or a new one that was only claimed.
func Restored(a *Dependencies, id ledger.AccountID) *Driver {
	a.complete()
	l := &Driver{shell{Dependencies: a}}
	l.shell.receive(&assign{id})
	return l
}

// Asked is a request on its way.
type Asked struct{ to caller }

// Do hands the account a command.
func (l *Driver) Do(c ledger.Command) *Asked {
	to := caller{ch: make(chan response, 1), joined: new(atomic.Bool)}
	l.shell.receive(&call{command: c, from: &to})
	return &Asked{to}
}

// Answer is the request's, once it is there.
func (a *Asked) Answer() (answer ledger.Answer, err error, there bool) {
	select {
	case r := <-a.to.ch:
		return r.answer, r.err, true
	default:
		return ledger.Answer{}, nil, false
	}
}

// Notice hands the account the scheme's word; see Host.Notice.
func (l *Driver) Notice(c ledger.Command, done func(error)) {
	l.shell.receive(&call{command: c, from: noticeOf{done}})
}

// Report hands it a child's report; Children hears where it must come again.
func (l *Driver) Report(r Report) {
	l.shell.receive(&call{command: r.Outcome, from: &reportOf{l.shell.Dependencies, r}, task: r.Task})
}

// Due starts a due task; see Host.Due.
func (l *Driver) Due(t due.Task) { l.shell.receive(dueCall(l.shell.Tasks, t)) }

// Tell hands it a message that Dependencies.Again was given.
func (l *Driver) Tell(message any) { l.shell.receive(message) }

// Trim gives back what the account does not need at rest; false where something
// moves.
func (l *Driver) Trim() bool {
	still := false
	l.shell.receive(&trim{func() { still = true }})
	return !still
}

// Passivate leaves the head row behind, where nothing moves; the account takes no
// more then.
func (l *Driver) Passivate() bool {
	done := make(chan bool, 1)
	l.shell.receive(&passivate{done})
	return <-done
}

// Broken is why the account is quarantined; nil where it is not.
func (l *Driver) Broken() error { return l.shell.broken }

// Head is a copy of the account's head in memory, durable or not.
func (l *Driver) Head() ledger.Account { return l.shell.machine.head }

// Working tells how many payouts of the account have a child.
func (l *Driver) Working() int { return len(l.shell.machine.work) }
