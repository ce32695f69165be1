package ledger

import "encoding/binary"

// DueKey is where work that waits for an instant lies.
func DueKey(at Millis, a AccountID, id TxID) []byte {
	k := append(make([]byte, 0, 33), rowDue)
	k = binary.BigEndian.AppendUint64(k, uint64(at))
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, id[:]...)
}

// DueKind is what waits in a due row. Its values are stored.
type DueKind byte

// The kinds.
const (
	DuePayout   DueKind = 1 // held, or, where an open row stands beside it, accepted: the scheme owes its word
	DueSending  DueKind = 2 // on its way
	DueQueued   DueKind = 3 // queued: it is given up then
	DueApproval DueKind = 4 // waiting for an operator: it is given up then
	DueDoubt    DueKind = 5 // accepted in doubt: the scheme is asked
)

// due is what waits for a payout's DueAt.
func (t *Transaction) due() DueKind {
	switch {
	case t.Status == StatusSending:
		return DueSending
	case t.Status == StatusQueued:
		return DueQueued
	case t.Status == StatusPending:
		return DueApproval
	case t.Doubt:
		return DueDoubt
	}
	return DuePayout
}

// dueRow is what DueKey holds: what waits, and the record that made it wait.
func dueRow(kind DueKind, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(kind)}, seq)
}

// DecodeDueRow reads a due row.
func DecodeDueRow(b []byte) (kind DueKind, seq uint64, err error) {
	if len(b) != 9 {
		return 0, 0, shortRow("due", b)
	}
	return DueKind(b[0]), binary.BigEndian.Uint64(b[1:]), nil
}

// DecodeDueKey reads the instant, account and transaction of a due row.
func DecodeDueKey(k []byte) (Millis, AccountID, TxID, error) {
	if len(k) != 33 || k[0] != rowDue {
		return 0, 0, TxID{}, shortRow("due", k)
	}
	return Millis(binary.BigEndian.Uint64(k[1:])), AccountID(binary.BigEndian.Uint64(k[9:])), TxID(k[17:33]), nil
}

// AllDue is the keys of all due rows.
func AllDue() (lo, hi []byte) { return []byte{rowDue}, []byte{rowDue + 1} }

// DueRange is the keys of due rows from one instant on, up to and without another.
func DueRange(from, until Millis) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint64([]byte{rowDue}, uint64(from))
	return lo, binary.BigEndian.AppendUint64([]byte{rowDue}, uint64(until))
}
