package ledger

import "encoding/binary"

// EntityID names what a record or a due row is about: a transaction, whose id it is.
type EntityID [16]byte

// String is the id's usual text, a UUID's.
func (e EntityID) String() string { return TxID(e).String() }

// DueKey is where work that waits for an instant lies: by what waits, so that
// each kind is scanned at its own pace, then by instant.
func DueKey(kind DueKind, at Millis, a AccountID, id EntityID) []byte {
	k := append(make([]byte, 0, dueKeyBytes), rowDue, byte(kind))
	k = binary.BigEndian.AppendUint64(k, uint64(at))
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, id[:]...)
}

const dueKeyBytes = 1 + 1 + 8 + 8 + 16

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

// Need is what a due task needs to end. Tasks of one need share a throttle, so that
// what one cannot reach holds up no other.
type Need uint8

// The needs.
const (
	NeedsScheme Need = 1 // the scheme is asked
	NeedsClock  Need = 2 // its instant has come, by a clock that is not doubted
)

// Needs are all of them.
func Needs() []Need { return []Need{NeedsScheme, NeedsClock} }

// dueKinds has a row for each.
var dueKinds = [...]struct {
	entity entity // what waits
	need   Need
	inHand bool // a process that ended may have had a child for it
}{
	DuePayout:   {entityTransaction, NeedsScheme, true},
	DueSending:  {entityTransaction, NeedsScheme, true},
	DueQueued:   {entityTransaction, NeedsClock, false},
	DueApproval: {entityTransaction, NeedsClock, false},
	DueDoubt:    {entityTransaction, NeedsScheme, true},
}

// DueKinds are all of them.
func DueKinds() (all []DueKind) {
	for k := range dueKinds {
		if dueKinds[k].entity != entityNone {
			all = append(all, DueKind(k))
		}
	}
	return all
}

// Need is what tasks of the kind need to end.
func (k DueKind) Need() Need { return dueKinds[k].need }

// InHand tells kinds that a process which ended may have had a child for: a start looks
// at all of them, whatever the clock says.
func (k DueKind) InHand() bool { return dueKinds[k].inHand }

// due is what waits for a payout's DueAt.
func (t *Transaction) due() DueKind {
	switch {
	case t.Status == StatusSending:
		return DueSending
	case t.Status == StatusQueued:
		return DueQueued
	case t.Status == StatusPending:
		return DueApproval
	case t.Transfer.Doubt:
		return DueDoubt
	}
	return DuePayout
}

// dueKey is where the payout's due row lies.
func (t *Transaction) dueKey(a AccountID) []byte {
	return DueKey(t.Transfer.DueKind, t.Transfer.DueAt, a, EntityID(t.ID))
}

// Due is a due row.
type Due struct {
	Kind    DueKind
	At      Millis
	Account AccountID
	ID      EntityID
	Seq     uint64 // the record that made it wait
}

// DecodeDue reads a due row.
func DecodeDue(k, v []byte) (Due, error) {
	if len(k) != dueKeyBytes || k[0] != rowDue || len(v) != 8 {
		return Due{}, shortRow("due", k)
	}
	return Due{
		Kind: DueKind(k[1]), At: Millis(binary.BigEndian.Uint64(k[2:])), Account: AccountID(binary.BigEndian.Uint64(k[10:])),
		ID: EntityID(k[18:]), Seq: binary.BigEndian.Uint64(v),
	}, nil
}

// DueKeyAfter is the first key behind a due row's.
func DueKeyAfter(d *Due) []byte { return append(DueKey(d.Kind, d.At, d.Account, d.ID), 0) }

// AllDue is the keys of all due rows.
func AllDue() (lo, hi []byte) { return []byte{rowDue}, []byte{rowDue + 1} }

// DueRange is the keys of due rows of a kind from one instant on, up to and without
// another.
func DueRange(kind DueKind, from, until Millis) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint64([]byte{rowDue, byte(kind)}, uint64(from))
	return lo, binary.BigEndian.AppendUint64([]byte{rowDue, byte(kind)}, uint64(until))
}
