package sim

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestRefundBeforeDurable checks that neither Return nor Ask answers about a refund that is
// not durable yet, and that its D id is taken all the same.
func TestRefundBeforeDurable(t *testing.T) {
	s, store, hurried := openLate(t)
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	r := returning(0, paidAt(t, s, 0, 100), "MD06", 5)
	other := r
	other.Tx = pix.TxID{9}
	store.late = true
	for _, r := range []scheme.Refund{r, r, other} {
		if state, err := s.Return(hurried, r); !errors.Is(err, context.Canceled) {
			t.Errorf("answered before it is durable: %+v %v", state, err)
		}
	}
	for range 2 {
		if state, err := s.Ask(hurried, r.Tx, r.EndToEnd); !errors.Is(err, context.Canceled) {
			t.Errorf("asked before it is durable: %+v %v", state, err)
		}
		store.Commit(100) // now the refunds can be read, but a crash may still lose them
	}
	store.Settle()
	store.late = false
	for tx, want := range map[pix.TxID]string{r.Tx: "", other.Tx: "DUPL"} {
		if state, err := s.Ask(t.Context(), tx, r.EndToEnd); err != nil || state.Reason != want || state.Progress < scheme.Settled {
			t.Errorf("%+v %v, want %q", state, err, want)
		}
	}
	if k, err := s.Book(t.Context()); err != nil || k.Accounts[0].ReturnedBy != 5 || len(s.holders) != 0 {
		t.Errorf("%+v %v, %d ids held", k, err, len(s.holders))
	}
}

// lazyStore makes entries durable only when an entry without rows is appended, with which the
// simulator waits for all entries before it.
type lazyStore struct{ *waltest.InMemory }

func (s lazyStore) Append(e *wal.Entry) wal.Ticket {
	t := s.InMemory.Append(e)
	if len(e.Ops) == 0 {
		s.Settle()
	}
	return t
}

// TestRefundOfWhatIsOnItsWay checks that a payment which is booked and not readable yet can be
// returned.
func TestRefundOfWhatIsOnItsWay(t *testing.T) {
	mem := waltest.NewInMemory()
	s, err := Open(Options{Store: prompt{mem}, Now: func() pix.Millis { return 0 }, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	s.store = lazyStore{mem}
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	const paid = "E60701190197001010000abcdefghijk"
	if _, _, err := s.Pay(hurried, Payment{Key: shop.Value, Amount: 9, EndToEnd: paid}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r := returning(0, paid, "MD06", 5)
	if _, err := s.Return(hurried, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if state, err := s.Ask(t.Context(), r.Tx, r.EndToEnd); err != nil || state.Progress != scheme.Settled {
		t.Errorf("%+v %v", state, err)
	}
}

// prompt is a store whose entries are durable when Append returns.
type prompt struct{ *waltest.InMemory }

func (s prompt) Append(e *wal.Entry) wal.Ticket {
	t := s.InMemory.Append(e)
	s.Settle()
	return t
}
