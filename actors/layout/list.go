package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// ItemKey is the key of an account's item with that ordinal.
func ItemKey(a pix.AccountID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowItem, a, 8), ordinal)
}

// ItemRow is the value under ItemKey: the fields that lists filter on, and the sequence of
// the newest record with the whole transaction.
type ItemRow struct {
	CreatedAt pix.Millis
	Seq       uint64
	Status    pix.TxStatus
	Kind      pix.TxKind
}

// Encode returns the value as it is stored.
func (r ItemRow) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, itemRowBytes), uint64(r.CreatedAt))
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	return append(b, byte(r.Status), byte(r.Kind))
}

const itemRowBytes = 8 + 8 + 1 + 1

// DecodeItemRow decodes an item row.
func DecodeItemRow(b []byte) (ItemRow, error) {
	if len(b) != itemRowBytes {
		return ItemRow{}, shortRow("item", b)
	}
	return ItemRow{
		CreatedAt: pix.Millis(binary.BigEndian.Uint64(b)), Seq: binary.BigEndian.Uint64(b[8:]),
		Status: pix.TxStatus(b[16]), Kind: pix.TxKind(b[17]),
	}, nil
}

// ItemsOf is the key range of an account's items; account 0: of all accounts' items.
func ItemsOf(a pix.AccountID) (lo, hi []byte) {
	if a == 0 {
		return []byte{rowItem}, []byte{rowItem + 1}
	}
	return accountRange(rowItem, a)
}

// IsItemKey tells whether a key is that of an item row.
func IsItemKey(k []byte) bool { return len(k) == 1+8+8 && k[0] == rowItem }

// ItemOwner reads the account from the key of an item row.
func ItemOwner(k []byte) pix.AccountID { return pix.AccountID(binary.BigEndian.Uint64(k[1:9])) }

// StatementKey is the key of an account's movement with that booking number.
func StatementKey(a pix.AccountID, booking uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowStatement, a, 8), booking)
}

// StatementRow is the value under StatementKey: the fields that the statement filters on,
// and the item's ordinal.
type StatementRow struct {
	BookedAt pix.Millis
	Ordinal  uint64
	Status   pix.TxStatus
	Kind     pix.TxKind
}

// Encode returns the value as it is stored.
func (r StatementRow) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, statementRowBytes), uint64(r.BookedAt))
	b = binary.BigEndian.AppendUint64(b, r.Ordinal)
	return append(b, byte(r.Status), byte(r.Kind))
}

const statementRowBytes = 8 + 8 + 1 + 1

// DecodeStatementRow decodes a statement row.
func DecodeStatementRow(b []byte) (StatementRow, error) {
	if len(b) != statementRowBytes {
		return StatementRow{}, shortRow("statement", b)
	}
	return StatementRow{
		BookedAt: pix.Millis(binary.BigEndian.Uint64(b)), Ordinal: binary.BigEndian.Uint64(b[8:]),
		Status: pix.TxStatus(b[16]), Kind: pix.TxKind(b[17]),
	}, nil
}

// StatementOf is the key range of an account's statement rows.
func StatementOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowStatement, a) }

// RowNumber reads the number at the end of the key of an item row or a statement row: the
// item's ordinal, or the booking number.
func RowNumber(k []byte) (uint64, error) {
	if len(k) != 1+8+8 {
		return 0, shortRow("numbered key", k)
	}
	return binary.BigEndian.Uint64(k[9:]), nil
}
