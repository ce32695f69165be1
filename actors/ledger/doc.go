// Package ledger is one merchant account's money, and nothing else: a pure
// function from what is known (the account's head, the facts a command names)
// and a stamped command to records, or to a refusal.
//
// Its caller does four things, in this order:
//
//	decision := account.Decide(command, facts, stamp) // refusals in order, or records
//	account.Apply(record)                             // in memory, for each record
//	rows := Project(...)                              // the keys each record writes and deletes
//	                                                  // journal records and rows in one batch
//
// and lets nothing out before that batch is durable.
//
// Nothing here reads a clock, draws a number, or touches a disk: time and
// identity come in with the Stamp and are recorded, so that replay never asks
// again. A record carries outcomes (fees, ids, resulting totals), never inputs
// to compute again; Apply recomputes the totals all the same and refuses a
// record whose arithmetic does not close.
//
// Money is int64 base units (1.00 BRL = 10 000); one centavo is 100 base units.
package ledger
