package ledger

import (
	"encoding/binary"
	"fmt"
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

// Row is one key that is written or, where Value is nil, deleted.
type Row struct {
	Key   []byte
	Value []byte
}

func accountKey(tag byte, a AccountID, room int) []byte {
	k := make([]byte, 9, 9+room)
	k[0] = tag
	binary.BigEndian.PutUint64(k[1:], uint64(a))
	return k
}

// HeadKey is the key of an account's head row.
func HeadKey(a AccountID) []byte { return accountKey(rowHead, a, 0) }

// OpenKey is the key of the open row of a payout or refund in flight.
func OpenKey(a AccountID, id TxID) []byte { return append(accountKey(rowOpen, a, 16), id[:]...) }

// ItemKey is the key of an account's item with that ordinal.
func ItemKey(a AccountID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowItem, a, 8), ordinal)
}

// StatementKey is the key of an account's movement with that booking number.
func StatementKey(a AccountID, booking uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowStatement, a, 8), booking)
}

// ReferenceKey is the key of the row for a credit's reference.
func ReferenceKey(a AccountID, reference string) []byte {
	return append(accountKey(rowReference, a, len(reference)), reference...)
}

// ExternalKey is the key of the row for a transaction with the merchant's external id.
// Without its last 8 bytes the key is the common prefix of all the account's transactions
// with that external id.
func ExternalKey(a AccountID, external string, ordinal uint64) []byte {
	k := append(accountKey(rowExternal, a, len(external)+9), external...)
	return binary.BigEndian.AppendUint64(append(k, 0), ordinal)
}

// ExternalRange is the key range of an account's transactions with an external id, the oldest
// first.
func ExternalRange(a AccountID, external string) (lo, hi []byte) {
	return ExternalKey(a, external, 0), append(append(accountKey(rowExternal, a, len(external)+1), external...), 1)
}

// ExternalOrdinal reads the transaction's ordinal from the key that ExternalKey makes.
func ExternalOrdinal(k []byte) (uint64, error) {
	if len(k) < 1+8+1+8 {
		return 0, shortRow("external id key", k)
	}
	return binary.BigEndian.Uint64(k[len(k)-8:]), nil
}

// IDKey is the key of the row that finds a transaction by id or transaction_id.
func IDKey(s ShortID) []byte { return append([]byte{rowID}, s[:]...) }

// IdempotencyKey is the key of a claim's row. The day comes first, so that all claims of a
// day are one range and can be deleted together.
func IdempotencyKey(bucket uint16, a AccountID, scope [16]byte) []byte {
	k := append(make([]byte, 0, 27), rowIdempotency)
	k = binary.BigEndian.AppendUint16(k, bucket)
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, scope[:]...)
}

// BucketOf returns the bucket of a claim made at t: the number of days since 1970-01-01
// UTC.
func BucketOf(t Millis) uint16 { return uint16(t / (24 * 60 * 60 * 1000)) }

// IdempotencyBefore is the key range of the claims of all days before the day bucket.
func IdempotencyBefore(bucket uint16) (lo, hi []byte) {
	return []byte{rowIdempotency}, binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket)
}

// IdempotencyFrom is the key range of the claims of the day bucket and all later days.
func IdempotencyFrom(bucket uint16) (lo, hi []byte) {
	return binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket), []byte{rowIdempotency + 1}
}

// DecodeIdempotencyDay reads the day from the key of a claim's row.
func DecodeIdempotencyDay(k []byte) (uint16, error) {
	if len(k) != 27 || k[0] != rowIdempotency {
		return 0, shortRow("idempotency key", k)
	}
	return binary.BigEndian.Uint16(k[1:]), nil
}

// IDRow is the value under IDKey.
type IDRow struct {
	Account AccountID
	ID      TxID
	Kind    TxKind
	Ordinal uint64 // place among the account's items
}

const idRowBytes = 8 + 16 + 1 + 8

func (r IDRow) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, idRowBytes), uint64(r.Account))
	b = append(append(b, r.ID[:]...), byte(r.Kind))
	return binary.BigEndian.AppendUint64(b, r.Ordinal)
}

// DecodeIDRow decodes an id row.
func DecodeIDRow(b []byte) (IDRow, error) {
	if len(b) != idRowBytes {
		return IDRow{}, shortRow("id", b)
	}
	return IDRow{
		Account: AccountID(binary.BigEndian.Uint64(b)), ID: TxID(b[8:24]),
		Kind: TxKind(b[24]), Ordinal: binary.BigEndian.Uint64(b[25:]),
	}, nil
}

// ItemRow is the value under ItemKey: the fields that lists filter on, and the sequence of
// the newest record with the whole transaction.
type ItemRow struct {
	CreatedAt Millis
	Seq       uint64
	Status    TxStatus
	Kind      TxKind
}

const itemRowBytes = 8 + 8 + 1 + 1

func (r ItemRow) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, itemRowBytes), uint64(r.CreatedAt))
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	return append(b, byte(r.Status), byte(r.Kind))
}

// DecodeItemRow decodes an item row.
func DecodeItemRow(b []byte) (ItemRow, error) {
	if len(b) != itemRowBytes {
		return ItemRow{}, shortRow("item", b)
	}
	return ItemRow{
		CreatedAt: Millis(binary.BigEndian.Uint64(b)), Seq: binary.BigEndian.Uint64(b[8:]),
		Status: TxStatus(b[16]), Kind: TxKind(b[17]),
	}, nil
}

// StatementRow is the value under StatementKey: the fields that the statement filters on,
// and the item's ordinal.
type StatementRow struct {
	BookedAt Millis
	Ordinal  uint64
	Status   TxStatus
	Kind     TxKind
}

const statementRowBytes = 8 + 8 + 1 + 1

func (r StatementRow) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, statementRowBytes), uint64(r.BookedAt))
	b = binary.BigEndian.AppendUint64(b, r.Ordinal)
	return append(b, byte(r.Status), byte(r.Kind))
}

// DecodeStatementRow decodes a statement row.
func DecodeStatementRow(b []byte) (StatementRow, error) {
	if len(b) != statementRowBytes {
		return StatementRow{}, shortRow("statement", b)
	}
	return StatementRow{
		BookedAt: Millis(binary.BigEndian.Uint64(b)), Ordinal: binary.BigEndian.Uint64(b[8:]),
		Status: TxStatus(b[16]), Kind: TxKind(b[17]),
	}, nil
}

// StatementOf is the key range of an account's statement rows.
func StatementOf(a AccountID) (lo, hi []byte) { return accountRange(rowStatement, a) }

// RowNumber reads the number at the end of the key of an item row or a statement row: the
// item's ordinal, or the booking number.
func RowNumber(k []byte) (uint64, error) {
	if len(k) != 1+8+8 {
		return 0, shortRow("numbered key", k)
	}
	return binary.BigEndian.Uint64(k[9:]), nil
}

// IdempotencyRow is the value under IdempotencyKey.
type IdempotencyRow struct {
	Answered bool   // false: the request that made the claim has no answer yet
	Doubted  bool   // engine time was doubted when the claim was made
	Seq      uint64 // sequence of the record with the answer or, without an answer, of the record that made the claim
	At       Millis // when the claim was made; a repeat counts as a repeat for 24 h after that
	BodyHash [16]byte
	Tx       TxID // the transaction that the claim is about
}

// The bits of an idempotency row's first byte.
const (
	claimAnswered = 1
	claimDoubted  = 2
)

// Age returns the claim's age in ms; if engine time was doubted when the claim was made,
// the smallest age that is possible.
func (r *IdempotencyRow) Age(now Reading) Millis { return now.Clock - now.since(r.At, r.Doubted) }

const idempotencyRowBytes = 1 + 8 + 8 + 16 + 16

func (r IdempotencyRow) encode() []byte {
	b := make([]byte, 1, idempotencyRowBytes)
	if r.Answered {
		b[0] |= claimAnswered
	}
	if r.Doubted {
		b[0] |= claimDoubted
	}
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(r.At))
	b = append(b, r.BodyHash[:]...)
	return append(b, r.Tx[:]...)
}

// DecodeIdempotencyRow decodes an idempotency row.
func DecodeIdempotencyRow(b []byte) (IdempotencyRow, error) {
	if len(b) != idempotencyRowBytes {
		return IdempotencyRow{}, shortRow("idempotency", b)
	}
	return IdempotencyRow{
		Answered: b[0]&claimAnswered != 0, Doubted: b[0]&claimDoubted != 0, Seq: binary.BigEndian.Uint64(b[1:]), At: Millis(binary.BigEndian.Uint64(b[9:])),
		BodyHash: [16]byte(b[17:33]), Tx: TxID(b[33:49]),
	}, nil
}

// seqRow is the value of open, reference and due rows: the sequence of the record that
// contains the whole transaction.
func seqRow(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// DecodeSeqRow decodes the value that seqRow makes.
func DecodeSeqRow(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, shortRow("sequence", b)
	}
	return binary.BigEndian.Uint64(b), nil
}

func shortRow(what string, b []byte) error {
	return fmt.Errorf("ledger: %s row of %d bytes", what, len(b))
}

// ItemsOf is the key range of an account's items; account 0: of all accounts' items.
func ItemsOf(a AccountID) (lo, hi []byte) {
	if a == 0 {
		return []byte{rowItem}, []byte{rowItem + 1}
	}
	return accountRange(rowItem, a)
}

// IsItemKey tells whether a key is that of an item row.
func IsItemKey(k []byte) bool { return len(k) == 1+8+8 && k[0] == rowItem }

// ItemOwner reads the account from the key of an item row.
func ItemOwner(k []byte) AccountID { return AccountID(binary.BigEndian.Uint64(k[1:9])) }

// OpenRange is the key range of all payouts and refunds in flight.
func OpenRange() (lo, hi []byte) { return []byte{rowOpen}, []byte{rowOpen + 1} }

// OpenOf is the key range of an account's payouts and refunds in flight.
func OpenOf(a AccountID) (lo, hi []byte) { return accountRange(rowOpen, a) }

// DecodeOpenKey reads the account and the transaction id from the key of an open row.
func DecodeOpenKey(k []byte) (AccountID, TxID, error) {
	if !IsOpenKey(k) {
		return 0, TxID{}, shortRow("open key", k)
	}
	return AccountID(binary.BigEndian.Uint64(k[1:])), TxID(k[9:]), nil
}

// IsOpenKey tells whether a key is that of an open row.
func IsOpenKey(k []byte) bool { return len(k) == 1+8+16 && k[0] == rowOpen }
