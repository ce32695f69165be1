package account

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Dependencies are what an account's shell needs from outside. All accounts of a host share
// one set of Dependencies, and so do all accounts of a simulation, which runs without a
// host and in one goroutine.
type Dependencies struct {
	Config  *Config
	Journal Journal
	Rows    Rows
	Tail    wal.Tail
	// Opening returns the settings that a new account starts with; false: the registry has
	// no such account.
	Opening func(pix.AccountID) (ledger.Settings, bool)
	// Active tells whether an account is active; nil: every account is active.
	Active  func(pix.AccountID) bool
	Now     func() pix.Reading
	Entropy func() [10]byte
	Log     *slog.Logger

	Children   Children
	ChildProps *actor.Props // protoactor's Props of the child actors; not used in a shell without actors
	Tasks      Tasks
	// Again sends a message to an account and returns before the account has handled it.
	Again func(pix.AccountID, any)
	// Ending returns nil until the host begins to close, then an error. A command that an
	// account takes up after that is refused with this error. Nil: the host never closes.
	Ending func() error
	// Moves counts what records move; nil: counted where nobody reads it.
	Moves *Moves
	// Write appends an entry and returns when it is durable.
	Write func(*wal.Entry) error
}

// complete fills in the optional fields that are nil.
func (a *Dependencies) complete() {
	if a.Config.Recent == nil {
		a.Config.Recent = NewRecent(recentSlots)
	}
	if a.Moves == nil {
		a.Moves = new(Moves)
	}
	if a.Ending == nil {
		a.Ending = func() error { return nil }
	}
	if a.Tasks == nil {
		a.Tasks = nobody{}
	}
	if a.Active == nil {
		a.Active = func(pix.AccountID) bool { return true }
	}
}

// nobody is a Tasks that ignores the results of due tasks.
type nobody struct{}

// Done implements Tasks.
func (nobody) Done(due.Task, due.Result) {}
