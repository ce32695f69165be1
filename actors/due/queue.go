package due

import "pixd/actors/ledger"

// queue is what the machine knows about the queue of payouts for one directory limit.
// Payouts are tried in rounds, each of which goes on where the previous one ended. A round
// first tries up to Bounds.Probes payouts. For each payout whose lookup succeeds another
// payout is tried, until the limit refuses again. A round begins at least one interval
// (Machine.every) after the last try of the previous round ended, so any interval of that
// length has no more tries than one round.
type queue struct {
	next    ledger.Millis // engine time from which a round may begin
	after   ledger.TxID   // id of the payout that was tried last; the next try takes the payout after it
	from    ledger.TxID   // value of after when the round began
	wrapped bool          // the round has reached the end of the queue and gone on at its beginning
	over    bool          // the round has tried the whole queue
	credit  int           // number of tries that may still start in this round
	skipped int
	flying  map[ledger.EntityID]bool
}

// runQueues begins the rounds whose time has come, and starts the next tries in each queue.
func (m *Machine) runQueues(s *step) error {
	if s.now >= m.find {
		if err := m.findQueues(s.rows); err != nil {
			return err
		}
		m.find = s.now + m.every/3
	}
	for _, id := range m.order {
		q := m.queues[id]
		if s.now >= q.next {
			q.begin(m.bounds.Probes)
		}
		for q.credit > 0 && !q.over {
			before := len(s.tasks)
			if err := m.pull(s, id, q); err != nil {
				return err
			}
			if len(s.tasks) > before {
				q.next = s.now + m.every
			}
		}
	}
	return nil
}

// begin begins a round at the payout after the one that was tried last.
func (q *queue) begin(probes int) {
	q.from, q.wrapped, q.over = q.after, q.after == ledger.TxID{}, false
	q.credit, q.skipped = probes-len(q.flying), 0
}

// findQueues finds the queues that have at least one payout. It makes one scan for each
// queue.
func (m *Machine) findQueues(rows Rows) error {
	queues := make(map[ledger.QueueID]*queue, len(m.queues))
	m.order = m.order[:0]
	for next, more := ledger.QueueID(0), true; more; {
		more = false
		lo, hi := ledger.QueueFrom(next)
		err := rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
			row, err := ledger.DecodeQueued(k, v)
			if err != nil {
				return false, err
			}
			q := m.queues[row.Queue]
			if q == nil {
				q = &queue{flying: map[ledger.EntityID]bool{}}
			}
			queues[row.Queue] = q
			m.order = append(m.order, row.Queue)
			next, more = row.Queue+1, row.Queue != ^ledger.QueueID(0)
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	for id, q := range m.queues {
		if queues[id] == nil && len(q.flying) > 0 {
			queues[id] = q // the queue is empty, but payouts of it are being tried
		}
	}
	m.queues = queues
	return nil
}

// pull starts tries of the next payouts, at most as many as the field credit says, and
// stops at the end of the queue; the next call goes on at the queue's beginning.
func (m *Machine) pull(s *step, id ledger.QueueID, q *queue) error {
	lo, hi := ledger.QueueOf(id, q.after)
	ended := true
	err := s.rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		row, err := ledger.DecodeQueued(k, v)
		if err != nil {
			return false, err
		}
		if q.wrapped && q.from != (ledger.TxID{}) && string(row.ID[:]) > string(q.from[:]) {
			q.over = true
			return false, nil
		}
		if q.credit == 0 {
			ended = false
			return false, nil
		}
		q.after = row.ID
		if !q.flying[ledger.EntityID(row.ID)] && !m.closed[row.Account] {
			q.flying[ledger.EntityID(row.ID)] = true
			q.credit--
			s.tasks = append(s.tasks, Task{Account: row.Account, ID: ledger.EntityID(row.ID), Retry: true, Queue: id})
		}
		return true, nil
	})
	if err != nil || !ended || q.over {
		return err
	}
	if q.wrapped {
		q.over = true
	}
	q.wrapped, q.after = true, ledger.TxID{}
	return nil
}

// endRetry takes the result of a try. The round may try another payout where the lookup
// succeeded, or where no lookup was made (at most Bounds.Skip times).
func (m *Machine) endRetry(t Task, r Result, now ledger.Millis) {
	q := m.queues[t.Queue]
	if q == nil {
		return
	}
	delete(q.flying, t.ID)
	if !r.Skipped && !r.failed() {
		q.next = max(q.next, now+m.every)
	}
	if (r.Skipped || r.failed()) && q.skipped < m.bounds.Skip { // no lookup was made
		q.skipped++
	} else if r.Queued || r.failed() || r.Unheard {
		return
	}
	q.credit = min(q.credit+1, m.bounds.Probes-len(q.flying))
}
