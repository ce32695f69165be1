package layout

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/pix"
)

// The kinds of rows that records write. docs/formats.md shows each key and value; every
// integer in them is big-endian. A key's first byte is the kind of row; 'c' is the registry's.
// In an account's rows the account comes next, so that one account's keys are one range.
// "Global" marks rows whose key does not begin with an account.
const (
	rowRefunds      = 'b' // the refund sums of a received payment
	rowEndToEnd     = 'e' // end-to-end id of a payout, or D id of a refund; global
	rowReceived     = 'f' // a received payment's end-to-end id; global
	rowDue          = 'd' // a payout, refund or case that must be looked after at a certain time; global
	rowHead         = 'h' // an account's head as it was after one of its records
	rowID           = 'i' // the row that finds a transaction by id or transaction_id; global
	rowIdempotency  = 'k' // an idempotency claim and where its answer is; by day, then by account
	rowCase         = 'l' // a special-return case, in the order of opening
	rowInfraction   = 'm' // the row that finds a case by the scheme's id of the report; global
	rowCaseID       = 'n' // the row that finds a case by its id; global
	rowOpen         = 'o' // a payout or refund in flight
	rowQueue        = 'q' // a payout that waits for directory capacity; by queue
	rowSharedQueue  = 'z' // a payout that waits for the institution's directory capacity; by account
	rowReference    = 'r' // the row that finds a credit by its reference
	rowPending      = 'p' // a webhook event that a subscription has yet to get; by subscription, then by due time
	rowStatement    = 's' // a movement in the account's statement
	rowItem         = 't' // a transaction, in the order in which the merchant was shown them
	rowHolding      = 'u' // a special-return case that holds money
	rowDelivered    = 'v' // what became of a webhook event's delivery; by subscription. No record derives these rows
	rowSubscription = 'w' // a webhook subscription
	rowExternal     = 'x' // the row that finds a transaction by the merchant's own id (external_id)
	rowLacking      = 'y' // a special-return case that disputes more of its payment than it holds; by payment
)

// SetOnce are the first bytes of the keys of rows that are never set while they exist; see
// wal.Options.SetOnce. A change that sets such a row again deletes it first.
var SetOnce = []byte{rowDue, rowOpen, rowPending}

// Row is one key that is written or, where Value is nil, deleted.
type Row struct {
	Key   []byte
	Value []byte
}

// Visit is called for each row of a key range, in the order of the keys, until it returns false for
// more, or an error, which ends the scan. It must not keep key or value.
type Visit = func(key, value []byte) (more bool, err error)

// Getter reads rows by their keys.
type Getter interface {
	// Get returns the value of a key; false where the key does not exist.
	Get(key []byte) (value []byte, ok bool, err error)
}

// Find reads the row under a key; false where the key does not exist. decode makes the row of the
// key's value.
func Find[T any](r Getter, key []byte, decode func(value []byte) (T, error)) (row T, ok bool, err error) {
	value, ok, err := r.Get(key)
	if err != nil || !ok {
		return row, false, err
	}
	row, err = decode(value)
	return row, err == nil, err
}

// Rows reads rows.
type Rows interface {
	Getter
	// Scan visits the rows with lo <= key < hi.
	Scan(lo, hi []byte, visit Visit) error
}

// IsFact tells whether a later command of the account may read the row with this key. All
// other rows are for lists, for the scanner of due times, and for restoring the account.
func IsFact(key []byte) bool {
	switch key[0] {
	case rowStatement, rowHead, rowExternal, rowQueue, rowSharedQueue, rowPending:
		return false
	}
	return true
}

// MostlyAbsent tells whether a row with this key mostly does not exist when a command looks for
// it: the end-to-end row of a new payout, and the refund sums of a payment of which nothing was
// refunded yet. A filter over these keys saves most of those reads.
func MostlyAbsent(key []byte) bool { return key[0] == rowEndToEnd || key[0] == rowRefunds }

// MostlyAbsentRanges are the key ranges of all rows for which MostlyAbsent is true.
func MostlyAbsentRanges() [][2][]byte {
	return [][2][]byte{{{rowEndToEnd}, {rowEndToEnd + 1}}, {{rowRefunds}, {rowRefunds + 1}}}
}

func accountKey(tag byte, a pix.AccountID, room int) []byte {
	k := make([]byte, 9, 9+room)
	k[0] = tag
	binary.BigEndian.PutUint64(k[1:], uint64(a))
	return k
}

// accountRange is the key range of all of an account's rows of one kind.
func accountRange(tag byte, a pix.AccountID) (lo, hi []byte) {
	if a == ^pix.AccountID(0) {
		return accountKey(tag, a, 0), []byte{tag + 1}
	}
	return accountKey(tag, a, 0), accountKey(tag, a+1, 0)
}

// SeqRow is the value of open, reference and due rows: the sequence of the record that
// contains the whole transaction.
func SeqRow(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// DecodeSeqRow decodes the value that SeqRow makes.
func DecodeSeqRow(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, shortRow("sequence", b)
	}
	return binary.BigEndian.Uint64(b), nil
}

// ErrMalformed says that a row has not the form of its kind.
var ErrMalformed = errors.New("malformed")

func shortRow(what string, b []byte) error {
	return fmt.Errorf("ledger: %w: %s row of %d bytes", ErrMalformed, what, len(b))
}

// RowName returns the name that docs/formats.md gives to the kind of row with this key;
// empty for a key that is not a ledger row's.
func RowName(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return rowNames[key[0]]
}

var rowNames = map[byte]string{
	rowEndToEnd: "end-to-end", rowReceived: "received", rowDue: "due", rowHead: "head", rowID: "id",
	rowIdempotency: "idempotency", rowOpen: "open", rowQueue: "queue", rowSharedQueue: "queue", rowReference: "reference",
	rowRefunds: "refund sums", rowCase: "case", rowCaseID: "case id", rowInfraction: "infraction", rowHolding: "holding", rowLacking: "lacking",
	rowPending: "pending delivery", rowDelivered: "delivery status", rowSubscription: "subscription",
	rowStatement: "statement", rowItem: "item", rowExternal: "external id",
}

// HeadKey is the key of an account's head row.
func HeadKey(a pix.AccountID) []byte { return accountKey(rowHead, a, 0) }

// HeadOwner reads the account from the key of a head row; false for any other key.
func HeadOwner(key []byte) (pix.AccountID, bool) {
	if len(key) != 1+8 || key[0] != rowHead {
		return 0, false
	}
	return pix.AccountID(binary.BigEndian.Uint64(key[1:])), true
}
