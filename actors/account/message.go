package account

import (
	"sync/atomic"

	"pixd/actors/due"
	"pixd/actors/ledger"
)

// The messages that an account's actor takes.
type (
	// call is a command and its asker. task is the due task that the command is carried out
	// for, if any: a child that the command starts takes the task over.
	call struct {
		command ledger.Command
		from    asker
		task    *due.Task
	}
	// reload is sent after the journal refused an entry: the machine is ahead of the
	// journal and must be restored.
	reload struct{}
	// assign is an actor's first message and names its account. All accounts' actors share
	// their Props, so the Props cannot name the account.
	assign struct{ id ledger.AccountID }
	// trim asks the account to free the memory that an idle account does not need; again is
	// called where the account is not idle.
	trim struct{ again func() }
	// passivate asks the account to write its head row and take no more commands; done gets
	// whether it did.
	passivate struct{ done chan<- bool }
	// closing is the last message that an account gets.
	closing struct{ done chan<- struct{} }
)

// NoticeMessage makes a message from a notice of the scheme. done(nil) is called once the
// notice's effect is durable, done(err) where it failed.
func NoticeMessage(c ledger.Command, done func(error)) any {
	return &call{command: c, from: noticeOf{done}}
}

// ReportMessage makes a message from a child's report. d.Children.NotTaken is called where
// the account could not take the report.
func ReportMessage(d *Dependencies, r Report) any {
	return &call{command: r.Outcome, from: &reportOf{d, r}, task: r.Task}
}

// DueMessage makes a message from a due task. tasks.Done gets the result once.
func DueMessage(tasks Tasks, t due.Task) any {
	c := &call{command: ledger.Attend{Kind: t.Kind(), ID: t.ID, Seq: t.Seq, Retry: t.Retry}, task: &t}
	c.from = &taskOf{tasks, t}
	return c
}

// TrimMessage makes a message that asks the account to free the memory that an idle account
// does not need; again is called where the account is not idle.
func TrimMessage(again func()) any { return &trim{again} }

// PassivateMessage makes a message that asks the account to write its head row and take no
// more commands; done gets whether it did. The channel's capacity must be at least 1.
func PassivateMessage(done chan<- bool) any { return &passivate{done} }

// Asked is a request that has been sent and waits for its answer.
type Asked struct{ to caller }

// Ask makes a request of a command, and the message that hands it to an account.
func Ask(c ledger.Command) (message any, asked *Asked) {
	to := caller{ch: make(chan response, 1), joined: new(atomic.Bool)}
	return &call{command: c, from: &to}, &Asked{to}
}

// Answer returns the answer or the error of the request; there is false until it has come.
func (a *Asked) Answer() (answer ledger.Answer, err error, there bool) {
	select {
	case r := <-a.to.ch:
		return r.answer, r.err, true
	default:
		return ledger.Answer{}, nil, false
	}
}
