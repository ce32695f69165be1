package account

import (
	"sync/atomic"

	"pixd/actors/due"
	"pixd/actors/ledger"
)

// The messages an account's actor takes.
type (
	// call is a command, and who hears what came of it. task is the due task that it is
	// carried out for, if any: a child that is started goes on with it.
	call struct {
		command ledger.Command
		from    asker
		task    *due.Task
	}
	// reload comes of an entry that the journal refused: the machine is ahead of
	// what is written.
	reload struct{}
	// assign is an actor's first message: whose it is. Its Props are shared, so
	// they cannot say it.
	assign struct{ id ledger.AccountID }
	// trim asks the account to give back what it does not need at rest.
	trim struct{ again func() }
	// passivate asks the account to leave its head row behind and take no more.
	passivate struct{ done chan<- bool }
	// closing is the last message: no other comes after it.
	closing struct{ done chan<- struct{} }
)

// NoticeMessage brings the scheme's word; done(nil) once its effect is durable.
func NoticeMessage(c ledger.Command, done func(error)) any {
	return &call{command: c, from: noticeOf{done}}
}

// ReportMessage brings a child's report; d.Children hears where it must come again.
func ReportMessage(d *Dependencies, r Report) any {
	return &call{command: r.Outcome, from: &reportOf{d, r}, task: r.Task}
}

// DueMessage brings a due task; tasks hears once what came of it.
func DueMessage(tasks Tasks, t due.Task) any {
	c := &call{command: ledger.Attend{Kind: t.Kind(), ID: t.ID, Seq: t.Seq, Retry: t.Retry}, task: &t}
	c.from = &taskOf{tasks, t}
	return c
}

// TrimMessage asks the account to give back what it does not need at rest; again is
// called where something still moves.
func TrimMessage(again func()) any { return &trim{again} }

// PassivateMessage asks the account to leave its head row behind and take no more; done
// hears whether it did. Its capacity is at least 1.
func PassivateMessage(done chan<- bool) any { return &passivate{done} }

// Asked is a request that waits for its answer.
type Asked struct{ to caller }

// Ask makes a request and the message that brings it.
func Ask(c ledger.Command) (message any, asked *Asked) {
	to := caller{ch: make(chan response, 1), joined: new(atomic.Bool)}
	return &call{command: c, from: &to}, &Asked{to}
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
