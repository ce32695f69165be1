package account

import (
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
