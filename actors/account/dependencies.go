package account

import (
	"log/slog"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/wal"

	"github.com/asynkron/protoactor-go/actor"
)

// Dependencies are what an account's shell works with, the same for all accounts: the host's
// actors, or a simulation's single goroutine.
type Dependencies struct {
	Config  *Config
	Journal Journal
	Rows    Rows
	Tail    Tail
	// Opening is what a claimed account is opened under; false: no such account.
	Opening func(ledger.AccountID) (ledger.Settings, bool)
	// Active tells whether an account is; nil: all are.
	Active  func(ledger.AccountID) bool
	Now     func() ledger.Reading
	Entropy func() [10]byte
	Log     *slog.Logger

	Children   Children
	ChildProps *actor.Props // of an account's children; not used without actors
	Tasks      Tasks
	// Again sends a message to an account, later.
	Again func(ledger.AccountID, any)
	// Ending is not nil once the end has begun: what no account has taken up by then
	// is refused with it. Nil: there is no end.
	Ending func() error
	// Write appends an entry and returns when it is durable.
	Write func(*wal.Entry) error
}

// complete fills in what may be left out.
func (a *Dependencies) complete() {
	if a.Config.Recent == nil {
		a.Config.Recent = NewRecent(recentSlots)
	}
	if a.Ending == nil {
		a.Ending = func() error { return nil }
	}
	if a.Tasks == nil {
		a.Tasks = nobody{}
	}
	if a.Active == nil {
		a.Active = func(ledger.AccountID) bool { return true }
	}
}

// nobody hears what came of due tasks.
type nobody struct{}

// Done implements Tasks.
func (nobody) Done(due.Task, due.Result) {}
