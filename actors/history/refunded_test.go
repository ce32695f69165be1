package history

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// refund makes a refund of a payment of account 1 and, unless result is 0, ends it.
func (b *book) refund(of *ledger.Transaction, amount pix.Amount, external string, result ledger.TransferResult) *ledger.Transaction {
	b.t.Helper()
	b.now++
	held := b.decide(1, ledger.RequestRefund{Original: of.ID.String(), Amount: amount, Reason: "BE08", ExternalID: external}).Launch[0].Tx
	shown := b.do(1, ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.TransferIsAccepted})
	if result == 0 {
		return shown
	}
	return b.do(1, ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: result, Reason: "CH16"})
}

// TestRefunded checks that every lookup and list says what was refunded of a payment, settled refunds
// alone, however many refunded payments lie between those of a page.
func TestRefunded(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	var paid []*ledger.Transaction
	want := map[pix.TxID]pix.Amount{}
	for n := range 60 {
		b.now += 10
		p := b.do(1, ledger.ReceivePayment{EndToEnd: payment(n), Amount: 1000})
		paid = append(paid, p)
		if n%3 == 0 {
			continue
		}
		b.refund(p, 300, "", ledger.TransferIsSettled)
		b.refund(p, 200, "", ledger.TransferIsSettled)
		b.refund(p, 100, "", 0)
		b.refund(p, 50, "", ledger.TransferIsRejected)
		want[p.ID] = 500
	}
	same := func(name string, all []*ledger.Transaction, err error) {
		t.Helper()
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d, %v", name, len(all), err)
		}
		for _, got := range all {
			if got == nil || got.Refunded != want[got.ID] {
				t.Errorf("%s: refunded %+v, want %d", name, got, want[got.ID])
			}
		}
	}
	for number := range 8 {
		all, err := h.Transactions(1, "", layout.Filter{}, layout.Page{Number: number + 1, Size: 25})
		same("transactions", all, err)
	}
	// Of the inbound ones alone, many refunds lie between those of a page.
	all, err := h.Statement(1, layout.Filter{}, layout.Page{Number: 1, Size: 100})
	same("statement", all, err)
	all, err = h.Movements(1, 1, 100)
	same("movements", all, err)
	for _, p := range paid[:6] {
		for name, find := range map[string]func(pix.AccountID, string) (*ledger.Transaction, error){p.ID.String(): h.Transaction, p.Public(): h.Tag, p.EndToEnd: h.EndToEnd} {
			one, err := find(1, name)
			same(name, []*ledger.Transaction{one}, err)
		}
		o, err := h.Anyone(p.EndToEnd)
		same("anyone", []*ledger.Transaction{o.Tx}, err)
	}
	// The two payments furthest apart, with more refunded ones between them than are read at once.
	err = h.look(1, func(v View) error {
		two := []*ledger.Transaction{paid[59], paid[0], paid[58]}
		err := refunded(v, 1, two)
		same("far apart", two, err)
		return nil
	})
	if err != nil || paid[58].Refunded != 0 {
		t.Errorf("a transaction that others may hold was changed: %+v, %v", paid[58], err)
	}
}

// TestOfOriginal checks the filter by what a refund or a return gives back, with other filters and page
// by page.
func TestOfOriginal(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	one, two := b.do(1, ledger.ReceivePayment{EndToEnd: payment(1), Amount: 1000}), b.do(1, ledger.ReceivePayment{EndToEnd: payment(2), Amount: 1000})
	quiet := b.do(1, ledger.ReceivePayment{EndToEnd: payment(3), Amount: 1000})
	var ofOne []*ledger.Transaction
	for n := range 5 {
		ofOne = slices.Insert(ofOne, 0, b.refund(one, 100, fmt.Sprint("r-", n%2), [...]ledger.TransferResult{ledger.TransferIsSettled, ledger.TransferIsRejected, 0}[n%3]))
		b.refund(two, 100, "r-0", ledger.TransferIsSettled)
	}
	paidOut := b.payout(1, e2eA, ledger.TransferIsAccepted)
	back := b.decide(1, ledger.ReceiveReturn{ID: paidOut.ID, EndToEnd: e2eA, ReturnID: "D" + e2eB[1:], Amount: 40, Reason: "MD06"}).Tx
	list := func(a pix.AccountID, external string, f layout.Filter, p layout.Page) []string {
		t.Helper()
		all, err := h.Transactions(a, external, f, p)
		if err != nil {
			t.Fatal(err)
		}
		return ids(all)
	}
	all := layout.Page{Number: 1, Size: 100}
	for name, v := range map[string]struct {
		account  pix.AccountID
		external string
		f        layout.Filter
		p        layout.Page
		want     []*ledger.Transaction
	}{
		"by transaction_id":   {1, "", layout.Filter{Original: one.Public()}, all, ofOne},
		"by id":               {1, "", layout.Filter{Original: one.ID.String()}, all, ofOne},
		"page 2":              {1, "", layout.Filter{Original: one.Public()}, layout.Page{Number: 2, Size: 2}, ofOne[2:4]},
		"page 3":              {1, "", layout.Filter{Original: one.Public()}, layout.Page{Number: 3, Size: 2}, ofOne[4:]},
		"page 4":              {1, "", layout.Filter{Original: one.Public()}, layout.Page{Number: 4, Size: 2}, nil},
		"beyond 64 bits":      {1, "", layout.Filter{Original: one.Public()}, layout.Page{Number: 1<<62 + 1, Size: 4}, nil},
		"failed":              {1, "", layout.Filter{Original: one.Public(), Status: layout.FilterFailed}, all, []*ledger.Transaction{ofOne[0], ofOne[3]}},
		"with an external id": {1, "r-1", layout.Filter{Original: one.Public()}, all, []*ledger.Transaction{ofOne[1], ofOne[3]}},
		"since":               {1, "", layout.Filter{Original: one.Public(), From: ofOne[1].CreatedAt}, all, ofOne[:2]},
		"inbound":             {1, "", layout.Filter{Original: one.Public(), Direction: layout.FilterInbound}, all, nil},
		"never refunded":      {1, "", layout.Filter{Original: quiet.Public()}, all, nil},
		"of a payout":         {1, "", layout.Filter{Original: paidOut.Public()}, all, []*ledger.Transaction{back}},
		"of a refund":         {1, "", layout.Filter{Original: ofOne[0].Public()}, all, nil},
		"unknown":             {1, "", layout.Filter{Original: pix.TxID{9}.String()}, all, nil},
		"nonsense":            {1, "", layout.Filter{Original: "nonsense"}, all, nil},
		"another account's":   {2, "", layout.Filter{Original: one.Public()}, all, nil},
	} {
		if got := list(v.account, v.external, v.f, v.p); !slices.Equal(got, ids(v.want)) {
			t.Errorf("%s: %v, want %v", name, got, ids(v.want))
		}
	}
	for n := range fewRows {
		b.received(1, payment(100+n), 10)
	}
	if got := list(1, "", layout.Filter{Original: one.Public()}, all); !slices.Equal(got, ids(ofOne)) {
		t.Errorf("behind many others: %v", got)
	}
	if h.scans.Take(t.Context(), 1) != nil { // the account's one place
		t.Fatal("no place")
	}
	h.scanTime = 1
	if _, err := h.Transactions(1, "", layout.Filter{Original: one.Public()}, all); !errors.Is(err, layout.ErrTooLong) {
		t.Errorf("without a place: %v", err)
	}
	if _, err := h.Transactions(1, "", layout.Filter{Original: quiet.Public()}, all); err != nil {
		t.Errorf("what has no refunds needs no place: %v", err)
	}
}

// TestReferenceOfRefund checks that a refund with its payment's external id does not stand in the payment's
// place, and that one with an id of its own is found, of several the one that moved money.
func TestReferenceOfRefund(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	paid := b.do(1, ledger.CreateCharge{Amount: 1000, ExternalID: "order"})
	b.do(1, ledger.ReceivePayment{EndToEnd: payment(1), Amount: 1000, TxID: paid.Public()})
	b.refund(paid, 100, "order", ledger.TransferIsSettled)
	settled := b.refund(paid, 100, "refund", ledger.TransferIsSettled)
	b.refund(paid, 100, "refund", ledger.TransferIsRejected)
	for external, want := range map[string]*ledger.Transaction{"order": paid, "refund": settled} {
		if got, err := h.Reference(1, external); err != nil || got == nil || got.ID != want.ID {
			t.Errorf("%s: %+v (%v)", external, got, err)
		}
	}
}
