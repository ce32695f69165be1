package ledger

import (
	"encoding/binary"
	"fmt"
)

// The rows that records project to. docs/formats.md has a drawing of each key
// and value; every integer in them is big-endian. A row's first byte says what
// it is; account rows carry the account next, so that one merchant's keys are
// one range.
const (
	rowEndToEnd    = 'e' // a payout's end-to-end id; global
	rowReceived    = 'f' // a received payment's end-to-end id; global
	rowDue         = 'd' // work that waits for an instant; global
	rowHead        = 'h' // an account's head at a sequence
	rowID          = 'i' // a transaction by id and transaction_id; global
	rowIdempotency = 'k' // a claim or its answer; by day, then account
	rowOpen        = 'o' // a payout in flight
	rowQueue       = 'q' // a payout that waits for directory capacity; by bucket
	rowReference   = 'r' // a credit's reference
	rowStatement   = 's' // a booked movement
	rowItem        = 't' // a transaction in order of being shown
	rowExternal    = 'x' // a transaction by the merchant's own id
)

// IsFact tells a row that a later command of the account may ask for. The
// others are for lists, for the scanner and for restoring.
func IsFact(key []byte) bool {
	switch key[0] {
	case rowStatement, rowHead, rowExternal, rowQueue:
		return false
	}
	return true
}

// Row is one key to write, or to delete where Value is nil.
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

// HeadKey is where an account's head row lies.
func HeadKey(a AccountID) []byte { return accountKey(rowHead, a, 0) }

// OpenKey is where a payout in flight lies.
func OpenKey(a AccountID, id TxID) []byte { return append(accountKey(rowOpen, a, 16), id[:]...) }

// ItemKey is where the ordinal-th item of an account lies.
func ItemKey(a AccountID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowItem, a, 8), ordinal)
}

// StatementKey is where the booking-th movement of an account lies.
func StatementKey(a AccountID, booking uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowStatement, a, 8), booking)
}

// ReferenceKey is where a credit's reference lies.
func ReferenceKey(a AccountID, reference string) []byte {
	return append(accountKey(rowReference, a, len(reference)), reference...)
}

// ExternalKey is where an item named by the merchant's own id lies; without
// its last 8 bytes it is the prefix of all items that share the id.
func ExternalKey(a AccountID, external string, ordinal uint64) []byte {
	k := append(accountKey(rowExternal, a, len(external)+9), external...)
	return binary.BigEndian.AppendUint64(append(k, 0), ordinal)
}

// IDKey is where a transaction lies by id and transaction_id.
func IDKey(s ShortID) []byte { return append([]byte{rowID}, s[:]...) }

// IdempotencyKey is where a claim lies: first its day, so that a day is
// dropped whole.
func IdempotencyKey(bucket uint16, a AccountID, scope [16]byte) []byte {
	k := append(make([]byte, 0, 27), rowIdempotency)
	k = binary.BigEndian.AppendUint16(k, bucket)
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, scope[:]...)
}

// BucketOf is the bucket of an instant's claims: its day.
func BucketOf(t Millis) uint16 { return uint16(t / (24 * 60 * 60 * 1000)) }

// IdempotencyBefore is the keys of all days before a bucket's.
func IdempotencyBefore(bucket uint16) (lo, hi []byte) {
	return []byte{rowIdempotency}, binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket)
}

// IdempotencyFrom is the keys of a day's claims and of all later days'.
func IdempotencyFrom(bucket uint16) (lo, hi []byte) {
	return binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket), []byte{rowIdempotency + 1}
}

// DecodeIdempotencyDay reads the day of a claim's key.
func DecodeIdempotencyDay(k []byte) (uint16, error) {
	if len(k) != 27 || k[0] != rowIdempotency {
		return 0, shortRow("idempotency key", k)
	}
	return binary.BigEndian.Uint16(k[1:]), nil
}

// IDRow is what IDKey holds.
type IDRow struct {
	Account AccountID
	ID      TxID
	Kind    TxKind
	Ordinal uint64 // among the account's items
}

const idRowBytes = 8 + 16 + 1 + 8

func (r IDRow) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, idRowBytes), uint64(r.Account))
	b = append(append(b, r.ID[:]...), byte(r.Kind))
	return binary.BigEndian.AppendUint64(b, r.Ordinal)
}

// DecodeIDRow reads an id row.
func DecodeIDRow(b []byte) (IDRow, error) {
	if len(b) != idRowBytes {
		return IDRow{}, shortRow("id", b)
	}
	return IDRow{
		Account: AccountID(binary.BigEndian.Uint64(b)), ID: TxID(b[8:24]),
		Kind: TxKind(b[24]), Ordinal: binary.BigEndian.Uint64(b[25:]),
	}, nil
}

// ItemRow is what ItemKey holds: what lists filter on, and the newest record
// that carries the item whole.
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

// DecodeItemRow reads an item row.
func DecodeItemRow(b []byte) (ItemRow, error) {
	if len(b) != itemRowBytes {
		return ItemRow{}, shortRow("item", b)
	}
	return ItemRow{
		CreatedAt: Millis(binary.BigEndian.Uint64(b)), Seq: binary.BigEndian.Uint64(b[8:]),
		Status: TxStatus(b[16]), Kind: TxKind(b[17]),
	}, nil
}

// StatementRow is what StatementKey holds: what the statement filters on, and
// the item's place.
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

// IdempotencyRow is what IdempotencyKey holds.
type IdempotencyRow struct {
	Answered bool   // false: the claim's work has not answered yet
	Doubted  bool   // the clock was at the claim
	Seq      uint64 // of the record with the answer, or with the claim
	At       Millis // of the claim: 24 h count from it
	BodyHash [16]byte
	Tx       TxID // the transaction that the claim is about
}

// The bits of an idempotency row's first byte.
const (
	claimAnswered = 1
	claimDoubted  = 2
)

// Age is how long ago the claim was made, at least.
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

// DecodeIdempotencyRow reads an idempotency row.
func DecodeIdempotencyRow(b []byte) (IdempotencyRow, error) {
	if len(b) != idempotencyRowBytes {
		return IdempotencyRow{}, shortRow("idempotency", b)
	}
	return IdempotencyRow{
		Answered: b[0]&claimAnswered != 0, Doubted: b[0]&claimDoubted != 0, Seq: binary.BigEndian.Uint64(b[1:]), At: Millis(binary.BigEndian.Uint64(b[9:])),
		BodyHash: [16]byte(b[17:33]), Tx: TxID(b[33:49]),
	}, nil
}

// seqRow is what OpenKey, ReferenceKey and ReceivedKey hold: the record that carries the
// item whole.
func seqRow(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// DecodeSeqRow reads an open or a reference row.
func DecodeSeqRow(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, shortRow("sequence", b)
	}
	return binary.BigEndian.Uint64(b), nil
}

func shortRow(what string, b []byte) error {
	return fmt.Errorf("ledger: %s row of %d bytes", what, len(b))
}

// ItemsOf is the keys of an account's items, or, of account 0, of all accounts'.
func ItemsOf(a AccountID) (lo, hi []byte) {
	if a == 0 || a == ^AccountID(0) {
		return accountKey(rowItem, a, 0), []byte{rowItem + 1}
	}
	return accountKey(rowItem, a, 0), accountKey(rowItem, a+1, 0)
}

// IsItemKey tells whether bytes are the key of an item row.
func IsItemKey(k []byte) bool { return len(k) == 1+8+8 && k[0] == rowItem }

// ItemOwner is whose an item row is.
func ItemOwner(k []byte) AccountID { return AccountID(binary.BigEndian.Uint64(k[1:9])) }

// OpenRange is the keys of all payouts in flight.
func OpenRange() (lo, hi []byte) { return []byte{rowOpen}, []byte{rowOpen + 1} }

// OpenOf is the keys of an account's payouts in flight.
func OpenOf(a AccountID) (lo, hi []byte) {
	lo = accountKey(rowOpen, a, 0)
	if a == ^AccountID(0) {
		return lo, []byte{rowOpen + 1}
	}
	return lo, accountKey(rowOpen, a+1, 0)
}

// DecodeOpenKey reads whose an open row is.
func DecodeOpenKey(k []byte) (AccountID, TxID, error) {
	if !IsOpenKey(k) {
		return 0, TxID{}, shortRow("open key", k)
	}
	return AccountID(binary.BigEndian.Uint64(k[1:])), TxID(k[9:]), nil
}

// IsOpenKey tells whether bytes are the key of an open row.
func IsOpenKey(k []byte) bool { return len(k) == 1+8+16 && k[0] == rowOpen }
