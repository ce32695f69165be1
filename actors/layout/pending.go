package layout

import (
	"encoding/binary"
	"math"

	"pixd/actors/pix"
)

// Target names a subscription by its account and its number.
type Target struct {
	Account pix.AccountID
	Number  uint32
}

// Pending is a delivery that waits for its next attempt: a row with a due time. The record
// that causes the event writes the row, and every failed attempt replaces it by one that is
// due later.
type Pending struct {
	Target
	Due      pix.Millis // engine time of the next attempt
	Sequence uint64     // of the event
	Record   uint64     // sequence of the record that caused the event
	Event    uint8      // index of the event in that record
	Tries    uint8      // number of attempts so far, in this run through the schedule
}

// Key is the key of the row: by subscription, then by due time.
func (p *Pending) Key() []byte { return PendingKey(p.Target, p.Due, p.Sequence) }

// Value is the value of the row.
func (p *Pending) Value() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, pendingBytes), p.Record)
	return append(b, p.Event, p.Tries)
}

// Untried is the status of a delivery before its first attempt. Until then its row is due at the
// time of its record.
func (p *Pending) Untried() *DeliveryStatus {
	return &DeliveryStatus{Record: p.Record, Event: p.Event, CreatedAt: p.Due, Due: p.Due}
}

// Held is the due time of a delivery that no attempt follows until it is put back in line: it was
// open when a restored journal was taken into use.
const Held pix.Millis = math.MaxInt64

const (
	pendingKeyBytes = 1 + 8 + 4 + 8 + 8
	pendingBytes    = 8 + 1 + 1
)

// PendingKey is the key of the row of a delivery that is due at a time.
func PendingKey(t Target, due pix.Millis, sequence uint64) []byte {
	k := append(make([]byte, 0, pendingKeyBytes), pendingPrefix(t)...)
	k = binary.BigEndian.AppendUint64(k, uint64(due))
	return binary.BigEndian.AppendUint64(k, sequence)
}

func pendingPrefix(t Target) []byte {
	return binary.BigEndian.AppendUint32(accountKey(rowPending, t.Account, 4), t.Number)
}

// DecodePending decodes the row of a delivery that waits.
func DecodePending(k, v []byte) (Pending, error) {
	if len(k) != pendingKeyBytes || k[0] != rowPending || len(v) != pendingBytes {
		return Pending{}, shortRow("pending delivery", k)
	}
	return Pending{
		Target: Target{pix.AccountID(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint32(k[9:])},
		Due:    pix.Millis(binary.BigEndian.Uint64(k[13:])), Sequence: binary.BigEndian.Uint64(k[21:]),
		Record: binary.BigEndian.Uint64(v), Event: v[8], Tries: v[9],
	}, nil
}

// IsPending tells whether a key is that of the row of a delivery that waits.
func IsPending(k []byte) bool { return len(k) == pendingKeyBytes && k[0] == rowPending }

// PendingOf is the key range of one subscription's deliveries that wait.
func PendingOf(t Target) (lo, hi []byte) {
	lo = pendingPrefix(t)
	return lo, append(lo[:len(lo):len(lo)], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// AllPending is the key range of all deliveries that wait.
func AllPending() (lo, hi []byte) { return []byte{rowPending}, []byte{rowPending + 1} }
