// Package ledger has the rules about one merchant account's money, and nothing else: a pure
// function from the known state (the account's head and the facts that a command needs) and
// a stamped command to records, or to a refusal.
//
// # Four steps
//
// Its caller takes four steps, in this order, for one command of an account after another:
//
//	facts, err := Gather(reader, account, command, stamp) // what the command needs, from rows
//	decision := account.Decide(facts, stamp)              // the first refusal, or records
//	err = account.Apply(&record)                          // in memory, for each record
//	rows = Project(rows, &record)                         // the keys that each record writes and deletes
//
// Gather reads through Reader, which shows the account as it is after all its decisions so far,
// durable or not, and other accounts' rows as they are on disk. Its errors are the failing world's (a
// row could not be read) or say that the command cannot be carried out now (ErrBusy) or here
// (ErrUnknownTransfer); after any of them nothing has changed. Decide reads nothing and does not fail.
// Apply fails only where a record cannot follow the account's newest one, which is damage or a mistake
// of ours.
//
// # What must be durable before what may leave
//
// The records of a decision and their rows are one entry of the journal. Nothing of Decision leaves
// before that entry is durable, nor before every earlier entry of the account that the decision saw:
// no answer, no alert, no child actor's start, no event.
//
// # Commands
//
// A command is a request to the account, and each has its own rules in the file of its story: what it
// gathers, in which order it is refused, what it decides. Its Traits are what the caller must know.
//
//	settings.go      OpenAccount, ChangeSettings, ReadAccount
//	claim.go         KeepAnswer, Recall: answers under idempotency keys
//	credit.go        Credit: money that an operator credits
//	charge.go        CreateCharge
//	receive.go       ReceivePayment
//	payout.go        RequestPayout; payout_approval.go DecideApproval; payout_return.go ReceiveReturn
//	refund.go        RequestRefund
//	transfer.go      ResolveTransfer: what the scheme says of a payout (payout_outcome.go) or a refund (refund_outcome.go)
//	attend.go        Attend: the due task of a payout, a refund or a case
//	case_report.go   OpenCase, CancelCase; case_decision.go DefendCase, CloseCase
//	case_retry.go    RetryCase; case_resume.go ResumeCase
//	subscription.go  Subscribe, EndSubscription; subscription_change.go ChangeSubscription, RotateSecret, TestSubscription
//
// What a decision frees for special-return cases, and what they are owed, is added to every decision
// in case_cover.go; which cases that takes is gathered in case_facts.go. To add a command: a file for
// it, rows in the table of kinds (kind.go) if it has records of its own, and their golden file.
//
// # Records
//
// Records are the only truth: every row is a function of one record (project.go), and a replay of the
// records through Apply makes the same account. So a record has results (fees, ids, the totals after
// it), never inputs to compute again; Apply computes the totals all the same and refuses a record
// whose totals differ. Nothing here reads a clock, makes random numbers or does I/O: time and identity
// come in with the Stamp and are recorded.
//
// Money is int64 base units (1.00 BRL = 10 000); one centavo is 100 base units.
package ledger
