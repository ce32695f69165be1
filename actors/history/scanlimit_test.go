package history

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// slowView is a view that takes a while for each row of a scan.
type slowView struct {
	View
	pause time.Duration
}

func (v slowView) ScanBack(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	n := 0
	return v.View.ScanBack(lo, hi, func(k, value []byte) (bool, error) {
		if n++; n%1000 == 0 {
			time.Sleep(v.pause)
		}
		return fn(k, value)
	})
}

type slowStore struct {
	store
	pause time.Duration
}

func (s slowStore) Look(stream wal.Stream, read func(View) error) error {
	return s.store.Look(stream, func(v View) error { return read(slowView{v, s.pause}) })
}

// page1 is the first page of a list.
var page1 = layout.Page{Number: 1, Size: 5}

// filtered reads a list for which many rows must be looked at.
func filtered(h *History, a pix.AccountID) error {
	_, err := h.Statement(a, layout.Filter{Type: layout.FilterTED}, page1)
	return err
}

// withoutPlace runs a read of an account while the account has its share of the places already
// and a read may take little time.
func withoutPlace(h *History, a pix.AccountID, read func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.scans.Take(ctx, a); err != nil {
		return err
	}
	defer h.scans.Give(a)
	usual := h.scanTime
	defer func() { h.scanTime = usual }()
	h.scanTime = 5 * time.Millisecond
	return read()
}

// TestScansAreBounded checks that four reads which must look at many rows run at once, that one
// which takes too long ends with ErrTooLong, whether it waits or reads, and gives its place back.
func TestScansAreBounded(t *testing.T) {
	b := newBook(t)
	for i := range 3000 {
		b.now++
		b.received(1, payment(i), 10)
	}
	h := Over(slowStore{store{b.store}, 30 * time.Millisecond})
	if err := filtered(h, 1); err != nil {
		t.Errorf("within its time: %v", err)
	}
	if h.scanTime != 5*time.Second {
		t.Errorf("a read may take %v", h.scanTime)
	}
	h.scanTime = 50 * time.Millisecond
	if err := filtered(h, 1); !errors.Is(err, layout.ErrTooLong) {
		t.Errorf("a slow read: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for n := range 4 {
		if err := h.scans.Take(ctx, pix.AccountID(10+n)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := filtered(h, 1); !errors.Is(err, layout.ErrTooLong) || time.Since(began) < h.scanTime {
		t.Errorf("a fifth read: %v", err)
	}
	if got := h.Counts(); got != (fair.Counts{InUse: 4, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	h.scans.Give(10)
	h.scanTime = 5 * time.Second
	if err := filtered(h, 1); err != nil {
		t.Errorf("a fourth read: %v", err)
	}
}

// TestWhichReadsTakeAPlace checks which reads need a place of their account, and that none needs
// another account's.
func TestWhichReadsTakeAPlace(t *testing.T) {
	b := newBook(t)
	b.do(1, ledger.CreateCharge{Amount: 100, ExternalID: "order-1"})
	h := New(b.store)
	named := func(page int, f layout.Filter) error {
		_, err := h.Transactions(1, "order-1", f, layout.Page{Number: page, Size: 100})
		return err
	}
	for name, c := range map[string]struct {
		takes bool
		read  func() error
	}{
		"a filtered statement": {true, func() error { return filtered(h, 1) }},
		"filtered transactions": {true, func() error {
			_, err := h.Transactions(1, "", layout.Filter{Direction: layout.FilterInbound}, page1)
			return err
		}},
		"filtered by external id too": {true, func() error { return named(1, layout.Filter{Status: layout.FilterSettled}) }},
		"row 1,001 of an external id": {true, func() error { return named(11, layout.Filter{}) }},
		"row 1,000 of an external id": {false, func() error { return named(10, layout.Filter{}) }},
		"cases in a status":           {true, func() error { _, err := h.Cases(1, pix.CaseOpen, 1, 5); return err }},
		"all cases":                   {false, func() error { _, err := h.Cases(1, 0, 1, 5); return err }},
		"deliveries": {true, func() error {
			_, err := h.Deliveries(layout.Target{Account: 1, Number: 1}, layout.DeliveryDead, page1)
			return err
		}},
		"a statement": {false, func() error { _, err := h.Statement(1, layout.Filter{From: noon}, page1); return err }},
		"page 200":    {false, func() error { _, err := h.Statement(1, layout.Filter{}, layout.Page{Number: 200, Size: 5}); return err }},
		"a lookup":    {false, func() error { _, err := h.Reference(1, "order-1"); return err }},
	} {
		if err := withoutPlace(h, 1, c.read); errors.Is(err, layout.ErrTooLong) != c.takes || !c.takes && err != nil {
			t.Errorf("%s, and the account's place is taken: %v", name, err)
		}
		if err := withoutPlace(h, 2, c.read); err != nil {
			t.Errorf("%s, and another account's place is taken: %v", name, err)
		}
	}
	if got := h.Counts(); got.InUse != 0 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
}

// heldStore is an empty store in which each read of account 1 waits until the test lets it go on.
// It notes in which order reads begin.
type heldStore struct {
	Journal
	mu    sync.Mutex
	began []wal.Stream
	next  chan error // what the read that goes on returns
}

func (s *heldStore) Look(stream wal.Stream, _ func(View) error) error {
	s.mu.Lock()
	s.began = append(s.began, stream)
	s.mu.Unlock()
	if stream == 1 {
		return <-s.next
	}
	return nil
}

// TestGreedyBesideModest has one account ask for far more lists than it has places. Only one of
// them runs, 16 wait, and the rest is refused at once. Another account's list is read beside it,
// and where all other places are taken, it is the next to be read.
func TestGreedyBesideModest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &heldStore{next: make(chan error)}
		h := Over(j)
		failed := errors.New("the disk fails")
		ask := func(a pix.AccountID) {
			go func() {
				if err := filtered(h, a); err != nil && !errors.Is(err, failed) {
					t.Errorf("account %v, in its turn: %v", a, err)
				}
			}()
			synctest.Wait()
		}
		stands := func(want fair.Counts) {
			t.Helper()
			synctest.Wait()
			if got := h.Counts(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		for range 1 + 16 {
			ask(1)
		}
		stands(fair.Counts{InUse: 1, Waiting: 16})
		for range 3 {
			began := time.Now()
			if err := filtered(h, 1); !errors.Is(err, layout.ErrTooLong) || time.Since(began) != 0 {
				t.Errorf("beyond the queue: %v after %v", err, time.Since(began))
			}
		}
		ask(2)
		stands(fair.Counts{InUse: 1, Waiting: 16, Refused: 3}) // account 2 was read at once
		for a := pix.AccountID(10); a < 13; a++ {
			if err := h.scans.Take(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		ask(2)
		stands(fair.Counts{InUse: 4, Waiting: 17, Refused: 3})
		j.next <- failed
		stands(fair.Counts{InUse: 4, Waiting: 15, Refused: 3})
		for range 16 {
			j.next <- nil
		}
		stands(fair.Counts{InUse: 3, Refused: 3})
		if len(j.began) != 17+2 || !slices.Equal(j.began[:4], []wal.Stream{1, 2, 2, 1}) {
			t.Errorf("reads began in the order %v", j.began)
		}
	})
}

// TestCostOfAnExternalID checks that what a lookup by external id and the first pages of a list
// read does not grow with the transactions that have this id, and that a deep page reads no
// more of those before it than their keys.
func TestCostOfAnExternalID(t *testing.T) {
	const size = 10
	var first, deep []int
	for _, n := range []int{fewRows, 3 * fewRows} {
		b := newBook(t)
		for range n {
			b.now++
			b.do(1, ledger.CreateCharge{Amount: 100, ExternalID: "shop"})
		}
		var rows int
		h := Over(counted{store{b.store}, &rows})
		if got, err := h.Reference(1, "shop"); err != nil || got == nil || rows > 2*fewRows {
			t.Errorf("a lookup among %d: %+v from %d rows (%v)", n, got, rows, err)
		}
		page := func(number int) int {
			rows = 0
			all, err := h.Transactions(1, "shop", layout.Filter{}, layout.Page{Number: number, Size: size})
			if err != nil || len(all) != size || all[0].CreatedAt != b.now-pix.Millis((number-1)*size) {
				t.Errorf("page %d of %d: %d items (%v)", number, n, len(all), err)
			}
			return rows
		}
		first, deep = append(first, page(1)), append(deep, page(n/size))
		if most := n + 5*size; deep[len(deep)-1] > most {
			t.Errorf("the last page of %d reads %d rows", n, deep[len(deep)-1])
		}
	}
	if first[0] != first[1] || first[0] > 5*size {
		t.Errorf("the first page reads %v rows", first)
	}
}

// TestReferenceLooksAtTheNewest checks that a lookup by external id considers the newest fewRows
// transactions that have it, and no older one.
func TestReferenceLooksAtTheNewest(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	charge := func() *ledger.Transaction {
		b.now++
		return b.do(1, ledger.CreateCharge{Amount: 100, ExternalID: "shop"})
	}
	paid := charge()
	b.do(1, ledger.ReceivePayment{EndToEnd: payment(1), Amount: 100, TxID: paid.Public()})
	for n := 2; n <= fewRows+1; n++ {
		newest := charge()
		want := paid
		if n > fewRows {
			want = newest
		}
		if n < fewRows-1 {
			continue
		}
		if got, err := h.Reference(1, "shop"); err != nil || got == nil || got.ID != want.ID {
			t.Errorf("of %d: %+v (%v), want %v", n, got, err, want.Public())
		}
	}
}

// TestWaitCounts checks that the time of a read which needs a place begins when it begins to wait: one
// that has waited for most of it must end soon after it got its place.
func TestWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Over(&heldStore{})
		for n := range scansAtOnce {
			if err := h.scans.Take(t.Context(), pix.AccountID(10+n)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		time.AfterFunc(4*time.Second, func() { h.scans.Give(10) })
		_, err := limited(h, 1, func(limit *scanLimit) (none struct{}, err error) {
			if waited := time.Since(began); waited != 4*time.Second {
				t.Errorf("it has its place after %v", waited)
			}
			for limit.over() == nil {
				time.Sleep(100 * time.Microsecond) // for each row
			}
			return none, layout.ErrTooLong
		})
		if took := time.Since(began); !errors.Is(err, layout.ErrTooLong) || took < scanTime || took > scanTime+200*time.Millisecond {
			t.Errorf("it has ended after %v (%v)", took, err)
		}
	})
}
