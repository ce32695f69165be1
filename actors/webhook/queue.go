package webhook

import (
	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// queue is one subscription of which something is due or runs.
type queue struct {
	target       layout.Target
	subscription *ledger.Subscription // nil: it must be read
	pool         *pool                // in whose line it waits for its turn; nil: in none
	place        fair.Place[pix.AccountID, *queue]

	// mark is the first row that was not read yet: rows before it are loaded, run, or are
	// reported by Machine.Wake.
	mark    layout.Pending
	loaded  []layout.Pending      // rows that are due and were read, oldest due time first
	running map[uint64]pix.Millis // due times, by the event's sequence, of deliveries that are attempted now or whose result is not durable yet
	dry     bool                  // the last load read all that was due then
	next    pix.Millis            // due time of the first row that is not due yet; 0: there was none

	changes uint64 // how often the subscription has changed

	wide   int                               // how many attempts may run at once, while all succeed
	status map[uint64]*layout.DeliveryStatus // of loaded deliveries that were attempted before
}

func newQueue(t layout.Target) *queue {
	return &queue{target: t, running: map[uint64]pix.Millis{}, wide: 1, status: map[uint64]*layout.DeliveryStatus{}}
}

// active tells whether the subscription gets its deliveries; else they end as dead.
func (q *queue) active() bool { return q.subscription.Status == ledger.SubscriptionActive }

// width is how many tasks of the queue may run at once.
func (q *queue) width(most int) int {
	if !q.active() {
		return most // what is buried waits for no receiver
	}
	return min(q.wide, most)
}

// back makes the next load begin at the row, or before it where loaded rows are earlier: they
// are forgotten and must be read again. A row behind the mark is found anyway.
func (q *queue) back(p layout.Pending) {
	if !earlier(p, q.mark) {
		return
	}
	if len(q.loaded) > 0 && earlier(q.loaded[0], p) {
		p = q.loaded[0]
	}
	q.restart(p)
}

// earlier tells whether the row a comes before the row b.
func earlier(a, b layout.Pending) bool {
	return a.Due < b.Due || a.Due == b.Due && a.Sequence < b.Sequence
}

// restart makes the next load begin at the row.
func (q *queue) restart(p layout.Pending) {
	q.mark, q.loaded, q.dry = p, nil, false
	clear(q.status)
}

// load reads rows that are due, at most the number most. Of a subscription that is stopped or
// removed it also reads rows that are due later.
func (q *queue) load(now pix.Millis, rows Rows, most int) error {
	_, hi := layout.PendingOf(q.target)
	q.next = 0
	var loaded []layout.Pending
	mark, full := q.mark, false
	err := rows.Scan(layout.PendingKey(q.target, q.mark.Due, q.mark.Sequence), hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		switch {
		case err != nil:
			return false, err
		case p.Due > now && q.active():
			q.next = p.Due
			return false, nil
		case len(loaded) == most:
			full = true
			return false, nil
		}
		mark = p
		mark.Sequence++
		if q.running[p.Sequence] == 0 {
			loaded = append(loaded, p)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	clear(q.status)
	for _, p := range loaded {
		s, tried, err := layout.Find(rows, layout.DeliveryKey(q.target, layout.DeliveryPending, p.Sequence), layout.DecodeDeliveryStatus)
		if err != nil {
			return err
		}
		if tried {
			q.status[p.Sequence] = s
		}
	}
	q.mark, q.loaded, q.dry = mark, loaded, !full
	return nil
}

// mayLoad tells whether a load may find something that is due.
func (q *queue) mayLoad(now pix.Millis) bool {
	return !q.dry || q.next != 0 && q.next <= now
}

// begin starts an attempt of the first loaded delivery.
func (q *queue) begin(a *attempt) Task {
	p := q.loaded[0]
	q.loaded = q.loaded[1:]
	q.running[p.Sequence] = p.Due
	return Task{Pending: p, Subscription: q.subscription, Status: q.status[p.Sequence], attempt: a}
}

// bury ends all loaded deliveries as dead.
func (q *queue) bury() Task {
	t := Task{Pending: layout.Pending{Target: q.target}, Subscription: q.subscription, why: "the webhook is stopped"}
	if q.subscription.Status == ledger.SubscriptionRemoved {
		t.why = "the webhook was removed"
	}
	for _, p := range q.loaded {
		q.running[p.Sequence] = p.Due
		t.Bury = append(t.Bury, Task{Pending: p, Status: q.status[p.Sequence]})
	}
	q.loaded = nil
	return t
}
