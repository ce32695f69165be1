package ledger

import (
	"fmt"
	"slices"
)

// RecordKind is the kind of event that a record is about. Its values are stored: new kinds
// are added at the end, and no value ever gets a new meaning. Kinds 64 and up are the
// registry's.
type RecordKind uint8

// The kinds of an account's records.
const (
	AccountOpened   RecordKind = 1
	SettingsChanged RecordKind = 2
	Credited        RecordKind = 3  // TED or internal credit
	ChargeCreated   RecordKind = 4  // a QR code was made for a customer to pay
	PaymentReceived RecordKind = 5  // a customer paid: completes a charge, or is a receipt
	PayoutHeld      RecordKind = 6  // gross amount held
	PayoutAccepted  RecordKind = 7  // the scheme has the payout, or may have it
	PayoutSettled   RecordKind = 8  // balance debited, hold released
	PayoutRejected  RecordKind = 9  // the scheme rejected it after acceptance: hold released
	PayoutRefused   RecordKind = 10 // refused before it was shown: hold released
	PayoutFailed    RecordKind = 11 // failed after acceptance, not by the scheme: hold released
	AnswerKept      RecordKind = 12 // a request that changes nothing was answered under a claim

	PayoutPending           RecordKind = 13 // the payout waits for an operator's approval; shown from here on
	PayoutApproved          RecordKind = 14 // an operator approved the payout, and it is sent
	PayoutQueued            RecordKind = 15 // the payout waits for directory capacity; shown from here on
	PayoutRequeued          RecordKind = 16 // a payout that was shown before waits for directory capacity
	PayoutSending           RecordKind = 17 // the lookup of a queued payout succeeded: it is submitted after this
	PayoutSent              RecordKind = 18 // the scheme has a payout that was shown before, or may have it
	PayoutSettledLate       RecordKind = 19 // settled after it was voided: debited without a hold
	ReturnReceived          RecordKind = 20 // a payout was returned, in full or in part: credited
	PayoutReturned          RecordKind = 21 // how much of the payout has been returned so far
	PayoutRejectedAfterVoid RecordKind = 22 // the scheme rejected a voided payout: it can settle no more
)

// entity is the kind of thing that a record is about.
type entity uint8

const (
	entityNone        entity = iota // none of the two below: a stored answer
	entityAccount                   // the account's settings
	entityTransaction               // one transaction
)

// kindRow has the properties of a record kind. Every property of a kind is here and nowhere
// else: the sums of the head, the legal transitions, the rows.
type kindRow struct {
	name    string // name in dumps and messages
	entity  entity
	from    []TxStatus // the statuses that the record may follow; 0: it may be the transaction's first record
	to      TxStatus
	shows   bool   // the record is the first that shows its transaction, unless it completes a charge
	books   bool   // the record gives the transaction a final status in the statement
	balance sign   // how the record changes the balance
	held    sign   // how the record changes the held amount
	answers bool   // the record answers the request of its claim
	rows    rowsOf // makes the rows that the record writes and deletes
}

// sign says how a record changes a sum: 0 not at all, brings adds and takes subtracts the
// transaction's amount: Gross for a payout, Net for money that comes in.
type sign int8

const (
	brings sign = 1
	takes  sign = -1
)

func (s sign) of(t *Transaction) Amount {
	switch {
	case s == 0:
		return 0
	case t.Kind.Outbound():
		return Amount(s) * t.Gross()
	}
	return Amount(s) * t.Net()
}

// rowsOf appends the rows of one record to the given rows.
type rowsOf func([]Row, *Record) []Row

// together makes one rowsOf of several, which append their rows in order.
func together(all ...rowsOf) rowsOf {
	return func(rows []Row, r *Record) []Row {
		for _, of := range all {
			rows = of(rows, r)
		}
		return rows
	}
}

// inFlight are the statuses in which a payout may get its final status.
var inFlight = []TxStatus{StatusAccepted, StatusSending, StatusQueued, StatusPending}

// kinds has a row for each record kind. docs/formats.md has the same table.
var kinds = [...]kindRow{
	AccountOpened:   {name: "account.opened", entity: entityAccount},
	SettingsChanged: {name: "settings.changed", entity: entityAccount},
	AnswerKept:      {name: "answer.kept", rows: answerRow},

	Credited: {
		name: "credited", entity: entityTransaction, from: []TxStatus{0}, to: StatusCompleted,
		shows: true, books: true, balance: brings, rows: together(itemRows, statementRow, referenceRow),
	},
	ChargeCreated: {
		name: "charge.created", entity: entityTransaction, from: []TxStatus{0}, to: StatusActive,
		shows: true, answers: true, rows: together(itemRows, answerRow),
	},
	PaymentReceived: {
		name: "payment.received", entity: entityTransaction, from: []TxStatus{0, StatusActive}, to: StatusCompleted,
		shows: true, books: true, balance: brings, rows: together(itemRows, statementRow, receivedRow),
	},
	ReturnReceived: {
		name: "return.received", entity: entityTransaction, from: []TxStatus{0}, to: StatusCompleted,
		shows: true, books: true, balance: brings, rows: together(itemRows, statementRow, receivedRow),
	},

	PayoutHeld: {
		name: "payout.held", entity: entityTransaction, from: []TxStatus{0}, to: StatusHeld,
		held: brings, rows: together(holdRows, answerRow),
	},
	PayoutRefused: {
		name: "payout.refused", entity: entityTransaction, from: []TxStatus{StatusHeld}, to: StatusRefused,
		held: takes, rows: together(refusalRows, answerRow),
	},
	PayoutAccepted: {
		name: "payout.accepted", entity: entityTransaction, from: []TxStatus{StatusHeld}, to: StatusAccepted,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},
	PayoutPending: {
		name: "payout.pending", entity: entityTransaction, from: []TxStatus{StatusHeld}, to: StatusPending,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},
	PayoutQueued: {
		name: "payout.queued", entity: entityTransaction, from: []TxStatus{StatusHeld}, to: StatusQueued,
		shows: true, answers: true, rows: together(openRows, answerRow),
	},

	PayoutApproved: {
		name: "payout.approved", entity: entityTransaction, from: []TxStatus{StatusPending}, to: StatusSending, rows: openRows,
	},
	PayoutSending: {
		name: "payout.sending", entity: entityTransaction, from: []TxStatus{StatusQueued}, to: StatusSending, rows: openRows,
	},
	PayoutRequeued: {
		name: "payout.requeued", entity: entityTransaction, from: []TxStatus{StatusSending}, to: StatusQueued, rows: openRows,
	},
	PayoutSent: {
		name: "payout.sent", entity: entityTransaction, from: []TxStatus{StatusSending, StatusAccepted}, to: StatusAccepted, rows: openRows,
	},

	PayoutSettled: {
		name: "payout.settled", entity: entityTransaction, from: inFlight, to: StatusSettled,
		books: true, balance: takes, held: takes, rows: together(itemRows, statementRow, endRows),
	},
	PayoutRejected: {
		name: "payout.rejected", entity: entityTransaction, from: inFlight, to: StatusRejected,
		books: true, held: takes, rows: together(itemRows, statementRow, endRows),
	},
	PayoutFailed: {
		name: "payout.failed", entity: entityTransaction, from: inFlight, to: StatusFailed,
		books: true, held: takes, rows: together(itemRows, statementRow, endRows),
	},

	PayoutSettledLate: {
		name: "payout.settled_late", entity: entityTransaction, from: []TxStatus{StatusFailed}, to: StatusSettled,
		balance: takes, rows: together(itemRows, statementRow),
	},
	PayoutRejectedAfterVoid: {
		name: "payout.rejected_after_void", entity: entityTransaction, from: []TxStatus{StatusFailed}, to: StatusFailed, rows: itemRows,
	},
	PayoutReturned: {
		name: "payout.returned", entity: entityTransaction, from: []TxStatus{StatusSettled}, to: StatusSettled, rows: itemRows,
	},
}

// row is the kind's row in kinds; a row without a name for an unknown kind.
func (k RecordKind) row() *kindRow {
	if int(k) >= len(kinds) {
		return &kinds[0]
	}
	return &kinds[k]
}

// known tells whether this version of the engine knows the kind.
func (k RecordKind) known() bool { return k.row().name != "" }

// String is the kind's name in dumps and messages.
func (k RecordKind) String() string {
	if name := k.row().name; name != "" {
		return name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Answers tells whether records of this kind answer the request of their claim.
func (k RecordKind) Answers() bool { return k.row().answers }

// shows tells whether the record is the first that shows its transaction. A payment that
// completes a charge is not: the charge was shown before.
func (r *Record) shows() bool {
	return r.Kind.row().shows && (r.Kind != PaymentReceived || r.Tx.Kind == TxReceipt)
}

// books tells whether the record gives its transaction a final status in the statement.
func (r *Record) books() bool { return r.Kind.row().books }

// transition returns an error where a record of the kind may not follow a record that left
// the transaction in status from, or may not change that status into to.
func transition(kind RecordKind, from, to TxStatus) error {
	k := kind.row()
	if k.entity != entityTransaction {
		return fmt.Errorf("%v is about no transaction", kind)
	}
	if !slices.Contains(k.from, from) || to != k.to {
		return fmt.Errorf("%v leads from %q to %q", kind, from, to)
	}
	return nil
}
