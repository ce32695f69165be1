package due

import "pixd/actors/ledger"

// queue is a queue in front of one directory bucket. Every round tries a few, in
// rotation; for each that passes, another follows, until the limit returns. A round
// begins no earlier than the interval after the end of the last try, so that no
// interval, wherever it begins, sees more tries than one round makes.
type queue struct {
	next    ledger.Millis // when a round may begin
	after   ledger.TxID   // the one tried last: the rotation goes on behind it
	from    ledger.TxID   // where the round began
	wrapped bool          // the round has come around to the queue's beginning
	over    bool          // the round has seen the whole queue
	credit  int           // how many more may start
	skipped int
	flying  map[ledger.EntityID]bool
}

// runQueues starts rounds, and finds who is next in each queue that has room.
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

// begin starts a round behind who was tried last.
func (q *queue) begin(probes int) {
	q.from, q.wrapped, q.over = q.after, q.after == ledger.TxID{}, false
	q.credit, q.skipped = probes-len(q.flying), 0
}

// findQueues finds the queues that somebody stands in, a look at each.
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
			queues[id] = q // nobody stands there, and some are on their way
		}
	}
	m.queues = queues
	return nil
}

// pull takes who is next, as many as there is room for, up to the queue's end.
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

// endRetry makes room for another where one has passed.
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
