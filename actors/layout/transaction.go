package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// IDKey is the key of the row that finds a transaction by id or transaction_id.
func IDKey(s pix.ShortID) []byte { return append([]byte{rowID}, s[:]...) }

// IDRow is the value under IDKey.
type IDRow struct {
	Account pix.AccountID
	ID      pix.TxID
	Kind    pix.TxKind
	Ordinal uint64 // place among the account's items
}

// Encode returns the value as it is stored.
func (r IDRow) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, idRowBytes), uint64(r.Account))
	b = append(append(b, r.ID[:]...), byte(r.Kind))
	return binary.BigEndian.AppendUint64(b, r.Ordinal)
}

const idRowBytes = 8 + 16 + 1 + 8

// DecodeIDRow decodes an id row.
func DecodeIDRow(b []byte) (IDRow, error) {
	if len(b) != idRowBytes {
		return IDRow{}, shortRow("id", b)
	}
	return IDRow{
		Account: pix.AccountID(binary.BigEndian.Uint64(b)), ID: pix.TxID(b[8:24]),
		Kind: pix.TxKind(b[24]), Ordinal: binary.BigEndian.Uint64(b[25:]),
	}, nil
}

// OpenKey is the key of the open row of a payout or refund in flight.
func OpenKey(a pix.AccountID, id pix.TxID) []byte {
	return append(accountKey(rowOpen, a, 16), id[:]...)
}

// OpenRange is the key range of all payouts and refunds in flight.
func OpenRange() (lo, hi []byte) { return []byte{rowOpen}, []byte{rowOpen + 1} }

// OpenOf is the key range of an account's payouts and refunds in flight.
func OpenOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowOpen, a) }

// DecodeOpenKey reads the account and the transaction id from the key of an open row.
func DecodeOpenKey(k []byte) (pix.AccountID, pix.TxID, error) {
	if !IsOpenKey(k) {
		return 0, pix.TxID{}, shortRow("open key", k)
	}
	return pix.AccountID(binary.BigEndian.Uint64(k[1:])), pix.TxID(k[9:]), nil
}

// IsOpenKey tells whether a key is that of an open row.
func IsOpenKey(k []byte) bool { return len(k) == 1+8+16 && k[0] == rowOpen }

// ReferenceKey is the key of the row for a credit's reference.
func ReferenceKey(a pix.AccountID, reference string) []byte {
	return append(accountKey(rowReference, a, len(reference)), reference...)
}

// ExternalKey is the key of the row for a transaction with the merchant's external id.
// Without its last 8 bytes the key is the common prefix of all the account's transactions
// with that external id.
func ExternalKey(a pix.AccountID, external string, ordinal uint64) []byte {
	k := append(accountKey(rowExternal, a, len(external)+9), external...)
	return binary.BigEndian.AppendUint64(append(k, 0), ordinal)
}

// ExternalRange is the key range of an account's transactions with an external id, the oldest
// first.
func ExternalRange(a pix.AccountID, external string) (lo, hi []byte) {
	return ExternalKey(a, external, 0), append(append(accountKey(rowExternal, a, len(external)+1), external...), 1)
}

// ExternalOrdinal reads the transaction's ordinal from the key that ExternalKey makes.
func ExternalOrdinal(k []byte) (uint64, error) {
	if len(k) < 1+8+1+8 {
		return 0, shortRow("external id key", k)
	}
	return binary.BigEndian.Uint64(k[len(k)-8:]), nil
}

// Place is where a payout or refund is found.
type Place struct {
	Account pix.AccountID
	Ordinal uint64 // place among the account's items; 0: its merchant has not seen it, or never will
	Seq     uint64 // with Ordinal 0: sequence of the record that held or refused it
}

// FindTransfer finds a payout or refund of any account: by its id row, which exists from the record
// that first shows it to the merchant, else by the rows of its end-to-end id. False where there is
// none.
func FindTransfer(r Rows, id pix.TxID, endToEnd string) (Place, bool, error) {
	if row, ok, err := Find(r, IDKey(id.Short()), DecodeIDRow); err != nil || ok && row.ID == id {
		return Place{Account: row.Account, Ordinal: row.Ordinal}, ok, err
	}
	for _, key := range EndToEndKeys(endToEnd) {
		row, there, err := Find(r, key, DecodeEndToEndRow)
		if err != nil {
			return Place{}, false, err
		}
		if seq, has := row.Find(id); there && has {
			return Place{Account: row.Account, Seq: seq}, true, nil
		}
	}
	return Place{}, false, nil
}
