package webhook

import (
	"fmt"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// shelf is a store of rows, and of subscriptions, in memory.
type shelf struct {
	rows          map[string][]byte
	keys          []string // of rows, sorted
	subscriptions map[layout.Target]*ledger.Subscription
	read          int // rows read so far
	fail          error
}

func newShelf() *shelf {
	return &shelf{rows: map[string][]byte{}, subscriptions: map[layout.Target]*ledger.Subscription{}}
}

func (s *shelf) Get(key []byte) ([]byte, bool, error) {
	v, ok := s.rows[string(key)]
	return v, ok, s.fail
}

func (s *shelf) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if s.fail != nil {
		return s.fail
	}
	from, _ := slices.BinarySearch(s.keys, string(lo))
	for _, k := range s.keys[from:] {
		if k >= string(hi) {
			break
		}
		s.read++
		if more, err := fn([]byte(k), s.rows[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

func (s *shelf) Subscription(t layout.Target) (*ledger.Subscription, error) {
	return s.subscriptions[t], s.fail
}

// apply carries changes of rows out.
func (s *shelf) apply(ops []wal.Op) {
	for _, o := range ops {
		at, there := slices.BinarySearch(s.keys, string(o.Key))
		switch {
		case o.Kind == wal.OpSet && !there:
			s.keys = slices.Insert(s.keys, at, string(o.Key))
		case o.Kind == wal.OpDelete && there:
			s.keys = slices.Delete(s.keys, at, at+1)
		}
		if o.Kind == wal.OpSet {
			s.rows[string(o.Key)] = o.Value
		} else {
			delete(s.rows, string(o.Key))
		}
	}
}

// subscribe makes a subscription in a status, or changes its status.
func (s *shelf) subscribe(t layout.Target, status ledger.SubscriptionStatus) {
	s.subscriptions[t] = &ledger.Subscription{
		ID: pix.NewSubscriptionID(t.Account, t.Number, [4]byte{}), URL: "https://example.com/hook", Secret: make([]byte, 32), Status: status,
	}
}

// wait adds the row of a delivery that waits for its first attempt.
func (s *shelf) wait(t layout.Target, sequence uint64, due pix.Millis) layout.Pending {
	p := layout.Pending{Target: t, Due: due, Sequence: sequence, Record: sequence}
	s.apply([]wal.Op{{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()}})
	return p
}

// stands describes the rows of a delivery: its state, or what is wrong with them.
func (s *shelf) stands(t layout.Target, sequence uint64) string {
	var due []layout.Pending
	lo, hi := layout.PendingOf(t)
	_ = s.Scan(lo, hi, func(k, v []byte) (bool, error) {
		if p, _ := layout.DecodePending(k, v); p.Sequence == sequence {
			due = append(due, p)
		}
		return true, nil
	})
	var states []layout.DeliveryState
	var status *layout.DeliveryStatus
	for _, state := range []layout.DeliveryState{layout.DeliveryPending, layout.DeliveryDelivered, layout.DeliveryDead} {
		if v, ok := s.rows[string(layout.DeliveryKey(t, state, sequence))]; ok {
			states = append(states, state)
			status, _ = layout.DecodeDeliveryStatus(v)
		}
	}
	switch {
	case len(due) == 0 && len(states) == 0:
		return "unknown"
	case len(due) == 1 && len(states) == 0 && due[0].Tries == 0:
		return "new"
	case len(due) == 1 && len(states) == 1 && states[0] == layout.DeliveryPending && status.Due == due[0].Due && status.Record == due[0].Record:
		return "pending"
	case len(due) == 0 && len(states) == 1 && states[0] != layout.DeliveryPending && status.Due == 0:
		return states[0].String()
	}
	return fmt.Sprintf("inconsistent: rows %+v, states %v, status %+v", due, states, status)
}

// expectState compares what the rows say of a delivery.
func (s *shelf) expectState(t *testing.T, of layout.Target, sequence uint64, want string) {
	t.Helper()
	if got := s.stands(of, sequence); got != want {
		t.Errorf("delivery %d of subscription %d is %s, want %s", sequence, of.Number, got, want)
	}
}

// forget deletes a row.
func (s *shelf) forget(k string) { s.apply([]wal.Op{{Kind: wal.OpDelete, Key: []byte(k)}}) }

// findDelivery is layout.FindDelivery for a delivery of which it is not known when its event was:
// it looks at all rows of the subscription.
func findDelivery(r Rows, t layout.Target, sequence uint64) (layout.DeliveryState, *layout.DeliveryStatus, error) {
	var at pix.Millis
	lo, hi := layout.PendingOf(t)
	err := r.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		if err == nil && p.Sequence == sequence {
			at = p.Due
		}
		return at == 0, err
	})
	if err != nil {
		return 0, nil, err
	}
	return layout.FindDelivery(r, t, sequence, at)
}
