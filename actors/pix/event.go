package pix

import "slices"

// EventKind is a webhook event. Its values are stored.
type EventKind uint8

// String is the name of the kind, as merchants subscribe to it.
func (k EventKind) String() string { return nameAt(eventNames[:], k) }

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

	// EventTest goes to the subscription that is tested, whatever it has subscribed to. Nobody subscribes
	// to it.
	EventTest EventKind = 14
)

// eventNames are the names of the kinds, as merchants subscribe to them.
var eventNames = [...]string{
	EventReceived: "pix.received", EventChargePaid: "pix.charge.paid", EventCompleted: "pix.completed",
	EventPayoutConfirmed: "pix.payout.confirmed", EventPayoutRejected: "pix.payout.rejected", EventPayoutFailed: "pix.payout.failed",
	EventPayoutQueued: "pix.payout.queued", EventReturnReceived: "pix.return.received", EventPayoutReturned: "pix.payout.returned",
	EventRefundRequested: "pix.refund.requested", EventRefundCompleted: "pix.refund.completed", EventRefundFailed: "pix.refund.failed",
	EventCaseClosed: "pix.med.closed", EventTest: "pix.test",
}

// EventKinds returns all kinds that can be subscribed to.
func EventKinds() (all []EventKind) {
	for k := EventReceived; k < EventTest; k++ {
		all = append(all, k)
	}
	return all
}

// ParseEventKind returns the kind of that name that can be subscribed to; false for any other string.
func ParseEventKind(name string) (EventKind, bool) {
	k := slices.Index(eventNames[1:EventTest], name)
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
