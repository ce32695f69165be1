package ledger

import (
	"crypto/sha256"
	"encoding/binary"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Event is one webhook event. Everything about it follows from the record that caused it.
type Event struct {
	ID       pix.EventID
	Kind     pix.EventKind
	Sequence uint64 // number among all events of the account, subscribed or not, from 1
	Record   *Record
}

// Event returns the record's event with the given index in Body.Events.
func (r *Record) Event(index int) Event {
	e := Event{Kind: r.Events[index], Sequence: r.firstEvent() + uint64(index), Record: r}
	// A restored journal may reach the same sequence at the same time once more, for the same
	// transaction, but then with another kind of event.
	var b [8 + 8 + 8 + 16 + 1]byte
	binary.BigEndian.PutUint64(b[0:], uint64(r.Account))
	binary.BigEndian.PutUint64(b[8:], e.Sequence)
	binary.BigEndian.PutUint64(b[16:], uint64(r.Time))
	switch {
	case r.Tx != nil:
		copy(b[24:], r.Tx.ID[:])
	case r.Subscription != nil:
		copy(b[24:], r.Subscription.ID[:])
	default:
		copy(b[24:], r.Case.ID[:])
	}
	b[40] = byte(e.Kind)
	sum := sha256.Sum256(b[:])
	copy(e.ID[:8], sum[:])
	binary.BigEndian.PutUint64(e.ID[8:], e.Sequence)
	return e
}

// firstEvent is the sequence of the record's first event.
func (r *Record) firstEvent() uint64 { return r.Totals.Events - uint64(len(r.Events)) + 1 }

// EventsSince is the instant from which the age of the record's events counts: its stamp, but
// the start of the process at the earliest where engine time was doubted at the stamp.
func (r *Record) EventsSince(now pix.Reading) pix.Millis {
	doubted := r.Tx != nil && r.Tx.Doubted || r.Case != nil && r.Case.Doubted
	return now.Since(r.Time, doubted)
}

// DeliveryItem is a webhook event for a subscription, and what became of it.
type DeliveryItem struct {
	Target layout.Target
	Event  Event
	State  layout.DeliveryState
	Status *layout.DeliveryStatus
}
