// Package account runs one merchant account: a machine that turns a command
// into journal entries and effects, without a goroutine, clock or I/O of its
// own, and a thin actor around it.
//
// Callers hold a Host. Host.Do finds or restores the account, hands
// it the command and returns the answer once everything it tells is durable:
//
//	answer, err := host.Do(id, ledger.CreateCharge{…})
//
// The way of a command through the package: Do (admission: limits) → the account's
// actor → Machine.Step (facts, decision, records, rows) → the journal, with the
// answer riding in the entry → Release, by the journal's writer, in order.
// A payout's answer does not ride with its hold: it waits in the shell by the
// payout's id until the outcome's entry is durable.
package account
