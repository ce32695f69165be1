package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// EventKind is a webhook event. Its values are stored.
type EventKind uint8

// The webhook events that a record can cause. Events are numbered in the order of
// Body.Events; the last one has the number Totals.Events.
const (
	EventReceived        EventKind = 1
	EventChargePaid      EventKind = 2
	EventCompleted       EventKind = 3
	EventPayoutConfirmed EventKind = 4
	EventPayoutRejected  EventKind = 5
	EventPayoutFailed    EventKind = 6
	EventPayoutQueued    EventKind = 7
	EventReturnReceived  EventKind = 8
	EventPayoutReturned  EventKind = 9

	EventRefundRequested EventKind = 10
	EventRefundCompleted EventKind = 11
	EventRefundFailed    EventKind = 12
	EventCaseClosed      EventKind = 13
)

// eventNames are the names of the kinds, as merchants subscribe to them.
var eventNames = [...]string{
	EventReceived: "pix.received", EventChargePaid: "pix.charge.paid", EventCompleted: "pix.completed",
	EventPayoutConfirmed: "pix.payout.confirmed", EventPayoutRejected: "pix.payout.rejected", EventPayoutFailed: "pix.payout.failed",
	EventPayoutQueued: "pix.payout.queued", EventReturnReceived: "pix.return.received", EventPayoutReturned: "pix.payout.returned",
	EventRefundRequested: "pix.refund.requested", EventRefundCompleted: "pix.refund.completed", EventRefundFailed: "pix.refund.failed",
	EventCaseClosed: "pix.med.closed",
}

// String is the name of the kind, as merchants subscribe to it.
func (k EventKind) String() string { return eventNames[k] }

// EventKinds returns all kinds.
func EventKinds() (all []EventKind) {
	for k := range eventNames[1:] {
		all = append(all, EventKind(k+1))
	}
	return all
}

// ParseEventKind returns the kind of that name; false for any other string.
func ParseEventKind(name string) (EventKind, bool) {
	k := slices.Index(eventNames[1:], name)
	return EventKind(k + 1), k >= 0
}

// EventMask is a set of event kinds: bit n stands for kind n. It is stored.
type EventMask uint32

// With returns the set with kind k.
func (m EventMask) With(k EventKind) EventMask { return m | 1<<k }

// Has tells whether kind k is in the set.
func (m EventMask) Has(k EventKind) bool { return m&(1<<k) != 0 }

// Kinds returns the kinds in the set, in the order of their values.
func (m EventMask) Kinds() (all []EventKind) {
	for _, k := range EventKinds() {
		if m.Has(k) {
			all = append(all, k)
		}
	}
	return all
}

// EventID identifies a webhook event; it is the same in every attempt to deliver the event.
// Its last 8 bytes are the event's sequence. Its first 8 bytes are a hash, so that no other
// event of a restored account has the same id.
type EventID [16]byte

const eventPrefix = "evt_"

// String is the id as merchants and operators see it: evt_ and 26 characters.
func (e EventID) String() string { return eventPrefix + lower32.EncodeToString(e[:]) }

// Sequence is the number of the event among all events of its account, from 1.
func (e EventID) Sequence() uint64 { return binary.BigEndian.Uint64(e[8:]) }

// ParseEventID parses the form that String makes; false for any other string.
func ParseEventID(s string) (EventID, bool) {
	b, ok := parseID(s, eventPrefix)
	return EventID(b), ok
}

// parseID parses an id of 16 bytes in lower-case base32 behind a prefix; false for any other
// string.
func parseID(s, prefix string) (id [16]byte, ok bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != 26 {
		return id, false
	}
	b, err := lower32.DecodeString(rest)
	if err != nil || len(b) != 16 || lower32.EncodeToString(b) != rest {
		return id, false
	}
	return [16]byte(b), true
}

// Event is one webhook event. Everything about it follows from the record that caused it.
type Event struct {
	ID       EventID
	Kind     EventKind
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
	if r.Tx != nil {
		copy(b[24:], r.Tx.ID[:])
	} else {
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
