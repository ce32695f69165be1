package account

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
)

// The messages an account's actor takes.
type (
	// call is a command. A merchant's or operator's has a caller; an outcome or
	// a notice has done, and is kept and tried again where a request would fail.
	// then is of a child that a due task started: it hears how the task ended.
	call struct {
		command ledger.Command
		to      caller
		done    func(error)
		then    func(due.Result)
	}
	// dueTask looks after a payout that waits for something.
	dueTask struct {
		due.Task
		then func(due.Result) // called once
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
