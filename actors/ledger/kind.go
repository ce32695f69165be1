package ledger

import (
	"fmt"
	"slices"
)

// RecordKind is what happened. Its values are stored: new kinds are added at
// the end, none ever gets a new meaning. Kinds 64 and up are the registry's.
type RecordKind uint8

// The kinds of an account's records.
const (
	AccountOpened   RecordKind = 1
	SettingsChanged RecordKind = 2
	Credited        RecordKind = 3  // TED or internal credit
	ChargeCreated   RecordKind = 4  // a QR code waits for its payer
	PaymentReceived RecordKind = 5  // a customer paid: a charge's completion or a plain receipt
	PayoutHeld      RecordKind = 6  // gross amount held
	PayoutAccepted  RecordKind = 7  // the scheme has it, or may have it
	PayoutSettled   RecordKind = 8  // debited
	PayoutRejected  RecordKind = 9  // by the scheme, after acceptance: hold released
	PayoutRefused   RecordKind = 10 // inside the call: hold released, nothing shown
	PayoutFailed    RecordKind = 11 // after acceptance, not by the scheme: hold released
	AnswerKept      RecordKind = 12 // a request that changes nothing was answered under a claim

	PayoutPending           RecordKind = 13 // waits for an operator; shown from here on
	PayoutApproved          RecordKind = 14 // and goes out
	PayoutQueued            RecordKind = 15 // waits for directory capacity; shown from here on
	PayoutRequeued          RecordKind = 16 // the same of one that was shown before
	PayoutSending           RecordKind = 17 // its lookup passed: it is submitted after this
	PayoutSent              RecordKind = 18 // the scheme has one that was shown before, or may have it
	PayoutSettledLate       RecordKind = 19 // after it was voided: debited without a hold
	ReturnReceived          RecordKind = 20 // a payout came back, in full or in part: credited
	PayoutReturned          RecordKind = 21 // what the payout has returned so far
	PayoutRejectedAfterVoid RecordKind = 22 // it was voided, and the scheme has rejected it since: it can settle no more
)

// entity is what a record is about.
type entity uint8

const (
	entityNone        entity = iota // neither: an answer
	entityAccount                   // the account's settings
	entityTransaction               // one transaction
)

// kindRow is what a record kind is. Every property of a kind stands here, and nowhere
// else: the head's sums, the legal transitions, the rows.
type kindRow struct {
	name    string // in dumps and messages
	entity  entity
	from    []TxStatus // the statuses before it; 0: the transaction has no record yet
	to      TxStatus
	shows   bool   // it is the first that shows its transaction, save where it completes a charge
	books   bool   // it gives the transaction a final status in the statement
	balance sign   // how it moves the balance
	held    sign   // and what is held
	answers bool   // it answers the request whose claim it carries
	rows    rowsOf // the rows that it writes and deletes
}

// sign says by what a record moves a sum: nothing, what its transaction brings (Net),
// or takes (Gross).
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

// rowsOf appends the rows of one record.
type rowsOf func([]Row, *Record) []Row

// together appends the rows of several, in order.
func together(all ...rowsOf) rowsOf {
	return func(rows []Row, r *Record) []Row {
		for _, of := range all {
			rows = of(rows, r)
		}
		return rows
	}
}

// inFlight is where the scheme's word finds a payout that has not ended.
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

// row is the kind's row; the zero row, without a name, for a kind that is unknown.
func (k RecordKind) row() *kindRow {
	if int(k) >= len(kinds) {
		return &kinds[0]
	}
	return &kinds[k]
}

// known tells kinds of this version.
func (k RecordKind) known() bool { return k.row().name != "" }

// String is the kind's name in dumps and messages.
func (k RecordKind) String() string {
	if name := k.row().name; name != "" {
		return name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Answers tells kinds that answer the request whose claim they carry.
func (k RecordKind) Answers() bool { return k.row().answers }

// shows tells whether the record is the first that shows its item: completing a
// charge only rewrites one that is there.
func (r *Record) shows() bool {
	return r.Kind.row().shows && (r.Kind != PaymentReceived || r.Tx.Kind == TxReceipt)
}

// books tells whether the record gives its item a final status in the statement.
func (r *Record) books() bool { return r.Kind.row().books }

// transition is an error where a record of the kind may not follow a transaction's
// newest record, or makes something else of it.
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
