package webhook

import (
	"pixd/actors/fair"
	"pixd/actors/ledger"
)

// queue is one subscription of which something is due or runs.
type queue struct {
	target       ledger.Target
	subscription *ledger.Subscription // nil: it must be read
	pool         *pool                // in whose line it waits for its turn; nil: in none
	place        fair.Place[ledger.AccountID, *queue]

	// mark is the first row that was not read yet: rows before it are loaded, run, or are
	// reported by Machine.Wake.
	mark    ledger.Pending
	loaded  []ledger.Pending         // rows that are due and were read, oldest due time first
	running map[uint64]ledger.Millis // due times, by the event's sequence, of deliveries that are attempted now or whose result is not durable yet
	dry     bool                     // the last load read all that was due then
	next    ledger.Millis            // due time of the first row that is not due yet; 0: there was none

	wide   int                               // how many attempts may run at once, while all succeed
	status map[uint64]*ledger.DeliveryStatus // of loaded deliveries that were attempted before
}

func newQueue(t ledger.Target) *queue {
	return &queue{target: t, running: map[uint64]ledger.Millis{}, wide: 1, status: map[uint64]*ledger.DeliveryStatus{}}
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
func (q *queue) back(p ledger.Pending) {
	if !earlier(p, q.mark) {
		return
	}
	if len(q.loaded) > 0 && earlier(q.loaded[0], p) {
		p = q.loaded[0]
	}
	q.restart(p)
}

// earlier tells whether the row a comes before the row b.
func earlier(a, b ledger.Pending) bool {
	return a.Due < b.Due || a.Due == b.Due && a.Sequence < b.Sequence
}

// restart makes the next load begin at the row.
func (q *queue) restart(p ledger.Pending) {
	q.mark, q.loaded, q.dry = p, nil, false
	clear(q.status)
}

// load reads rows that are due, at most the number most. Of a subscription that is stopped or
// removed it also reads rows that are due later.
func (q *queue) load(now ledger.Millis, rows Rows, most int) error {
	_, hi := ledger.PendingOf(q.target)
	q.next = 0
	var loaded []ledger.Pending
	mark, full := q.mark, false
	err := rows.Scan(ledger.PendingKey(q.target, q.mark.Due, q.mark.Sequence), hi, func(k, v []byte) (bool, error) {
		p, err := ledger.DecodePending(k, v)
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
		v, ok, err := rows.Get(ledger.DeliveryKey(q.target, ledger.DeliveryPending, p.Sequence))
		if err != nil {
			return err
		}
		if ok {
			if q.status[p.Sequence], err = ledger.DecodeDeliveryStatus(v); err != nil {
				return err
			}
		}
	}
	q.mark, q.loaded, q.dry = mark, loaded, !full
	return nil
}

// mayLoad tells whether a load may find something that is due.
func (q *queue) mayLoad(now ledger.Millis) bool {
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
	t := Task{Pending: ledger.Pending{Target: q.target}, Subscription: q.subscription, why: "the webhook is stopped"}
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
