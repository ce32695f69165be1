// Package accounttest drives an account without a mailbox or a goroutine.
package accounttest

import (
	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
)

// Driver is one account whose messages are carried by whoever holds it, one at a time,
// through the very shell that the host's actors have.
type Driver struct {
	*account.Shell
	deps *account.Dependencies
}

// Restored is an account from the journal, or a new one that was only claimed.
func Restored(d *account.Dependencies, id ledger.AccountID) *Driver {
	return &Driver{account.NewShell(d, id), d}
}

// Do hands the account a command.
func (d *Driver) Do(c ledger.Command) *account.Asked {
	message, asked := account.Ask(c)
	d.Take(message)
	return asked
}

// Notice hands the account the scheme's word; see account.Host.Notice.
func (d *Driver) Notice(c ledger.Command, done func(error)) { d.Take(account.NoticeMessage(c, done)) }

// Report hands it a child's report; Children hears where it must come again.
func (d *Driver) Report(r account.Report) { d.Take(account.ReportMessage(d.deps, r)) }

// Due starts a due task; see account.Host.Due.
func (d *Driver) Due(t due.Task) { d.Take(account.DueMessage(d.deps.Tasks, t)) }

// Trim gives back what the account does not need at rest; false where something moves.
func (d *Driver) Trim() bool {
	still := false
	d.Take(account.TrimMessage(func() { still = true }))
	return !still
}

// Passivate leaves the head row behind, where nothing moves; the account takes no more
// then.
func (d *Driver) Passivate() bool {
	done := make(chan bool, 1)
	d.Take(account.PassivateMessage(done))
	return <-done
}
