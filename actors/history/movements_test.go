package history

import (
	"errors"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestMovements reads an account's movements in parts of any size, over any span, while new
// ones are booked, and compares them with a list that is made by looking at each transaction
// before the read.
func TestMovements(t *testing.T) {
	l := newListBook(t, 500)
	h := New(l.store)
	for range 200 {
		from, until := l.span()
		want := l.selected(layout.Filter{From: from, Until: until}, bookedAt, booking)
		slices.Reverse(want)
		first, last, err := h.Booked(1, from, until)
		if err != nil {
			t.Fatal(err)
		}
		size := 1 + uint64(l.rng.IntN(1+l.rng.IntN(400)))
		var got []*ledger.Transaction
		for ; first <= last; first += size {
			part, err := h.Movements(1, first, min(last, first+size-1))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
			l.step()
		}
		if !slices.Equal(ids(got), ids(want)) {
			t.Fatalf("from %v until %v in parts of %d:\n%v\nwant\n%v", from, until, size, ids(got), ids(want))
		}
	}
	if first, last, err := h.Booked(9, 0, 0); err != nil || last >= first {
		t.Errorf("an account without movements: %d to %d, %v", first, last, err)
	}
}

// span returns two bounds of time. Some are no bounds, and some are the very instants of
// movements.
func (l *listBook) span() (from, until pix.Millis) {
	bound := func() pix.Millis {
		switch l.rng.IntN(4) {
		case 0:
			return 0
		case 1:
			for _, t := range l.newest {
				return t.BookedAt
			}
		}
		return noon - 10 + pix.Millis(l.rng.Int64N(int64(l.now-noon)+20))
	}
	return bound(), bound()
}

// TestMovementsAddUp checks that an account's movements are what makes its balance.
func TestMovementsAddUp(t *testing.T) {
	l := newListBook(t, 500)
	h := New(l.store)
	first, last, err := h.Booked(1, 0, 0)
	if err != nil || last < 100 {
		t.Fatalf("%d to %d, %v", first, last, err)
	}
	all, err := h.Movements(1, first, last)
	if err != nil {
		t.Fatal(err)
	}
	var sum pix.Amount
	for _, m := range all {
		sum += m.Movement()
	}
	if want := l.accounts[1].Totals.Balance; sum != want {
		t.Errorf("%d movements make %v, the balance is %v", len(all), sum, want)
	}
}

// TestMovementsThatAreNot checks that movements which are not booked are an error.
func TestMovementsThatAreNot(t *testing.T) {
	l := newListBook(t, 50)
	h := New(l.store)
	_, last, err := h.Booked(1, 0, 0)
	if err != nil || last < 2 {
		t.Fatal(last, err)
	}
	for _, span := range [][2]uint64{{last, last + 1}, {0, 1}, {last + 1, last + 1}} {
		if all, err := h.Movements(1, span[0], span[1]); !errors.Is(err, errGap) {
			t.Errorf("%v: %d movements, %v", span, len(all), err)
		}
	}
	if all, err := h.Movements(1, 2, 1); err != nil || len(all) > 0 {
		t.Errorf("%v %v", all, err)
	}
}
