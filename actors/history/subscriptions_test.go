package history

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// hook makes a subscription of an account.
func (b *book) hook(id pix.AccountID) *ledger.Subscription {
	b.t.Helper()
	b.now++
	events := pix.EventMask(0).With(pix.EventReceived)
	return b.decide(id, ledger.Subscribe{URL: "https://merchant.example/hook", Events: events, Secret: make([]byte, 32)}).Records[0].Subscription
}

// TestRemovedSubscription checks that a subscription which is removed after its account's head was
// read is not shown, and that one which is stopped is.
func TestRemovedSubscription(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	one, two, three := b.hook(1), b.hook(1), b.hook(1)
	numbers := b.accounts[1].SubscriptionNumbers()
	b.decide(1, ledger.EndSubscription{ID: one.ID})
	b.decide(1, ledger.EndSubscription{ID: two.ID, Stop: true})
	got, err := h.Subscriptions(1, append(numbers, 99)) // nobody ever had the last one
	if err != nil || len(numbers) != 3 || len(got) != 2 || got[0].ID != two.ID || got[0].Status != ledger.SubscriptionStopped || got[1].ID != three.ID {
		t.Errorf("of %v: %+v (%v)", numbers, got, err)
	}
}

// TestDeliveriesOfAll checks that an operator's list of the deliveries of all subscriptions has no page
// longer than asked for, and each delivery once.
func TestDeliveriesOfAll(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for _, id := range []pix.AccountID{1, 1, 2} {
		b.hook(id)
	}
	for n := range 5 {
		b.now++
		b.received(pix.AccountID(1+n%2), payment(n), 10)
	}
	for size := 1; size < 12; size++ {
		seen := map[[2]uint64]int{}
		for next := []byte(nil); ; {
			page, more, err := parts(h.AllDeliveries(0, 0, 0, next, size))
			if err != nil || len(page) > size {
				t.Fatalf("%d deliveries on a page of %d (%v)", len(page), size, err)
			}
			for _, d := range page {
				seen[[2]uint64{uint64(d.Target.Account)<<32 | uint64(d.Target.Number), d.Event.Sequence}]++
			}
			if next = more; next == nil {
				break
			}
		}
		if len(seen) != 2*3+2 {
			t.Errorf("pages of %d: %v", size, seen)
		}
		for d, n := range seen {
			if n != 1 {
				t.Errorf("pages of %d: %v is shown %d times", size, d, n)
			}
		}
	}
}

// TestLooksOfAllDeliveries checks that one call for the deliveries of all subscriptions looks at a bounded
// number of subscriptions, and that the next call goes on behind them.
func TestLooksOfAllDeliveries(t *testing.T) {
	b := newBook(t)
	rows := &wal.Entry{Shared: true}
	for n := range tried + 100 {
		rows.Ops = append(rows.Ops, wal.Op{Kind: wal.OpSet, Key: layout.SubscriptionKey(1, uint32(n+1)), Value: make([]byte, 8)})
	}
	b.write(rows)
	h := New(b.store)
	all, next, err := parts(h.AllDeliveries(0, 0, 0, nil, 5))
	if want := layout.PendingKey(layout.Target{Account: 1, Number: tried + 1}, 0, 0); err != nil || len(all) != 0 || !bytes.Equal(next, want) {
		t.Errorf("%d deliveries, the next %x, want %x (%v)", len(all), next, want, err)
	}
	if all, next, err = parts(h.AllDeliveries(0, 0, 0, next, 5)); err != nil || len(all) != 0 || next != nil {
		t.Errorf("%d deliveries, the next %x (%v)", len(all), next, err)
	}
}

// TestDeliveryPages checks that the pages of one subscription's deliveries have each of them once: those that wait in the
// order in which they are due, those that were delivered with the newest event first.
func TestDeliveryPages(t *testing.T) {
	const deliveries = 7
	b := newBook(t)
	h := New(b.store)
	b.hook(1)
	to := layout.Target{Account: 1, Number: 1}
	rows := &wal.Entry{Stream: 1, Shared: true}
	var waiting, delivered []uint64
	for n := range 2 * deliveries {
		b.now++
		b.received(1, payment(n), 10)
		r := b.records[1][len(b.records[1])-1]
		sequence := r.Event(0).Sequence
		if n%2 == 0 {
			waiting = append(waiting, sequence)
			continue
		}
		delivered = append([]uint64{sequence}, delivered...)
		done := layout.DeliveryStatus{Record: r.Seq, CreatedAt: r.Time}
		rows.Ops = append(rows.Ops, wal.Op{Kind: wal.OpDelete, Key: layout.PendingKey(to, r.Time, sequence)},
			wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(to, layout.DeliveryDelivered, sequence), Value: done.Encode()})
	}
	b.write(rows)
	for state, want := range map[layout.DeliveryState][]uint64{layout.DeliveryPending: waiting, layout.DeliveryDelivered: delivered, layout.DeliveryDead: nil} {
		for size := 1; size <= deliveries+1; size++ {
			var got []uint64
			for number := 1; ; number++ {
				page, err := h.Deliveries(to, state, layout.Page{Number: number, Size: size})
				if err != nil || len(page) > size {
					t.Fatalf("state %v: %d deliveries on page %d of %d (%v)", state, len(page), number, size, err)
				}
				for _, d := range page {
					got = append(got, d.Event.Sequence)
				}
				if len(page) == 0 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("state %v, pages of %d: %v, want %v", state, size, got, want)
			}
		}
	}
}

// TestDeliveryOfNoEvent checks that a delivery whose row names an event that its record does not have is damage.
func TestDeliveryOfNoEvent(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.hook(1)
	to := layout.Target{Account: 1, Number: 1}
	b.received(1, payment(1), 10)
	r := b.records[1][len(b.records[1])-1]
	for name, row := range map[string]struct {
		index    int
		sequence uint64
	}{"index": {len(r.Events), r.Event(0).Sequence}, "sequence": {0, r.Event(0).Sequence + 99}} {
		status := layout.DeliveryStatus{Record: r.Seq, Event: uint8(row.index), CreatedAt: r.Time}
		b.write(&wal.Entry{Stream: 1, Shared: true, Ops: []wal.Op{
			{Kind: wal.OpSet, Key: layout.DeliveryKey(to, layout.DeliveryDead, row.sequence), Value: status.Encode()},
		}})
		var damage *wal.Damage
		if got, err := h.Deliveries(to, layout.DeliveryDead, page1); !errors.As(err, &damage) {
			t.Errorf("wrong %s: %+v (%v)", name, got, err)
		}
		b.write(&wal.Entry{Stream: 1, Shared: true, Ops: []wal.Op{{Kind: wal.OpDelete, Key: layout.DeliveryKey(to, layout.DeliveryDead, row.sequence)}}})
	}
}

// TestDeliveryByEvent checks that each delivery is found by its event's sequence, whatever its state, that of a record with
// several events too, and none by the sequence of another event, of none, or of one whose delivery was dropped.
func TestDeliveryByEvent(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.received(1, payment(99), 10) // before there was a subscription
	all := pix.EventMask(0)
	for _, kind := range b.records[1][len(b.records[1])-1].Events {
		all = all.With(kind)
	}
	b.decide(1, ledger.Subscribe{URL: "https://merchant.example/hook", Events: all, Secret: make([]byte, 32)})
	to := layout.Target{Account: 1, Number: 1}
	rows := &wal.Entry{Stream: 1, Shared: true}
	want := map[uint64]layout.DeliveryState{}
	events := map[uint64]*ledger.Record{}
	for n := range 12 {
		b.now += 10
		b.received(1, payment(n), 10)
		r := b.records[1][len(b.records[1])-1]
		for i := range r.Events {
			sequence := r.Event(i).Sequence
			events[sequence], want[sequence] = r, layout.DeliveryPending
			state := []layout.DeliveryState{layout.DeliveryPending, layout.DeliveryDelivered, layout.DeliveryDead, 0}[(n+i)%4]
			if state == layout.DeliveryPending {
				continue
			}
			rows.Ops = append(rows.Ops, wal.Op{Kind: wal.OpDelete, Key: layout.PendingKey(to, r.Time, sequence)})
			if delete(want, sequence); state != 0 {
				done := layout.DeliveryStatus{Record: r.Seq, Event: uint8(i), CreatedAt: r.Time}
				rows.Ops = append(rows.Ops, wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(to, state, sequence), Value: done.Encode()})
				want[sequence] = state
			}
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(events)))
	if _, waits := want[last]; !waits || int(last) == len(events) {
		t.Fatalf("the last of %d events, %d, has no delivery", len(events), last)
	}
	b.write(rows)
	for sequence := range last + 3 {
		d, err := h.Delivery(to, sequence)
		state, there := want[sequence]
		switch {
		case err != nil || (d != nil) != there:
			t.Errorf("event %d: %+v, there %v (%v)", sequence, d, there, err)
		case d != nil && (d.State != state || d.Event.Sequence != sequence || d.Event.Record.Seq != events[sequence].Seq):
			t.Errorf("event %d: %+v, want state %v of record %d", sequence, d, state, events[sequence].Seq)
		}
	}
	if d, err := h.Delivery(layout.Target{Account: 9, Number: 1}, 1); d != nil || err != nil {
		t.Errorf("an account that is not there: %+v (%v)", d, err)
	}
}

// TestListsOfOperators checks that an operator's lists of subscriptions and of deliveries have those of one account, or of one
// subscription, or in one state, alone, on pages of any size.
func TestListsOfOperators(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for _, id := range []pix.AccountID{1, 1, 2} {
		b.hook(id)
	}
	rows := &wal.Entry{Stream: 1, Shared: true}
	for n := range 6 {
		b.now++
		b.received(pix.AccountID(1+n%2), payment(n), 10)
		r := b.records[1][max(len(b.records[1])-1, 0)]
		if sequence := r.Event(0).Sequence; n == 2 {
			to := layout.Target{Account: 1, Number: 2}
			dead := layout.DeliveryStatus{Record: r.Seq, CreatedAt: r.Time}
			rows.Ops = append(rows.Ops, wal.Op{Kind: wal.OpDelete, Key: layout.PendingKey(to, r.Time, sequence)},
				wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(to, layout.DeliveryDead, sequence), Value: dead.Encode()})
		}
	}
	b.write(rows)
	for _, c := range []struct {
		account pix.AccountID
		number  uint32
		state   layout.DeliveryState
		want    string // account and number of the subscription of each
	}{
		{0, 0, 0, "1/1 1/1 1/1 1/2 1/2 1/2 2/1 2/1 2/1"},
		{1, 0, 0, "1/1 1/1 1/1 1/2 1/2 1/2"},
		{2, 0, 0, "2/1 2/1 2/1"},
		{1, 2, 0, "1/2 1/2 1/2"},
		{1, 2, layout.DeliveryDead, "1/2"},
		{0, 0, layout.DeliveryDead, "1/2"},
		{0, 0, layout.DeliveryPending, "1/1 1/1 1/1 1/2 1/2 2/1 2/1 2/1"},
		{2, 0, layout.DeliveryDead, ""},
		{1, 3, 0, ""},
		{3, 0, 0, ""},
	} {
		for size := 1; size < 11; size++ {
			var got []string
			for next := []byte(nil); ; {
				page, more, err := parts(h.AllDeliveries(c.account, c.number, c.state, next, size))
				if err != nil || len(page) > size {
					t.Fatalf("%+v: %d deliveries on a page of %d (%v)", c, len(page), size, err)
				}
				for _, d := range page {
					got = append(got, fmt.Sprintf("%d/%d", d.Target.Account, d.Target.Number))
				}
				if next = more; next == nil {
					break
				}
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("%+v, pages of %d: %s", c, size, all)
			}
		}
	}
	for account, want := range map[pix.AccountID]int{0: 3, 1: 2, 2: 1, 3: 0} {
		for size := 1; size < 5; size++ {
			got := 0
			for next := []byte(nil); ; {
				page, more, err := parts(h.AllSubscriptions(account, next, size))
				if err != nil || len(page) > size {
					t.Fatalf("%d subscriptions on a page of %d (%v)", len(page), size, err)
				}
				for _, s := range page {
					if got++; account != 0 && s.ID.Account() != account {
						t.Errorf("%v is listed for %v", s.ID, account)
					}
				}
				if next = more; next == nil {
					break
				}
			}
			if got != want {
				t.Errorf("account %d, pages of %d: %d subscriptions", account, size, got)
			}
		}
	}
}

// TestBacklog checks that a subscription's deliveries that wait and those that are dead are counted, each by itself, and
// neither those that were delivered nor those of another subscription.
func TestBacklog(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	one, two := b.hook(1), b.hook(1)
	for n := range 3 {
		b.received(1, payment(n), 10)
	}
	target := func(s *ledger.Subscription) layout.Target { return layout.Target{Account: 1, Number: s.ID.Number()} }
	end := func(s layout.DeliveryState, sequence uint64) wal.Op {
		return wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(target(one), s, sequence), Value: (&layout.DeliveryStatus{Record: 1}).Encode()}
	}
	b.write(&wal.Entry{Ops: []wal.Op{end(layout.DeliveryDead, 90), end(layout.DeliveryDead, 91), end(layout.DeliveryDelivered, 92)}})
	for s, want := range map[*ledger.Subscription][2]uint64{one: {3, 2}, two: {3, 0}} {
		if pending, dead, err := h.Backlog(target(s)); pending != want[0] || dead != want[1] || err != nil {
			t.Errorf("subscription %d: %d wait and %d are dead (%v), want %v", s.ID.Number(), pending, dead, err, want)
		}
	}
	var many []wal.Op
	for n := range uint64(MostCounted) {
		many = append(many, end(layout.DeliveryDead, 1000+n))
	}
	b.write(&wal.Entry{Ops: many})
	for range 2 {
		if pending, dead, err := h.Backlog(target(one)); pending != 3 || dead != MostCounted || err != nil {
			t.Errorf("%d wait and %d are dead (%v), and so many are counted: %d", pending, dead, err, MostCounted)
		}
	}
}
