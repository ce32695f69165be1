package history

import (
	"fmt"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

const (
	measuredItems = 1000
	wantedItem    = 321
)

// measured is a journal in memory with an account that has received many payments, each with an
// external id's charge of its own, and the charge of wantedItem.
func measured(b *testing.B) (*History, *ledger.Transaction) {
	k := newBook(b)
	var wanted *ledger.Transaction
	for n := range measuredItems {
		k.now++
		t := k.do(1, ledger.CreateCharge{Amount: 2500, ExternalID: fmt.Sprint("order-", n)})
		paid := k.do(1, ledger.ReceivePayment{EndToEnd: payment(n), Amount: 2500, TxID: t.Public(), PayerName: "Ana"})
		if n == wantedItem {
			wanted = paid
		}
	}
	return New(k.store), wanted
}

// BenchmarkPage measures a page of an account's lists.
func BenchmarkPage(b *testing.B) {
	h, _ := measured(b)
	lists := []struct {
		name string
		read func(p layout.Page) ([]*ledger.Transaction, error)
	}{
		{"statement", func(p layout.Page) ([]*ledger.Transaction, error) { return h.Statement(1, layout.Filter{}, p) }},
		{"transactions", func(p layout.Page) ([]*ledger.Transaction, error) {
			return h.Transactions(1, "", layout.Filter{}, p)
		}},
	}
	for _, l := range lists {
		for _, p := range []layout.Page{{Number: 1, Size: 20}, {Number: 1, Size: 100}, {Number: 9, Size: 100}} {
			b.Run(fmt.Sprintf("list=%s/page=%d/size=%d", l.name, p.Number, p.Size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if all, err := l.read(p); err != nil || len(all) != p.Size {
						b.Fatal(len(all), err)
					}
				}
			})
		}
	}
}

// BenchmarkFilter measures a page for which most of an account's items must be passed over.
func BenchmarkFilter(b *testing.B) {
	h, _ := measured(b)
	b.ReportAllocs()
	for b.Loop() {
		all, err := h.Transactions(1, "", layout.Filter{Direction: layout.FilterOutbound}, layout.Page{Number: 1, Size: 20})
		if err != nil || len(all) > 0 {
			b.Fatal(len(all), err)
		}
	}
}

// BenchmarkLookup measures how one transaction is found, by each of its ids.
func BenchmarkLookup(b *testing.B) {
	h, want := measured(b)
	for _, c := range []struct {
		by   string
		find func() (*ledger.Transaction, error)
	}{
		{"id", func() (*ledger.Transaction, error) { return h.Transaction(1, want.ID.String()) }},
		{"external_id", func() (*ledger.Transaction, error) { return h.Reference(1, fmt.Sprint("order-", wantedItem)) }},
		{"end_to_end_id", func() (*ledger.Transaction, error) { return h.EndToEnd(1, payment(wantedItem)) }},
	} {
		b.Run("by="+c.by, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if t, err := c.find(); err != nil || t == nil || t.ID != want.ID {
					b.Fatal(t, err)
				}
			}
		})
	}
}
