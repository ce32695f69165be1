package history

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Subscription reads a webhook subscription in its newest durable state; nil where the account
// never had it.
func Subscription(j interface {
	layout.Getter
	Record(stream wal.Stream, seq uint64) (wal.Record, bool, error)
}, t layout.Target,
) (*ledger.Subscription, error) {
	seq, ok, err := layout.Find(j, layout.SubscriptionKey(t.Account, t.Number), layout.DecodeSeqRow)
	if err != nil || !ok {
		return nil, err
	}
	r, err := Record(j, t.Account, seq)
	if err != nil {
		return nil, err
	}
	if r.Subscription == nil || r.Subscription.ID.Number() != t.Number {
		return nil, &wal.Damage{Stream: wal.Stream(t.Account), Seq: seq, What: fmt.Sprintf("is not about subscription %d", t.Number)}
	}
	return r.Subscription, nil
}

// viewedJournal reads from a view, and records from the journal.
type viewedJournal struct {
	View
	journal Journal
}

// Record reads a record.
func (v viewedJournal) Record(stream wal.Stream, seq uint64) (wal.Record, bool, error) {
	return v.journal.Record(stream, seq)
}

// Subscriptions reads those of an account's webhook subscriptions that have these numbers, without
// those that are removed. The account's head has the numbers of the others: to look for them among
// all that it ever had would cost more with each one that was removed.
func (h *History) Subscriptions(a pix.AccountID, numbers []uint32) ([]*ledger.Subscription, error) {
	return lookUp(h, a, func(v View) (all []*ledger.Subscription, err error) {
		for _, n := range numbers {
			s, err := Subscription(viewedJournal{v, h.journal}, layout.Target{Account: a, Number: n})
			if err != nil {
				return nil, err
			}
			if s != nil && s.Status != ledger.SubscriptionRemoved {
				all = append(all, s)
			}
		}
		return all, nil
	})
}

// AllSubscriptions lists webhook subscriptions, removed ones included, by account: those of one
// account, or of all where a is 0. The list begins after the key after, which an earlier call
// returned as Next; Next is nil at the end.
func (h *History) AllSubscriptions(a pix.AccountID, after []byte, limit int) (layout.Listed[*ledger.Subscription], error) {
	return lookUp(h, a, func(v View) (layout.Listed[*ledger.Subscription], error) {
		lo, hi := layout.AllSubscriptions()
		if a != 0 {
			lo, hi = layout.SubscriptionsOf(a)
		}
		return h.subscriptions(v, lo, hi, after, limit)
	})
}

func (h *History) subscriptions(v View, lo, hi, after []byte, limit int) (layout.Listed[*ledger.Subscription], error) {
	return page(v, lo, hi, after, limit, func(k, _ []byte) (*ledger.Subscription, bool, error) {
		a, number, err := layout.DecodeSubscriptionKey(k)
		if err != nil {
			return nil, false, err
		}
		s, err := Subscription(viewedJournal{v, h.journal}, layout.Target{Account: a, Number: number})
		return s, s != nil, err
	})
}

// Deliveries lists deliveries of one subscription in a state. Pending ones come in the order of
// their next attempts, others by event, the newest first. page counts from 1.
// layout.ErrTooLong: finding them takes too long.
func (h *History) Deliveries(t layout.Target, state layout.DeliveryState, p layout.Page) ([]ledger.DeliveryItem, error) {
	skip := uint64(p.Number-1) * uint64(p.Size)
	if skip/uint64(p.Size) != uint64(p.Number-1) {
		return nil, nil // the page lies beyond every list
	}
	return limited(h, t.Account, func(limit *scanLimit) ([]ledger.DeliveryItem, error) {
		return lookUp(h, t.Account, func(v View) (all []ledger.DeliveryItem, err error) {
			lo, hi := layout.DeliveriesOf(t, state, 0)
			scan := v.ScanBack
			if state == layout.DeliveryPending {
				lo, hi = layout.PendingOf(t)
				scan = v.Scan
			}
			err = scan(lo, hi, func(k, b []byte) (bool, error) {
				if err := limit.over(); err != nil || skip > 0 {
					skip--
					return err == nil, err
				}
				d, err := h.delivery(v, k, b)
				all = append(all, d)
				return len(all) < p.Size, err
			})
			return all, err
		})
	})
}

// AllDeliveries lists deliveries by subscription: of one subscription, where number is not 0; of
// an account's, where a is not 0; else of all. If state is not 0, it lists only those in that
// state. Of each subscription pending ones come first, by their next attempts, then delivered
// and dead ones, by event. The list begins after the key after, which an earlier call returned
// as Next; Next is nil at the end. One call looks at 10,000 subscriptions at most.
func (h *History) AllDeliveries(a pix.AccountID, number uint32, state layout.DeliveryState, after []byte, limit int) (layout.Listed[ledger.DeliveryItem], error) {
	return lookUp(h, a, func(v View) (all layout.Listed[ledger.DeliveryItem], err error) {
		lo, hi := layout.AllSubscriptions()
		switch {
		case number != 0:
			lo = layout.SubscriptionKey(a, number)
			hi = append(lo[:len(lo):len(lo)], 0)
		case a != 0:
			lo, hi = layout.SubscriptionsOf(a)
		}
		if t, ok := layout.TargetOf(after); ok {
			lo = slices.MaxFunc([][]byte{lo, layout.SubscriptionKey(t.Account, t.Number)}, bytes.Compare)
			if bytes.Compare(lo, hi) >= 0 {
				return all, nil // the key is of another list
			}
		}
		looks := 0
		err = v.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			account, number, err := layout.DecodeSubscriptionKey(k)
			if err != nil {
				return false, err
			}
			t := layout.Target{Account: account, Number: number}
			if looks++; looks > tried || len(all.Entries) == limit {
				all.Next = layout.PendingKey(t, 0, 0)
				return false, nil
			}
			from := after
			if began, _ := layout.TargetOf(after); began != t {
				from = nil
			}
			more, err := h.ofTarget(v, t, state, from, limit-len(all.Entries))
			all = joined(all, more)
			return all.Next == nil, err
		})
		return all, err
	})
}

// joined is a page and what is behind it.
func joined[T any](l, more layout.Listed[T]) layout.Listed[T] {
	return layout.Listed[T]{Entries: append(l.Entries, more.Entries...), Next: more.Next, Damaged: l.Damaged + more.Damaged}
}

// ofTarget is AllDeliveries for one subscription.
func (h *History) ofTarget(v View, t layout.Target, state layout.DeliveryState, after []byte, limit int) (all layout.Listed[ledger.DeliveryItem], err error) {
	for _, s := range []layout.DeliveryState{layout.DeliveryPending, layout.DeliveryDelivered, layout.DeliveryDead} {
		lo, hi := layout.DeliveriesOf(t, s, 0)
		if s == layout.DeliveryPending {
			lo, hi = layout.PendingOf(t)
		}
		if state != 0 && s != state || string(after) >= string(hi) {
			continue
		}
		if len(all.Entries) == limit {
			all.Next = lo
			return all, nil
		}
		from := after
		if string(from) < string(lo) {
			from = nil
		}
		more, err := page(v, lo, hi, from, limit-len(all.Entries), func(k, b []byte) (ledger.DeliveryItem, bool, error) {
			d, err := h.delivery(v, k, b)
			return d, true, err
		})
		if all = joined(all, more); err != nil || all.Next != nil {
			return all, err
		}
	}
	return all, nil
}

// delivery makes a delivery of its row: the one with the due time, or the one with the status.
func (h *History) delivery(v View, k, b []byte) (ledger.DeliveryItem, error) {
	if layout.IsPending(k) {
		return h.pending(v, k, b)
	}
	t, state, sequence, err := layout.DecodeDeliveryKey(k)
	if err != nil {
		return ledger.DeliveryItem{}, err
	}
	s, err := layout.DecodeDeliveryStatus(b)
	if err != nil {
		return ledger.DeliveryItem{}, err
	}
	return h.withEvent(t, sequence, state, s)
}

// pending makes a delivery of its row with the due time.
func (h *History) pending(v View, k, b []byte) (ledger.DeliveryItem, error) {
	p, err := layout.DecodePending(k, b)
	if err != nil {
		return ledger.DeliveryItem{}, err
	}
	s, tried, err := layout.Find(v, layout.DeliveryKey(p.Target, layout.DeliveryPending, p.Sequence), layout.DecodeDeliveryStatus)
	if err != nil {
		return ledger.DeliveryItem{}, err
	}
	if !tried {
		s = p.Untried()
	}
	return h.withEvent(p.Target, p.Sequence, layout.DeliveryPending, s)
}

// withEvent joins a delivery with its event.
func (h *History) withEvent(t layout.Target, sequence uint64, state layout.DeliveryState, s *layout.DeliveryStatus) (ledger.DeliveryItem, error) {
	e, err := h.event(t.Account, s.Record, s.Event, sequence)
	return ledger.DeliveryItem{Target: t, Event: e, State: state, Status: s}, err
}

// event reads the event of a record.
func (h *History) event(a pix.AccountID, seq uint64, index uint8, sequence uint64) (ledger.Event, error) {
	r, err := Record(h.journal, a, seq)
	if err != nil {
		return ledger.Event{}, err
	}
	if int(index) < len(r.Events) {
		if e := r.Event(int(index)); e.Sequence == sequence {
			return e, nil
		}
	}
	return ledger.Event{}, &wal.Damage{Stream: wal.Stream(a), Seq: seq, What: fmt.Sprintf("has no event %d", sequence)}
}

// eventTime returns the time of the record that caused an account's event. Each record says how
// many events there were up to it, so it reads few of them. layout.ErrNoDelivery: there is none.
func (h *History) eventTime(v View, a pix.AccountID, sequence uint64) (at pix.Millis, err error) {
	newest, err := v.Last(wal.Stream(a))
	if err != nil {
		return 0, err
	}
	var failed error
	first := sort.Search(int(newest), func(i int) bool {
		if failed != nil {
			return true
		}
		r, err := Record(h.journal, a, uint64(i)+1)
		if err != nil {
			failed = err
			return true
		}
		if r.Totals.Events < sequence {
			return false
		}
		at = r.Time
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case sequence == 0 || uint64(first) == newest:
		return 0, layout.ErrNoDelivery
	}
	return at, nil
}

// Delivery returns one delivery of a subscription by the event's sequence; nil where there is
// none.
func (h *History) Delivery(t layout.Target, sequence uint64) (*ledger.DeliveryItem, error) {
	found, err := lookUp(h, t.Account, func(v View) (*ledger.DeliveryItem, error) {
		at, err := h.eventTime(v, t.Account, sequence)
		if err != nil {
			return nil, err
		}
		state, s, err := layout.FindDelivery(v, t, sequence, at)
		if err != nil {
			return nil, err
		}
		d, err := h.withEvent(t, sequence, state, s)
		return &d, err
	})
	if errors.Is(err, layout.ErrNoDelivery) {
		return nil, nil
	}
	return found, err
}

// Subscription reads a webhook subscription; nil where the account never had it.
func (h *History) Subscription(t layout.Target) (*ledger.Subscription, error) {
	return lookUp(h, t.Account, func(v View) (*ledger.Subscription, error) {
		return Subscription(viewedJournal{v, h.journal}, t)
	})
}

// MostCounted is how many deliveries Backlog counts of each kind. There may be millions: dead ones are kept for 90 days.
const MostCounted = 10_000

// Backlog counts a subscription's deliveries that wait, and those that are dead; MostCounted: there are as many, or more.
func (h *History) Backlog(t layout.Target) (pending, dead uint64, err error) {
	err = h.look(t.Account, func(v View) error {
		count := func(lo, hi []byte, n *uint64) error {
			return v.Scan(lo, hi, func(_, _ []byte) (bool, error) { *n++; return *n < MostCounted, nil })
		}
		lo, hi := layout.PendingOf(t)
		if err := count(lo, hi, &pending); err != nil {
			return err
		}
		lo, hi = layout.DeliveriesOf(t, layout.DeliveryDead, 0)
		return count(lo, hi, &dead)
	})
	return pending, dead, err
}
