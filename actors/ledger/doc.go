// Package ledger has the rules about one merchant account's money, and nothing else: a pure
// function from the known state (the account's head and the facts that a command names) and
// a stamped command to records, or to a refusal.
//
// Its caller takes four steps, in this order:
//
//	facts := Gather(reader, account, command, stamp)  // what the command names, from rows
//	decision := account.Decide(command, facts, stamp) // the first refusal, or records
//	account.Apply(record)                             // in memory, for each record
//	rows := Project(...)                              // the keys that each record writes and deletes
//
// It writes records and rows into the journal in one batch, and lets no answer out before
// that batch is durable.
//
// Nothing here reads a clock, makes random numbers or does I/O: time and identity come in
// with the Stamp and are recorded, so that a replay needs neither. A record has results
// (fees, ids, the totals after it), never inputs to compute again. Apply computes the
// totals all the same and refuses a record whose totals differ.
//
// Money is int64 base units (1.00 BRL = 10 000); one centavo is 100 base units.
package ledger
