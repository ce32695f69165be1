package history

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// reader pages through a list to its end. It fails where a page shows a transaction twice, and
// counts how many it has seen again on a later page.
func reader(t *testing.T, size int, list func(layout.Page) ([]*ledger.Transaction, error)) (seen map[pix.TxID]bool, again int) {
	seen = map[pix.TxID]bool{}
	for number := 1; ; number++ {
		page, err := list(layout.Page{Number: number, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		here := map[pix.TxID]bool{}
		for _, tx := range page {
			if here[tx.ID] {
				t.Errorf("page %d shows %v twice", number, tx.Public())
			}
			if seen[tx.ID] {
				again++
			}
			here[tx.ID], seen[tx.ID] = true, true
		}
		if len(page) < size {
			return seen, again
		}
	}
}

// TestPagingWhilePaymentsArrive checks that a reader who pages to the end while 1,000 payments
// arrive misses no item that was there when it began, also none that settles meanwhile, and sees
// at most as many items again as have arrived.
func TestPagingWhilePaymentsArrive(t *testing.T) {
	for name, list := range map[string]func(h *History) func(layout.Page) ([]*ledger.Transaction, error){
		"statement": func(h *History) func(layout.Page) ([]*ledger.Transaction, error) {
			return func(p layout.Page) ([]*ledger.Transaction, error) { return h.Statement(1, layout.Filter{}, p) }
		},
		"transactions": func(h *History) func(layout.Page) ([]*ledger.Transaction, error) {
			return func(p layout.Page) ([]*ledger.Transaction, error) {
				return h.Transactions(1, "", layout.Filter{}, p)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { pageMeanwhile(t, list) })
	}
}

func pageMeanwhile(t *testing.T, list func(h *History) func(layout.Page) ([]*ledger.Transaction, error)) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1 << 40})
	var flying []*ledger.Transaction
	for n := range 300 {
		b.now++
		b.received(1, payment(n), 10)
		if n%10 == 0 {
			b.now++
			flying = append(flying, b.payout(1, pix.EndToEnd("99999004", noon, fmt.Sprintf("%011d", n)), ledger.TransferIsAccepted))
		}
	}
	before, _ := reader(t, 100, list(h))
	var arrived atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 1000 {
			b.now++
			b.received(1, payment(1000+n), 10)
			arrived.Add(1)
			if n%50 == 0 && n/50 < len(flying) {
				p := flying[n/50]
				b.do(1, ledger.ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: ledger.TransferIsSettled})
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		began := arrived.Load()
		seen, again := reader(t, 7, list(h))
		// A payout that settles moves to the top of the statement: it arrives there too.
		if most := arrived.Load() - began + 1 + int64(len(flying)); int64(again) > most {
			t.Errorf("%d items seen again, and %d arrived", again, most)
		}
		for id := range before {
			if !seen[id] {
				t.Errorf("%v was missed", id)
			}
		}
	}
	if seen, again := reader(t, 7, list(h)); again != 0 || len(seen) != 1+300+30+1000 {
		t.Errorf("at rest %d items, %d twice", len(seen), again)
	}
}

// counted is a store whose views count the rows that are read.
type counted struct {
	store
	rows *int
}

func (c counted) Look(stream wal.Stream, read func(View) error) error {
	return c.store.Look(stream, func(v View) error { return read(countedView{v, c.rows}) })
}

type countedView struct {
	View
	rows *int
}

func (v countedView) Get(key []byte) ([]byte, bool, error) {
	*v.rows++
	return v.View.Get(key)
}

func (v countedView) each(fn func(k, v []byte) (bool, error)) func(k, v []byte) (bool, error) {
	return func(key, value []byte) (bool, error) {
		*v.rows++
		return fn(key, value)
	}
}

func (v countedView) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	return v.View.Scan(lo, hi, v.each(fn))
}

func (v countedView) ScanBack(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	return v.View.ScanBack(lo, hi, v.each(fn))
}

// TestDeepPagesReadFewRows checks that a page reads as many rows at any depth, also within
// dates: the page's rows twice, and a search's steps for each date.
func TestDeepPagesReadFewRows(t *testing.T) {
	b := newBook(t)
	const n, size = 3000, 10
	for i := range n {
		b.now += 1000
		b.received(1, payment(i), 10)
	}
	var rows int
	h := Over(counted{store{b.store}, &rows})
	from, until := noon+500_000, b.now-500_000
	for _, f := range []layout.Filter{{}, {From: from}, {Until: until}, {From: from, Until: until}} {
		for name, list := range map[string]func(p layout.Page) ([]*ledger.Transaction, error){
			"statement":    func(p layout.Page) ([]*ledger.Transaction, error) { return h.Statement(1, f, p) },
			"transactions": func(p layout.Page) ([]*ledger.Transaction, error) { return h.Transactions(1, "", f, p) },
		} {
			for _, page := range []int{1, 2, 150, 200} {
				rows = 0
				all, err := list(layout.Page{Number: page, Size: size})
				if most := 2*size + 4 + 4*bits.Len(n); err != nil || len(all) != size || rows > most {
					t.Errorf("%s %+v, page %d: %d items from %d rows (%v)", name, f, page, len(all), rows, err)
				}
			}
		}
	}
}

// TestManyInFlight checks that a statement shows the newest of very many transactions in
// flight, whichever way it finds them, and that it needs a place to find more than it shows.
func TestManyInFlight(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1 << 40})
	var want []string
	statement := func() ([]*ledger.Transaction, error) {
		return h.Statement(1, layout.Filter{}, layout.Page{Number: 1, Size: 1})
	}
	for n := range mostInFlight + 20 {
		if n == mostInFlight {
			free := withoutPlace(h, 1, func() error { _, err := statement(); return err })
			if all, err := statement(); free != nil || err != nil || len(all) != mostInFlight+1 {
				t.Fatalf("of %d: %d (%v, %v)", n, len(all), err, free)
			}
		}
		b.now++
		p := b.payout(1, pix.EndToEnd("99999004", noon, fmt.Sprintf("%011d", n)), ledger.TransferIsAccepted)
		want = append([]string{p.Public()}, want...)
	}
	if err := withoutPlace(h, 1, func() error { _, err := statement(); return err }); !errors.Is(err, layout.ErrTooLong) {
		t.Errorf("more in flight than are shown, without a place: %v", err)
	}
	for _, many := range []int{manyInFlight, mostInFlight + 10, 500} {
		h.many = many
		all, err := statement()
		if err != nil || len(all) != mostInFlight+1 {
			t.Fatalf("of %d: %d (%v)", many, len(all), err)
		}
		for i, tx := range all[:mostInFlight] {
			if tx.Public() != want[i] {
				t.Fatalf("of %d: place %d has %v, want %s", many, i, tx.Public(), want[i])
			}
		}
	}
}
