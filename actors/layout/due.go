package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// EntityID identifies the subject of a record or a due row: the id of a transaction or of a
// special-return case.
type EntityID [16]byte

// String is the id in the usual form of a UUID.
func (e EntityID) String() string { return pix.TxID(e).String() }

// DueKey is the key of a due row: first the kind, so that each kind is scanned on its own,
// then the due time.
func DueKey(kind DueKind, at pix.Millis, a pix.AccountID, id EntityID) []byte {
	k := append(make([]byte, 0, dueKeyBytes), rowDue, byte(kind))
	k = binary.BigEndian.AppendUint64(k, uint64(at))
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, id[:]...)
}

const dueKeyBytes = 1 + 1 + 8 + 8 + 16

// DueKind is the kind of a due row: it says what the row's payout waits for. Its values are
// stored.
type DueKind byte

// Need returns what a due task of this kind needs in order to end.
func (k DueKind) Need() Need { return dueKinds[k].need }

// InHand tells whether child actors carry payouts of this kind, so that an ended process
// may have lost the child actor. After each start a due task runs for every such payout,
// even before its due time.
func (k DueKind) InHand() bool { return dueKinds[k].inHand }

// The kinds of due rows.
const (
	DueTransfer DueKind = 1 // the payout or refund is held or accepted (then it has an open row too): the scheme's answer is awaited
	DueSending  DueKind = 2 // the payout is in status sending: it is on its way to the scheme
	DueQueued   DueKind = 3 // the payout is queued: it fails at the due time
	DueApproval DueKind = 4 // the payout is pending approval: it fails at the due time
	DueDoubt    DueKind = 5 // the payout or refund is accepted in doubt: the scheme is asked at the due time
	DueCase     DueKind = 6 // a special-return case: a deadline of it comes at the due time
)

// Need says what a due task needs in order to end. Tasks with the same Need share a limit
// on how many run at once, so that tasks which wait for the scheme do not delay the others.
type Need uint8

// The values of Need.
const (
	NeedsScheme Need = 1 // the task ends when the scheme has answered
	NeedsClock  Need = 2 // the task ends by itself once the due time has passed and engine time is not doubted
)

// Needs returns all values of Need.
func Needs() []Need { return []Need{NeedsScheme, NeedsClock} }

// dueKinds has a row for each kind.
var dueKinds = [...]struct {
	need   Need
	inHand bool // a child actor may have carried the transfer when the process ended
}{
	DueTransfer: {NeedsScheme, true},
	DueSending:  {NeedsScheme, true},
	DueQueued:   {NeedsClock, false},
	DueApproval: {NeedsClock, false},
	DueDoubt:    {NeedsScheme, true},
	DueCase:     {NeedsClock, false},
}

// DueKinds returns all kinds of due rows.
func DueKinds() (all []DueKind) {
	for k := range dueKinds {
		if dueKinds[k].need != 0 {
			all = append(all, DueKind(k))
		}
	}
	return all
}

// Due is a due row.
type Due struct {
	Kind    DueKind
	At      pix.Millis
	Account pix.AccountID
	ID      EntityID
	Seq     uint64 // sequence of the record that wrote the row
}

// DecodeDue decodes a due row. Where its value alone is malformed, there is what its key says beside the error.
func DecodeDue(k, v []byte) (Due, error) {
	if len(k) != dueKeyBytes || k[0] != rowDue {
		return Due{}, shortRow("due key", k)
	}
	d := Due{
		Kind: DueKind(k[1]), At: pix.Millis(binary.BigEndian.Uint64(k[2:])), Account: pix.AccountID(binary.BigEndian.Uint64(k[10:])),
		ID: EntityID(k[18:]),
	}
	if len(v) != 8 {
		return d, shortRow("due", v)
	}
	d.Seq = binary.BigEndian.Uint64(v)
	return d, nil
}

// DueKeyAfter is the smallest key after the key of d.
func DueKeyAfter(d *Due) []byte { return append(DueKey(d.Kind, d.At, d.Account, d.ID), 0) }

// AllDue is the key range of all due rows.
func AllDue() (lo, hi []byte) { return []byte{rowDue}, []byte{rowDue + 1} }

// DueRange is the key range of a kind's due rows with from <= due time < until.
func DueRange(kind DueKind, from, until pix.Millis) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint64([]byte{rowDue, byte(kind)}, uint64(from))
	return lo, binary.BigEndian.AppendUint64([]byte{rowDue, byte(kind)}, uint64(until))
}
