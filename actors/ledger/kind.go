package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// RecordKind is the kind of event that a record is about. Its values are stored: new kinds
// are added at the end, and no value ever gets a new meaning. Kinds 64 and up are the
// registry's.
type RecordKind uint8

// The kinds of an account's records.
const (
	AccountOpened   RecordKind = 1
	SettingsChanged RecordKind = 2
	Credited        RecordKind = 3 // TED or internal credit
	ChargeCreated   RecordKind = 4
	PaymentReceived RecordKind = 5  // a customer paid: completes a charge, or is a receipt
	PayoutHeld      RecordKind = 6  // amount and fee of the payout are held
	PayoutAccepted  RecordKind = 7  // the scheme has the payout or, in doubt, may have it; the merchant sees it from here on
	PayoutSettled   RecordKind = 8  // the balance is debited and the hold released
	PayoutRejected  RecordKind = 9  // the scheme rejected the payout after acceptance: the hold is released
	PayoutRefused   RecordKind = 10 // refused before the merchant could see the payout: the hold is released
	PayoutFailed    RecordKind = 11 // failed after the merchant saw it (refused, expired, declined or voided): the hold is released
	AnswerKept      RecordKind = 12 // the answer to a request that changes nothing is stored under its idempotency claim

	PayoutPending           RecordKind = 13 // the payout waits for an operator's approval; the merchant sees it from here on
	PayoutApproved          RecordKind = 14 // an operator approved the payout; it is now sent
	PayoutQueued            RecordKind = 15 // the payout waits for directory capacity; the merchant sees it from here on
	PayoutRequeued          RecordKind = 16 // a payout that the merchant saw before waits for directory capacity
	PayoutSending           RecordKind = 17 // the lookup of a queued payout's key succeeded; the submit follows this record
	PayoutSent              RecordKind = 18 // the scheme has a payout that the merchant saw before or, in doubt, may have it
	PayoutSettledLate       RecordKind = 19 // the scheme settled a voided payout: it is debited without a hold
	ReturnReceived          RecordKind = 20 // a payout was returned, in full or in part: credited
	PayoutReturned          RecordKind = 21 // the payout's sum of returns so far was updated
	PayoutRejectedAfterVoid RecordKind = 22 // the scheme rejected a voided payout, so it can settle no more

	RefundHeld        RecordKind = 23 // the amount of a refund is held
	RefundAccepted    RecordKind = 24 // the scheme has the refund or, in doubt, may have it; the merchant sees it from here on
	RefundSent        RecordKind = 25 // an accepted refund is no longer in doubt, or the scheme has reported no outcome in time
	RefundSettled     RecordKind = 26 // the balance is debited and the hold released
	RefundFailed      RecordKind = 27 // the scheme refused or rejected the refund: the hold is released
	RefundSettledLate RecordKind = 28 // the scheme settled a failed refund: it is debited without a hold

	CaseOpened      RecordKind = 29 // a payer reported a received payment: the disputed amount is held
	CaseWasDefended RecordKind = 30 // the merchant defended the case
	CaseWasClosed   RecordKind = 31 // the case was decided; a case decided against the payer releases its hold
	CaseWithdrawn   RecordKind = 32 // the report was withdrawn: the hold is released
	CaseWaits       RecordKind = 33 // a deadline of the case has passed, or was counted anew, and the case stays as it is
	CaseRefunding   RecordKind = 34 // a part of what an agreed case holds becomes a refund; the refund's own record follows
	CaseRefunded    RecordKind = 35 // a refund for the case settled
	CaseRestored    RecordKind = 36 // a refund for the case failed: the case holds its amount again
	CaseReleased    RecordKind = 37 // the time for refunds is over: the case releases what it still holds
	CaseReduced     RecordKind = 38 // the payment went back otherwise: the case holds less, or nothing

	SubscriptionMade    RecordKind = 39 // the merchant subscribed to webhook events
	SubscriptionEnded   RecordKind = 40 // the receiver wants no more events: the subscription is stopped
	SubscriptionDropped RecordKind = 41 // the merchant removed the subscription

	CaseRaised  RecordKind = 42 // a part of the payment came free: the case holds more of what it disputes
	CaseRetried RecordKind = 43 // an operator let the engine try the refunds of a case again after one had failed for good
	CaseAwaits  RecordKind = 44 // the case is from before a restore: it waits for an operator
	CaseResumed RecordKind = 45 // an operator let the engine go on with the case
	RefundFound RecordKind = 46 // the scheme has a settled refund that the journal lacks since a restore: it is debited without a hold
	CaseCounted RecordKind = 47 // a refund that the journal lacks since a restore counts towards the case: it holds less

	PayoutFound     RecordKind = 48 // the scheme has a payout that the journal lacks since a restore: amount and fee are held, also where the balance is lower
	RefundFoundOpen RecordKind = 49 // the scheme has a refund that has not settled and that the journal lacks since a restore: its amount is held, also where the balance is lower
	PayoutReleased  RecordKind = 50 // an operator let a payout go on that waited in a queue since a restore; it is now sent

	SubscriptionChanged RecordKind = 51 // the merchant changed the subscription, or gave it a new secret
	SubscriptionTested  RecordKind = 52 // the merchant asked for a test event, which the subscription alone gets

	// Whoever adds a kind raises the journal's format (package wal), so that an earlier version refuses the store.
)

// entity is the kind of thing that a record is about.
type entity uint8

const (
	entityNone         entity = iota // neither an account's settings nor a transaction: the record stores an answer
	entityAccount                    // the record is about the account's settings
	entityTransaction                // the record is about one transaction
	entityCase                       // the record is about one special-return case
	entitySubscription               // the record is about one webhook subscription
)

// kindRow has the properties of a record kind. Every property of a kind is here and nowhere
// else: the sums of the head, the legal transitions, the rows.
type kindRow struct {
	name    string // name in dumps and messages
	entity  entity
	from    []pix.TxStatus // the legal statuses of the transaction before the record; 0: it may be the transaction's first record
	to      pix.TxStatus
	cases   []pix.CaseStatus // of a record about a case: the legal statuses of the case before the record; 0: it may be the case's first record
	caseTo  pix.CaseStatus   // of a record about a case: the status after the record; 0: the status does not change
	sums    bool             // the record may change refund sums and then contains them
	shows   bool             // the record makes its transaction visible to the merchant, unless it completes a charge, which is visible already
	books   bool             // the record gives the transaction a final status and a place in the statement
	balance sign             // how the record changes the balance
	held    sign             // how the record changes the held amount
	found   bool             // the transaction is taken over from the scheme
	answers bool             // the record stores the answer to the request of its idempotency claim
	move    Move             // what a record of the kind counts as; 0: nothing
	rows    rowsOf           // function that makes the rows which the record writes and deletes; nil: no rows of its own
}

// sign says how a record changes a sum: 0 not at all, brings adds the transaction's amount,
// takes subtracts it. The amount is Gross for a payout and Net for money that comes in.
type sign int8

const (
	brings sign = 1
	takes  sign = -1
)

func (s sign) of(t *Transaction) pix.Amount {
	switch {
	case s == 0:
		return 0
	case t.Kind.Outbound():
		return pix.Amount(s) * t.Gross()
	}
	return pix.Amount(s) * t.Net()
}

// rowsOf appends the rows of one record to the given rows.
type rowsOf func([]layout.Row, *Record) []layout.Row

// together joins several rowsOf into one; their rows are appended in order.
func together(all ...rowsOf) rowsOf {
	return func(rows []layout.Row, r *Record) []layout.Row {
		for _, of := range all {
			rows = of(rows, r)
		}
		return rows
	}
}

// undecided are the statuses in which a case may be decided.
var undecided = []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended}

// inFlight are the statuses in which a payout may get its final status.
var inFlight = []pix.TxStatus{pix.StatusAccepted, pix.StatusSending, pix.StatusQueued, pix.StatusPending}

// kinds has an entry for each record kind. docs/formats.md has the same table.
var kinds = [...]kindRow{
	AccountOpened:   {name: "account.opened", entity: entityAccount},
	SettingsChanged: {name: "settings.changed", entity: entityAccount},
	AnswerKept:      {name: "answer.kept", rows: answerRow},

	Credited: {
		name: "credited", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusCompleted,
		shows: true, books: true, balance: brings, move: MoveCreditSettled, rows: together(itemRows, statementRow, referenceRow),
	},
	ChargeCreated: {
		name: "charge.created", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusActive,
		shows: true, answers: true, rows: together(itemRows, answerRow),
	},
	PaymentReceived: {
		name: "payment.received", entity: entityTransaction, from: []pix.TxStatus{0, pix.StatusActive}, to: pix.StatusCompleted,
		shows: true, books: true, balance: brings, move: MovePaymentSettled, rows: together(itemRows, statementRow, receivedRow),
	},
	ReturnReceived: {
		name: "return.received", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusCompleted,
		shows: true, books: true, balance: brings, move: MovePayoutReturned, rows: together(itemRows, statementRow, receivedRow),
	},

	PayoutHeld: {
		name: "payout.held", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusHeld,
		held: brings, move: MovePayoutAsked, rows: together(holdRows, answerRow),
	},
	PayoutRefused: {
		name: "payout.refused", entity: entityTransaction, from: []pix.TxStatus{pix.StatusHeld}, to: pix.StatusRefused,
		held: takes, move: MovePayoutRefused, rows: together(refusalRows, answerRow),
	},
	PayoutAccepted: {
		name: "payout.accepted", entity: entityTransaction, from: []pix.TxStatus{pix.StatusHeld}, to: pix.StatusAccepted,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},
	PayoutPending: {
		name: "payout.pending", entity: entityTransaction, from: []pix.TxStatus{pix.StatusHeld}, to: pix.StatusPending,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},
	PayoutQueued: {
		name: "payout.queued", entity: entityTransaction, from: []pix.TxStatus{pix.StatusHeld}, to: pix.StatusQueued,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},

	PayoutApproved: {
		name: "payout.approved", entity: entityTransaction, from: []pix.TxStatus{pix.StatusPending}, to: pix.StatusSending, rows: openAgain,
	},
	PayoutReleased: {
		name: "payout.released", entity: entityTransaction, from: []pix.TxStatus{pix.StatusQueued}, to: pix.StatusSending, rows: openAgain,
	},
	PayoutSending: {
		name: "payout.sending", entity: entityTransaction, from: []pix.TxStatus{pix.StatusQueued}, to: pix.StatusSending, rows: openAgain,
	},
	PayoutRequeued: {
		name: "payout.requeued", entity: entityTransaction, from: []pix.TxStatus{pix.StatusSending}, to: pix.StatusQueued, rows: openAgain,
	},
	PayoutSent: {
		name: "payout.sent", entity: entityTransaction, from: []pix.TxStatus{pix.StatusSending, pix.StatusAccepted}, to: pix.StatusAccepted, rows: openAgain,
	},

	PayoutSettled: {
		name: "payout.settled", entity: entityTransaction, from: inFlight, to: pix.StatusSettled,
		books: true, balance: takes, held: takes, move: MovePayoutSettled, rows: together(itemRows, statementRow, endRows),
	},
	PayoutRejected: {
		name: "payout.rejected", entity: entityTransaction, from: inFlight, to: pix.StatusRejected,
		books: true, held: takes, move: MovePayoutRejected, rows: together(itemRows, statementRow, endRows),
	},
	PayoutFailed: {
		name: "payout.failed", entity: entityTransaction, from: inFlight, to: pix.StatusFailed,
		books: true, held: takes, move: MovePayoutFailed, rows: together(itemRows, statementRow, endRows),
	},

	PayoutSettledLate: {
		name: "payout.settled_late", entity: entityTransaction, from: []pix.TxStatus{pix.StatusFailed}, to: pix.StatusSettled,
		balance: takes, move: MovePayoutSettled, rows: together(itemRows, statementRow),
	},
	PayoutRejectedAfterVoid: {
		name: "payout.rejected_after_void", entity: entityTransaction, from: []pix.TxStatus{pix.StatusFailed}, to: pix.StatusFailed, rows: itemRows,
	},
	PayoutReturned: {
		name: "payout.returned", entity: entityTransaction, from: []pix.TxStatus{pix.StatusSettled}, to: pix.StatusSettled, rows: itemRows,
	},

	RefundHeld: {
		name: "refund.held", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusHeld,
		held: brings, sums: true, move: MoveRefundAsked, rows: together(refundHoldRows, sumsRow, answerRow),
	},
	RefundAccepted: {
		name: "refund.accepted", entity: entityTransaction, from: []pix.TxStatus{pix.StatusHeld}, to: pix.StatusAccepted,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},
	RefundSent: {
		name: "refund.sent", entity: entityTransaction, from: []pix.TxStatus{pix.StatusAccepted}, to: pix.StatusAccepted, rows: openAgain,
	},
	RefundSettled: {
		name: "refund.settled", entity: entityTransaction, from: []pix.TxStatus{pix.StatusAccepted}, to: pix.StatusSettled,
		books: true, balance: takes, held: takes, sums: true, move: MoveRefundSettled, rows: together(itemRows, statementRow, endRows, sumsRow),
	},
	RefundFailed: {
		name: "refund.failed", entity: entityTransaction, from: []pix.TxStatus{pix.StatusAccepted}, to: pix.StatusFailed,
		books: true, held: takes, sums: true, move: MoveRefundFailed, rows: together(itemRows, statementRow, endRows, sumsRow),
	},
	RefundSettledLate: {
		name: "refund.settled_late", entity: entityTransaction, from: []pix.TxStatus{pix.StatusFailed}, to: pix.StatusSettled,
		balance: takes, sums: true, move: MoveRefundSettled, rows: together(itemRows, statementRow, sumsRow),
	},

	RefundFound: {
		name: "refund.found", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusSettled,
		shows: true, books: true, balance: takes, sums: true, found: true, move: MoveRefundSettled, rows: together(itemRows, statementRow, refundRow, suffixRows, sumsRow),
	},
	RefundFoundOpen: {
		name: "refund.found_open", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusAccepted,
		shows: true, held: brings, sums: true, found: true, move: MoveRefundAsked, rows: together(itemRows, refundHoldRows, openRow, suffixRows, sumsRow),
	},
	PayoutFound: {
		name: "payout.found", entity: entityTransaction, from: []pix.TxStatus{0}, to: pix.StatusAccepted,
		shows: true, held: brings, found: true, move: MovePayoutAsked, rows: together(itemRows, suffixRows, holdRows, openRow),
	},

	CaseOpened:      {name: "case.opened", entity: entityCase, cases: []pix.CaseStatus{0}, caseTo: pix.CaseOpen, sums: true, rows: caseRows},
	CaseWasDefended: {name: "case.defended", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen}, caseTo: pix.CaseDefended, answers: true, rows: together(caseRows, answerRow)},
	CaseWasClosed:   {name: "case.closed", entity: entityCase, cases: undecided, caseTo: pix.CaseClosed, sums: true, rows: caseRows},
	CaseWithdrawn:   {name: "case.withdrawn", entity: entityCase, cases: undecided, caseTo: pix.CaseCancelled, sums: true, rows: caseRows},
	CaseWaits:       {name: "case.waits", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, rows: caseRows},
	CaseRefunding:   {name: "case.refunding", entity: entityCase, cases: []pix.CaseStatus{pix.CaseClosed}, sums: true, rows: caseRows},
	CaseRefunded:    {name: "case.refunded", entity: entityCase, cases: []pix.CaseStatus{pix.CaseClosed}, sums: true, rows: caseRows},
	CaseRestored:    {name: "case.restored", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed, pix.CaseCancelled}, sums: true, rows: caseRows},
	CaseReleased:    {name: "case.released", entity: entityCase, cases: []pix.CaseStatus{pix.CaseClosed}, sums: true, rows: caseRows},
	CaseReduced:     {name: "case.reduced", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, sums: true, rows: caseRows},

	CaseRaised:  {name: "case.raised", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, sums: true, rows: caseRows},
	CaseRetried: {name: "case.retried", entity: entityCase, cases: []pix.CaseStatus{pix.CaseClosed}, rows: caseRows},
	CaseAwaits:  {name: "case.awaits", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, rows: caseRows},
	CaseResumed: {name: "case.resumed", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, rows: caseRows},
	CaseCounted: {name: "case.counted", entity: entityCase, cases: []pix.CaseStatus{pix.CaseOpen, pix.CaseDefended, pix.CaseClosed}, sums: true, rows: caseRows},

	SubscriptionMade:    {name: "subscription.made", entity: entitySubscription, answers: true, rows: together(subscriptionRow, answerRow)},
	SubscriptionEnded:   {name: "subscription.ended", entity: entitySubscription, rows: subscriptionRow},
	SubscriptionDropped: {name: "subscription.dropped", entity: entitySubscription, rows: subscriptionRow},
	SubscriptionChanged: {name: "subscription.changed", entity: entitySubscription, answers: true, rows: together(subscriptionRow, answerRow)},
	SubscriptionTested:  {name: "subscription.tested", entity: entitySubscription, answers: true, rows: together(subscriptionRow, answerRow)},
}

// row returns the kind's entry in kinds; an entry without a name for an unknown kind.
func (k RecordKind) row() *kindRow {
	if int(k) >= len(kinds) {
		return &kinds[0]
	}
	return &kinds[k]
}

// isKnown tells whether this version of the engine knows the kind.
func (k RecordKind) isKnown() bool { return k.row().name != "" }

// String is the kind's name in dumps and messages.
func (k RecordKind) String() string {
	if name := k.row().name; name != "" {
		return name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Answers tells whether records of this kind store the answer to a merchant's request, which is sent
// again when the request is repeated under its Idempotency-Key.
func (k RecordKind) Answers() bool { return k.row().answers }

// shows tells whether the record makes its transaction visible to the merchant. A payment
// that completes a charge does not: the charge was visible before.
func (r *Record) shows() bool {
	return r.Kind.row().shows && (r.Kind != PaymentReceived || r.Tx.Kind == pix.TxReceipt)
}

// books tells whether the record gives its transaction a final status in the statement.
func (r *Record) books() bool { return r.Kind.row().books }

// caseTransition returns an error where a record of the kind may not follow a record that
// left the case in status from, or may not give the case the status to.
func caseTransition(kind RecordKind, from, to pix.CaseStatus) error {
	k := kind.row()
	if k.entity != entityCase {
		return fmt.Errorf("%v is about no case", kind)
	}
	if want := cmp.Or(k.caseTo, from); !slices.Contains(k.cases, from) || to != want {
		return fmt.Errorf("%v leads from %q to %q", kind, from, to)
	}
	return nil
}

// transition returns an error where a record of the kind may not follow a record that left
// the transaction in status from, or may not give the transaction the status to.
func transition(kind RecordKind, from, to pix.TxStatus) error {
	k := kind.row()
	if k.entity != entityTransaction {
		return fmt.Errorf("%v is about no transaction", kind)
	}
	if !slices.Contains(k.from, from) || to != k.to {
		return fmt.Errorf("%v leads from %q to %q", kind, from, to)
	}
	return nil
}
