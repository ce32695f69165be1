// Package accounttest runs an account without a mailbox or a goroutine.
package accounttest

import (
	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Driver is one account for tests. Each method hands its message to the account at once,
// one at a time, through the same Shell that the host's actors use.
type Driver struct {
	*account.Shell
	deps *account.Dependencies
}

// Restored restores an account from the journal, or makes a new one that has no record yet.
func Restored(d *account.Dependencies, id pix.AccountID) *Driver {
	return &Driver{account.NewShell(d, id), d}
}

// Do hands the account a command.
func (d *Driver) Do(c ledger.Command) *account.Asked {
	message, asked := account.Ask(c)
	d.Take(message)
	return asked
}

// Notice hands the account the command that a notice of the scheme means; done gets the
// result, as in account.Host.Notice.
func (d *Driver) Notice(c ledger.Command, done func(error)) { d.Take(account.NoticeMessage(c, done)) }

// Tell hands the account what a restored engine is told; see account.Host.Tell.
func (d *Driver) Tell(c ledger.Command, done func(changed bool, err error)) {
	d.Take(account.TellMessage(c, done))
}

// Report hands the account a child actor's report about a payout. Children.NotTaken is
// called where the account could not take the report.
func (d *Driver) Report(r account.Report) { d.Take(account.ReportMessage(d.deps, r)) }

// Due hands the account a due task, which asks it to look after one payout; see
// account.Host.Due.
func (d *Driver) Due(t due.Task) { d.Take(account.DueMessage(d.deps.Tasks, t)) }

// Trim frees the memory that an idle account does not need. It returns false where the
// account is not idle.
func (d *Driver) Trim() bool {
	still := false
	d.Take(account.TrimMessage(func() { still = true }))
	return !still
}

// Passivate writes the head row of an idle account; afterwards the account takes no more
// commands. It returns false where the account is not idle.
func (d *Driver) Passivate() bool {
	done := make(chan bool, 1)
	d.Take(account.PassivateMessage(done))
	return <-done
}
