package history

import (
	"bytes"
	"errors"
	"slices"
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
			page, more, err := h.AllDeliveries(0, 0, 0, next, size)
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
	all, next, err := h.AllDeliveries(0, 0, 0, nil, 5)
	if want := layout.PendingKey(layout.Target{Account: 1, Number: tried + 1}, 0, 0); err != nil || len(all) != 0 || !bytes.Equal(next, want) {
		t.Errorf("%d deliveries, the next %x, want %x (%v)", len(all), next, want, err)
	}
	if all, next, err = h.AllDeliveries(0, 0, 0, next, 5); err != nil || len(all) != 0 || next != nil {
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
