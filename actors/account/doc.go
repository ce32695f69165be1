// Package account runs one merchant account: a machine that turns a command into journal
// entries and effects, without a goroutine, clock or I/O of its own, and a thin actor
// around the machine.
//
// Callers use a Host. Host.Do finds or restores the account, hands it the command and
// returns the answer once everything that the answer says is durable:
//
//	answer, err := host.Do(id, ledger.CreateCharge{…})
//
// A command passes through the package in this order: Do (refuses above the limits) → the
// account's actor → Machine.Step (facts, decision, records, rows) → the journal, whose
// entry holds the answer → Release, which the journal's writer calls for each entry in
// order. A payout's answer is not part of the entry that holds the money: it waits in the
// shell, under the payout's id, until the entry of the outcome is durable.
package account
