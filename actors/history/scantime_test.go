package history

import (
	"errors"
	"fmt"
	"testing"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestLongReadsEnd checks of each read that needs a place that it looks at no more rows once its
// time is over.
func TestLongReadsEnd(t *testing.T) {
	b := newBook(t)
	const n = 1200 // more than are looked at between two looks at the clock
	paid := layout.Target{Account: 1, Number: 1}
	deliveries := &wal.Entry{Stream: 1, Shared: true}
	for i := range n {
		b.now++
		b.do(1, ledger.CreateCharge{Amount: 100, ExternalID: "shop"})
		b.opened(1, b.received(1, payment(i), 10), fmt.Sprint("i", i), 10)
		deliveries.Ops = append(deliveries.Ops, wal.Op{
			Kind: wal.OpSet, Key: layout.DeliveryKey(paid, layout.DeliveryDelivered, uint64(i+1)), Value: (&layout.DeliveryStatus{Record: 1}).Encode(),
		})
	}
	b.write(deliveries)
	h := New(b.store)
	h.scanTime = 1 // it is over at the first look
	far := layout.Page{Number: 12, Size: 100}
	for name, read := range map[string]func() error{
		"a filtered statement": func() error { return filtered(h, 1) },
		"row 1,101 of an id":   func() error { _, err := h.Transactions(1, "shop", layout.Filter{}, far); return err },
		"an id and a status": func() error {
			_, err := h.Transactions(1, "shop", layout.Filter{Status: layout.FilterSettled}, page1)
			return err
		},
		"deliveries, a late page": func() error { _, err := h.Deliveries(paid, layout.DeliveryDelivered, far); return err },
		"cases in a status":       func() error { _, err := h.Cases(1, pix.CaseClosed, 1, 5); return err },
	} {
		if err := read(); !errors.Is(err, layout.ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := h.Counts(); got != (fair.Counts{}) {
		t.Errorf("%+v", got)
	}
}

// TestPanicGivesThePlaceBack checks that a read which panics leaves its place to others.
func TestPanicGivesThePlaceBack(t *testing.T) {
	h := New(newBook(t).store)
	func() {
		defer func() { _ = recover() }()
		_, _ = limited(h, 1, func(*scanLimit) (int, error) { panic("damage") })
	}()
	if got := h.Counts(); got != (fair.Counts{}) {
		t.Errorf("%+v", got)
	}
}
