package account

import (
	"sync"
	"sync/atomic"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// The messages that an account's actor takes.
type (
	// call is a command and its asker. task is the due task that the command is carried out
	// for, nil if there is none. Where the command starts a child actor, the child actor
	// takes the task over and reports its result.
	call struct {
		command ledger.Command
		from    asker
		task    *due.Task
	}
	// reload is sent after the journal refused an entry. The machine then contains changes
	// that the journal lacks, and must be restored from the journal.
	reload struct{}
	// assign is an actor's first message and names its account. All accounts' actors share
	// their Props, so the Props cannot name the account.
	assign struct{ id pix.AccountID }
	// trim asks the account to free the memory that an idle account does not need. again is
	// called where the account is not idle.
	trim struct{ again func() }
	// passivate asks the account to write its head row and take no more commands. done gets
	// true if the account did so, false if it was not idle.
	passivate struct{ done chan<- bool }
	// closing is the last message that an account gets. heads counts the accounts whose head row
	// is not appended yet; done is closed once the account is counted.
	closing struct {
		done  chan<- struct{}
		heads *sync.WaitGroup
	}
)

// NoticeMessage makes the message of a scheme's notice from the command that the notice
// means. done(nil) is called once the command's effect is durable, done(err) where the
// command failed.
func NoticeMessage(c ledger.Command, done func(error)) any {
	return &call{command: c, from: noticeOf{done}}
}

// TellMessage makes the message of what an engine that was restored is told; see Host.Tell.
func TellMessage(c ledger.Command, done func(changed bool, err error)) any {
	return &call{command: c, from: toldOf{done}}
}

// ReportMessage makes the message of a child actor's report. d.Children.NotTaken is called
// where the account could not take the report.
func ReportMessage(d *Dependencies, r Report) any {
	return &call{command: r.Outcome, from: &reportOf{d, r}, task: r.Task}
}

// DueMessage makes the message of a due task. tasks.Done gets the task's result once.
func DueMessage(tasks Tasks, t due.Task) any {
	c := &call{command: ledger.Attend{Kind: t.Kind(), ID: t.ID, Seq: t.Seq, Retry: t.Retry}, task: &t}
	c.from = &taskOf{tasks, t}
	return c
}

// TrimMessage makes a message that asks the account to free the memory that an idle account
// does not need. again is called where the account is not idle.
func TrimMessage(again func()) any { return &trim{again} }

// PassivateMessage makes a message that asks the account to write its head row and take no
// more commands. done gets true if the account did so, false if it was not idle. The
// channel's capacity must be at least 1.
func PassivateMessage(done chan<- bool) any { return &passivate{done} }

// Asked is a request that was sent to an account and has perhaps no answer yet.
type Asked struct{ to caller }

// Ask makes a request from a command, and the message that hands the request to an account.
func Ask(c ledger.Command) (message any, asked *Asked) {
	to := caller{ch: make(chan response, 1), joined: new(atomic.Bool)}
	return &call{command: c, from: &to}, &Asked{to}
}

// Answer returns the answer or the error of the request; there is false while the request
// has neither.
func (a *Asked) Answer() (answer ledger.Answer, err error, there bool) {
	select {
	case r := <-a.to.ch:
		return r.answer, r.err, true
	default:
		return ledger.Answer{}, nil, false
	}
}
