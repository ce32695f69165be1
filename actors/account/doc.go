// Package account runs one merchant account: a machine that turns a command into journal
// entries and effects, without a goroutine, clock or I/O of its own, and a thin actor
// around the machine.
//
// # For the caller
//
// Callers use a Host. Host.Do finds or restores the account, hands it the command and
// returns the answer once everything that the answer says is durable:
//
//	answer, err := host.Do(id, ledger.CreateCharge{…})
//
// The errors are the ledger's: ErrUnknown, ErrBusy, ErrWaited, ErrQuarantined and ErrInternal say that
// nothing of the command was journaled; after ErrCut nobody knows, and the client's connection must be
// cut without an answer. A refusal is not an error: Answer.Refusal says why.
//
// What the scheme says comes in through a Feed, which finds the account that a notice is about and calls
// done once the notice's effect is durable; only then may the scheme be told. Due tasks come in through
// Host.Due, reports of child actors through the host itself.
//
// # The way of a command
//
//	Host.Do          refuses above the limits (share.go), before anything is decided
//	Shell            the account's actor: one message at a time (shell.go); it has no rule of its own
//	Machine.Step     facts, decision, records, rows: the ledger's four steps; returns an entry and effects
//	Shell.carryOut   puts answers, alerts, events and starts of child actors into the entry (release.go)
//	wal.Journal      the entry is queued with those of all accounts, written and synced
//	Release          the journal's writer calls it for each entry, in order: only now something leaves
//
// What must be durable before an effect may take place stands at each kind of effect (effect.go). A
// payout's or refund's answer is not part of the entry that holds the money: it waits in the shell,
// under the transaction's id, until the entry of the outcome is durable.
//
// # Memory
//
// An account in memory is its head, its rows that are not durable yet (overlay.go), the transfers whose
// child actors run, and the requests that wait. Host.Passivate puts idle accounts away, with a head row;
// the next message restores the account from that row and the records after it (restore.go).
//
// # What may fail
//
// A row that cannot be read fails the command and nothing else. A panic in an account's code is
// contained in its actor: the machine is thrown away and restored from the journal (recovery.go); the
// third within a minute quarantines the account, as damage found by a restore does. An entry that the
// journal refuses takes the machine's changes back (undo.go). Other accounts do not notice.
package account
