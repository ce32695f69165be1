package simulation

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// hookBook is what the records say about webhooks.
type hookBook struct {
	masks  map[pix.AccountID]map[uint32]pix.EventMask // the kinds that each subscription gets; 0: it has ended
	events map[pix.AccountID]uint64                   // how many events each account has had
	wanted map[deliveryName]hookWanted
}

// hookWanted is a delivery that a record causes.
type hookWanted struct {
	record uint64
	event  uint8
	kind   pix.EventKind
}

func newHookBook() *hookBook {
	return &hookBook{map[pix.AccountID]map[uint32]pix.EventMask{}, map[pix.AccountID]uint64{}, map[deliveryName]hookWanted{}}
}

// take checks the events and deliveries of an account's next record: sequences have no gap,
// and each active subscription gets each event that it wants.
func (b *hookBook) take(l *life, r *ledger.Record) {
	if b.masks[r.Account] == nil {
		b.masks[r.Account] = map[uint32]pix.EventMask{}
	}
	var want []ledger.Delivery
	for i, kind := range r.Events {
		if above := l.trueTimeOf(r).terms.EventsAbove; i == 0 && b.events[r.Account] < above {
			b.events[r.Account] = above
		}
		b.events[r.Account]++
		if e := r.Event(i); e.Sequence != b.events[r.Account] || e.Kind != kind || e.ID.Sequence() != e.Sequence {
			l.fail("record %d of %v: event %+v, and %d is next", r.Seq, r.Account, e, b.events[r.Account])
		}
		want = append(want, b.event(r, uint8(i), kind)...)
	}
	if !slices.Equal(r.Deliveries, want) {
		l.fail("record %d of %v has the deliveries %v, and should have %v", r.Seq, r.Account, r.Deliveries, want)
	}
	if r.Subscription != nil {
		b.subscription(l, r)
	}
}

// event returns the deliveries of an event to the account's active subscriptions; of a test, to the one that is
// tested.
func (b *hookBook) event(r *ledger.Record, index uint8, kind pix.EventKind) (want []ledger.Delivery) {
	masks := b.masks[r.Account]
	for number := uint32(1); int(number) <= len(masks); number++ {
		if masks[number].Has(kind) || kind == pix.EventTest && number == r.Subscription.ID.Number() && masks[number] != 0 {
			want = append(want, ledger.Delivery{Event: index, Subscription: number})
			name := deliveryName{layout.Target{Account: r.Account, Number: number}, b.events[r.Account]}
			b.wanted[name] = hookWanted{r.Seq, index, kind}
		}
	}
	return want
}

// subscription takes a record about a subscription.
func (b *hookBook) subscription(l *life, r *ledger.Record) {
	s, masks := r.Subscription, b.masks[r.Account]
	if r.Kind == ledger.SubscriptionMade && int(s.ID.Number()) != len(masks)+1 {
		l.fail("record %d of %v makes subscription %d after %d", r.Seq, r.Account, s.ID.Number(), len(masks))
	}
	masks[s.ID.Number()] = 0
	if s.Status == ledger.SubscriptionActive {
		masks[s.ID.Number()] = s.Events
	}
}
