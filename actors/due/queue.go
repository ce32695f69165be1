package due

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// limit is what the machine knows about the payouts that wait for one directory limit: an
// account's own, or the institution's, for which the payouts of many accounts wait, each in its
// account's queue. Payouts are tried in rounds, in which the queues take turns, one payout in each
// turn. A round first tries up to Bounds.Probes payouts. For each payout whose lookup succeeds
// another payout is tried, until the limit refuses again. Where few lookups succeed, these are the
// first of a round: so a round begins with the queue whose last successful lookup is the oldest. Where
// there are more queues than tries, a quarter of the tries goes to those that were tried least
// recently, so that payouts which are never granted are not in the others' way. A round begins at least
// one interval (Machine.every) after the last try of the previous round ended, so any interval of
// that length has no more tries than one round.
type limit struct {
	next    pix.Millis // engine time from which a round may begin
	credit  int        // number of tries that may still start in this round
	skipped int
	flying  map[layout.EntityID]*queue // the tries that run, each with the queue in which it was started

	queues []*queue // those with payouts, in the order of their rows
	turns  []*queue // those of which the round has not tried the whole queue, in the order of their turns
	events uint64   // number of tries that were started or served; it orders them
}

// queue is one queue of a limit.
type queue struct {
	id      layout.Queue
	after   pix.TxID // id of the payout that was tried last; the next try takes the payout after it
	from    pix.TxID // value of after when the round began
	wrapped bool     // the round has reached the end of the queue and gone on at its beginning
	over    bool     // the round has tried the whole queue

	served uint64 // limit.events when a lookup last succeeded, or when the queue was found
	tried  uint64 // limit.events when a try last started; 0: none has
	flying int    // number of tries that run
}

// limitOf returns the limit that payouts in a queue wait for: that of the account, or 0, the
// institution's.
func limitOf(q layout.Queue) pix.AccountID {
	if q.Institution() {
		return 0
	}
	return q.Account
}

// runQueues begins the rounds whose time has come, and starts the next tries for each limit.
func (m *Machine) runQueues(s *step) {
	if s.now >= m.find {
		m.findQueues(s)
		m.find = s.now + m.every/3
	}
	for _, id := range m.order {
		l := m.limits[id]
		if s.now >= l.next {
			l.begin(m.bounds.Probes)
		}
		before := len(s.tasks)
		m.takeTurns(s, l)
		if len(s.tasks) > before {
			l.next = s.now + m.every
		}
	}
}

// begin begins a round: with the queue whose turn it is, and in each queue with the payout after
// the one that was tried last.
func (l *limit) begin(probes int) {
	l.credit, l.skipped = probes-len(l.flying), 0
	for _, q := range l.queues {
		q.enter()
	}
	l.turns = append(l.turns[:0], l.queues...)
	slices.SortStableFunc(l.turns, func(a, b *queue) int {
		// Of a try that still runs the lookup has probably succeeded: the payout is being sent.
		return cmp.Or(cmp.Compare(min(a.flying, 1), min(b.flying, 1)), cmp.Compare(a.served, b.served), cmp.Compare(a.tried, b.tried))
	})
	if len(l.turns) > probes {
		slices.SortStableFunc(l.turns[probes-probes/4:], func(a, b *queue) int { return cmp.Compare(a.tried, b.tried) })
	}
}

// enter lets the round try the whole queue, beginning with the payout after the one that was tried
// last.
func (q *queue) enter() { q.from, q.wrapped, q.over = q.after, q.after == pix.TxID{}, false }

// takeTurns starts tries in the queues in turn, as many as the limit's credit.
func (m *Machine) takeTurns(s *step, l *limit) {
	for l.credit > 0 && len(l.turns) > 0 {
		q := l.turns[0]
		if err := m.pull(s, l, q); err != nil {
			q.over = true // until the next round
			s.note(err)
		}
		if l.turns = l.turns[1:]; !q.over {
			l.turns = append(l.turns, q)
		}
	}
}

// findQueues finds the queues that have at least one payout. It makes one scan for each
// queue. Where rows cannot be read, the queues that were known stay.
func (m *Machine) findQueues(s *step) {
	known := map[layout.Queue]*queue{}
	limits := make(map[pix.AccountID]*limit, len(m.limits))
	for id, l := range m.limits {
		for _, q := range l.queues {
			known[q.id] = q
		}
		if l.queues = nil; len(l.flying) > 0 {
			limits[id] = l // its queues may be empty now, but payouts of them are being tried
		}
	}
	m.order = m.order[:0]
	for _, found := range eachQueue(s, known) {
		q, id := known[found], limitOf(found)
		if q == nil {
			q = &queue{id: found}
		}
		l := cmp.Or(limits[id], m.limits[id])
		if l == nil {
			l = &limit{flying: map[layout.EntityID]*queue{}}
		}
		limits[id] = l
		if len(l.queues) == 0 {
			m.order = append(m.order, id)
		}
		if l.queues = append(l.queues, q); known[found] == nil {
			q.served = l.events // behind those that wait already
			q.enter()
			l.turns = append(l.turns, q)
		}
	}
	m.limits = limits
}

// eachQueue returns the queues that have a payout, in the order of the rows. Where rows cannot be read, those that are known are
// among them.
func eachQueue(s *step, known map[layout.Queue]*queue) (found []layout.Queue) {
	var unread error
	for _, r := range layout.QueueRanges() {
		for lo := r[0]; lo != nil; {
			next := []byte(nil)
			err := s.rows.Scan(lo, r[1], func(k, v []byte) (bool, error) {
				row, err := layout.DecodeQueued(k, v)
				if err != nil {
					s.note(err)
					return true, nil
				}
				found = append(found, row.Queue)
				_, next = layout.QueueOf(row.Queue, pix.TxID{})
				return false, nil
			})
			unread = cmp.Or(unread, err)
			lo = next
		}
	}
	if s.note(unread); unread == nil {
		return found
	}
	all := maps.Clone(known)
	for _, q := range found {
		all[q] = nil
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b layout.Queue) int {
		return bytes.Compare(layout.QueueKey(a, pix.TxID{}), layout.QueueKey(b, pix.TxID{}))
	})
}

// pull starts a try of the next payout of a queue, at its end of the first. The queue is over when it
// comes back to where the round began.
func (m *Machine) pull(s *step, l *limit, q *queue) error {
	for !q.over {
		started, err := m.tryNext(s, l, q)
		if err != nil || started || q.over {
			return err
		}
		q.over = q.wrapped
		q.wrapped, q.after = true, pix.TxID{}
	}
	return nil
}

// tryNext starts a try of the next payout of a queue; false: the queue has no further one.
func (m *Machine) tryNext(s *step, l *limit, q *queue) (started bool, err error) {
	lo, hi := layout.QueueOf(q.id, q.after)
	err = s.rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		row, err := layout.DecodeQueued(k, v)
		if err != nil {
			s.note(err)
			return true, nil
		}
		if q.wrapped && q.from != (pix.TxID{}) && string(row.ID[:]) > string(q.from[:]) {
			q.over = true
			return false, nil
		}
		q.after = row.ID
		if l.flying[layout.EntityID(row.ID)] != nil || m.closed[row.Account] {
			return true, nil
		}
		l.flying[layout.EntityID(row.ID)] = q
		m.tries++
		l.credit--
		l.events++
		q.tried = l.events
		q.flying++
		s.tasks = append(s.tasks, Task{Account: row.Account, ID: layout.EntityID(row.ID), Retry: true, Queue: q.id})
		started = true
		return false, nil
	})
	return started, err
}

// endRetry takes the result of a try. The round may try another payout where the lookup
// succeeded, or where no lookup was made (at most Bounds.Skip times).
func (m *Machine) endRetry(t Task, r Result, now pix.Millis) {
	l := m.limits[limitOf(t.Queue)]
	if l == nil || l.flying[t.ID] == nil {
		return
	}
	q := l.flying[t.ID]
	delete(l.flying, t.ID)
	m.tries--
	if !r.Skipped && !r.failed() {
		l.next = max(l.next, now+m.every)
	}
	if q.flying--; !r.Skipped && !r.failed() && !r.Queued && !r.Unheard {
		l.events++
		q.served = l.events
	}
	if (r.Skipped || r.failed()) && l.skipped < m.bounds.Skip { // no lookup was made
		l.skipped++
	} else if r.Queued || r.failed() || r.Unheard {
		return
	}
	l.credit = min(l.credit+1, m.bounds.Probes-len(l.flying))
}
