package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
)

// DeliveryState says what became of a delivery. Its values are stored.
type DeliveryState uint8

// String is the state's name, as operators and merchants see it.
func (s DeliveryState) String() string { return deliveryStates[s] }

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = 1 // it waits for its next attempt
	DeliveryDelivered DeliveryState = 2 // the receiver acknowledged it
	DeliveryDead      DeliveryState = 3 // no attempt follows
)

var deliveryStates = [...]string{DeliveryPending: "pending", DeliveryDelivered: "delivered", DeliveryDead: "dead"}

// ParseDeliveryState returns the state of that name; false for any other string.
func ParseDeliveryState(name string) (DeliveryState, bool) {
	for s := DeliveryPending; s <= DeliveryDead; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Attempt is one attempt to deliver an event.
type Attempt struct {
	At     pix.Millis `cbor:"1,keyasint"` // engine time of its beginning
	Took   pix.Millis `cbor:"2,keyasint,omitempty"`
	Status int        `cbor:"3,keyasint,omitempty"` // HTTP status of the answer; 0: no answer came
	Err    string     `cbor:"4,keyasint,omitempty"` // why no answer came
}

// DeliveryStatus is what the engine knows about a delivery beside its record: the attempts, and
// what became of it. It is stored in a row that no record derives. A delivery without an
// attempt that waits has no such row.
type DeliveryStatus struct {
	Record    uint64     `cbor:"1,keyasint"` // sequence of the record that caused the event
	Event     uint8      `cbor:"2,keyasint,omitempty"`
	CreatedAt pix.Millis `cbor:"3,keyasint"`           // time of that record
	Due       pix.Millis `cbor:"4,keyasint,omitempty"` // engine time of the next attempt; 0: there is none; Held
	Attempts  []Attempt  `cbor:"5,keyasint,omitempty"` // oldest first; of more than 50, the first and the newest
	// Why no attempt follows although the schedule had more; empty: the schedule is over, or
	// the delivery is not dead.
	Why string `cbor:"6,keyasint,omitempty"`
	// Since is when the delivery was last put back in line: the schedule began anew then. 0: it
	// never was, and the schedule counts from CreatedAt.
	Since pix.Millis `cbor:"7,keyasint,omitempty"`
}

// NextAttempt is the engine time of the next attempt; 0: none follows, or the delivery is held.
func (s *DeliveryStatus) NextAttempt() pix.Millis {
	if s.Due == Held {
		return 0
	}
	return s.Due
}

// Add adds an attempt.
func (s *DeliveryStatus) Add(a Attempt) {
	if len(s.Attempts) == maxAttempts {
		s.Attempts = append(s.Attempts[:1:1], s.Attempts[2:]...)
	}
	s.Attempts = append(s.Attempts, a)
}

// Encode encodes the status for its row.
func (s *DeliveryStatus) Encode() []byte {
	b, err := cbormap.Encoding.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("ledger: encode delivery status: %v", err))
	}
	return b
}

// maxAttempts is how many attempts of a delivery are kept; an operator may put a delivery back
// again and again.
const maxAttempts = 50

// DeliveryKey is the key of the row with a delivery's status: by subscription, then by state,
// then by the event's sequence.
func DeliveryKey(t Target, s DeliveryState, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(deliveryPrefix(t, s), sequence)
}

func deliveryPrefix(t Target, s DeliveryState) []byte {
	return append(binary.BigEndian.AppendUint32(accountKey(rowDelivered, t.Account, 4+1+8), t.Number), byte(s))
}

// DeliveriesOf is the key range of a subscription's deliveries in a state, from one sequence on.
func DeliveriesOf(t Target, s DeliveryState, from uint64) (lo, hi []byte) {
	return DeliveryKey(t, s, from), deliveryPrefix(t, s+1)
}

// AllDeliveries is the key range of the status of all deliveries.
func AllDeliveries() (lo, hi []byte) { return []byte{rowDelivered}, []byte{rowDelivered + 1} }

// DecodeDeliveryKey decodes the key of a row with a delivery's status.
func DecodeDeliveryKey(k []byte) (t Target, s DeliveryState, sequence uint64, err error) {
	if len(k) != 1+8+4+1+8 || k[0] != rowDelivered || k[13] == 0 || k[13] > byte(DeliveryDead) {
		return t, 0, 0, shortRow("delivery status key", k)
	}
	t = Target{pix.AccountID(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint32(k[9:])}
	return t, DeliveryState(k[13]), binary.BigEndian.Uint64(k[14:]), nil
}

// IsDelivery tells whether a key is that of a row with a delivery's status.
func IsDelivery(k []byte) bool { return len(k) > 0 && k[0] == rowDelivered }

// DecodeDeliveryStatus decodes the row with a delivery's status.
func DecodeDeliveryStatus(b []byte) (*DeliveryStatus, error) {
	s := new(DeliveryStatus)
	if err := cbormap.Decoding.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("ledger: delivery status: %w", err)
	}
	return s, nil
}

// FindDelivery returns what became of a delivery; ErrNoDelivery where the subscription never got
// the event, or its row has expired. at is the time of the event's record: until the first attempt
// the delivery's row is due then.
func FindDelivery(r Rows, t Target, sequence uint64, at pix.Millis) (DeliveryState, *DeliveryStatus, error) {
	for s := DeliveryPending; s <= DeliveryDead; s++ {
		status, ok, err := Find(r, DeliveryKey(t, s, sequence), DecodeDeliveryStatus)
		switch {
		case err != nil:
			return 0, nil, fmt.Errorf("ledger: delivery %d: %w", sequence, err)
		case ok:
			return s, status, nil
		}
	}
	key := PendingKey(t, at, sequence)
	p, ok, err := Find(r, key, func(v []byte) (Pending, error) { return DecodePending(key, v) })
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("ledger: delivery %d: %w", sequence, err)
	case !ok:
		return 0, nil, ErrNoDelivery
	}
	return DeliveryPending, p.Untried(), nil
}

// The errors of putting a delivery back in line.
var (
	ErrNoDelivery        = errors.New("delivery not found")
	ErrSubscriptionEnded = errors.New("the webhook is stopped or was removed")
)

// TargetOf reads the subscription from the key of a delivery's row, or from what a list of
// deliveries returned as a key to go on from; false for any other bytes.
func TargetOf(k []byte) (Target, bool) {
	if len(k) < 1+8+4 || k[0] != rowPending && k[0] != rowDelivered {
		return Target{}, false
	}
	return Target{pix.AccountID(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint32(k[9:])}, true
}

// DeliveryID identifies a delivery: an event of an account for one of its subscriptions.
type DeliveryID struct {
	Target
	Sequence uint64 // of the event
}

// String is the id as operators see it: dlv_ and 32 characters.
func (d DeliveryID) String() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(d.Account))
	b = binary.BigEndian.AppendUint32(b, d.Number)
	return deliveryIDPrefix + pix.Lower32.EncodeToString(binary.BigEndian.AppendUint64(b, d.Sequence))
}

const deliveryIDPrefix = "dlv_"

// ParseDeliveryID parses the form that String makes; false for any other string.
func ParseDeliveryID(s string) (DeliveryID, bool) {
	rest, ok := strings.CutPrefix(s, deliveryIDPrefix)
	b, err := pix.Lower32.DecodeString(rest)
	if !ok || err != nil || len(b) != 20 {
		return DeliveryID{}, false
	}
	d := DeliveryID{Target{pix.AccountID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:])}, binary.BigEndian.Uint64(b[12:])}
	return d, d.String() == s
}
