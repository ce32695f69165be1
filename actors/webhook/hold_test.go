package webhook

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestHold holds deliveries of several subscriptions, tried and untried, more than are written at
// once. A failure between two writes leaves the rest to the next call, and a second call holds
// nothing more. The machine then attempts none of them, and attempts one that is put back.
func TestHold(t *testing.T) {
	s := newShelf()
	const (
		holdRows = 50
		n        = holdRows + 7
	)
	for i := range uint64(n) {
		p := layout.Pending{Target: layout.Target{Account: 7, Number: 1}, Due: pix.Millis(1000 + i), Sequence: i + 1, Record: i + 1}
		if i%2 == 0 {
			p.Tries = 1
			status := &layout.DeliveryStatus{Record: p.Record, CreatedAt: 5, Due: p.Due, Attempts: []layout.Attempt{{At: 6, Status: 500}}}
			s.apply([]wal.Op{{Kind: wal.OpSet, Key: layout.DeliveryKey(p.Target, layout.DeliveryPending, p.Sequence), Value: status.Encode()}})
		}
		s.apply([]wal.Op{{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()}})
	}
	other := layout.Pending{Target: layout.Target{Account: 7, Number: 2}, Due: 1, Sequence: 9, Record: 3}
	s.apply([]wal.Op{{Kind: wal.OpSet, Key: other.Key(), Value: other.Value()}})
	full := errors.New("disk full")
	writes := 0
	held, err := Hold(s, holdRows, func(ops []wal.Op) error {
		if writes++; writes == 2 {
			return full
		}
		s.apply(ops)
		return nil
	})
	if !errors.Is(err, full) || held != holdRows {
		t.Fatalf("%d held, %v", held, err)
	}
	write := func(ops []wal.Op) error { s.apply(ops); return nil }
	if held, err = Hold(s, holdRows, write); err != nil || held != n+1-holdRows {
		t.Fatalf("%d held at the second call, %v", held, err)
	}
	if held, err = Hold(s, holdRows, func([]wal.Op) error { return full }); err != nil || held != 0 {
		t.Errorf("%d held at the third call, %v", held, err)
	}
	waiting := 0
	lo, hi := layout.AllPending()
	if err := s.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		if err != nil || p.Due != layout.Held {
			t.Errorf("%+v, %v", p, err)
		}
		state, status, err := findDelivery(s, p.Target, p.Sequence)
		tried := p.Number == 1 && p.Sequence%2 == 1
		if err != nil || state != layout.DeliveryPending || status.Due != layout.Held || status.NextAttempt() != 0 || (len(status.Attempts) == 1) != tried || (p.Tries == 1) != tried {
			t.Errorf("%v %+v of %+v, %v", state, status, p, err)
		}
		waiting++
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	if waiting != n+1 {
		t.Errorf("%d rows, want %d", waiting, n+1)
	}
}
