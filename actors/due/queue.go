package due

import "pixd/actors/ledger"

// line is a queue in front of one directory bucket. Every round tries a few, in
// rotation; for each that passes, another follows, until the limit returns. A round
// begins no earlier than the interval after the end of the last try, so that no
// interval, wherever it begins, sees more tries than one round makes.
type line struct {
	next    ledger.Millis // when a round may begin
	after   ledger.TxID   // the one tried last: the rotation goes on behind it
	from    ledger.TxID   // where the round began
	wrapped bool          // the round has come around to the line's beginning
	over    bool          // the round has seen the whole line
	credit  int           // how many more may start
	skipped int
	flying  map[ledger.TxID]bool
}

// inLine starts rounds, and finds who is next in each line that has room.
func (m *Machine) inLine(s *step) error {
	if s.now >= m.find {
		if err := m.findLines(s.rows); err != nil {
			return err
		}
		m.find = s.now + m.every/3
	}
	for _, id := range m.order {
		l := m.lines[id]
		if s.now >= l.next {
			l.begin(m.bounds.Probes)
		}
		for l.credit > 0 && !l.over {
			before := len(s.visits)
			if err := m.pull(s, id, l); err != nil {
				return err
			}
			if len(s.visits) > before {
				l.next = s.now + m.every
			}
		}
	}
	return nil
}

// begin starts a round behind who was tried last.
func (l *line) begin(probes int) {
	l.from, l.wrapped, l.over = l.after, l.after == ledger.TxID{}, false
	l.credit, l.skipped = probes-len(l.flying), 0
}

// findLines finds the lines that somebody stands in, a look at each.
func (m *Machine) findLines(rows Rows) error {
	lines := make(map[ledger.Line]*line, len(m.lines))
	m.order = m.order[:0]
	for next, more := ledger.Line(0), true; more; {
		more = false
		lo, hi := ledger.QueueFrom(next)
		err := rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
			q, err := ledger.DecodeQueued(k, v)
			if err != nil {
				return false, err
			}
			l := m.lines[q.Line]
			if l == nil {
				l = &line{flying: map[ledger.TxID]bool{}}
			}
			lines[q.Line] = l
			m.order = append(m.order, q.Line)
			next, more = q.Line+1, q.Line != ^ledger.Line(0)
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	for id, l := range m.lines {
		if lines[id] == nil && len(l.flying) > 0 {
			lines[id] = l // nobody stands there, and some are on their way
		}
	}
	m.lines = lines
	return nil
}

// pull takes who is next, as many as there is room for, up to the line's end.
func (m *Machine) pull(s *step, id ledger.Line, l *line) error {
	lo, hi := ledger.QueueOf(id, l.after)
	ended := true
	err := s.rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		q, err := ledger.DecodeQueued(k, v)
		if err != nil {
			return false, err
		}
		if l.wrapped && l.from != (ledger.TxID{}) && string(q.ID[:]) > string(l.from[:]) {
			l.over = true
			return false, nil
		}
		if l.credit == 0 {
			ended = false
			return false, nil
		}
		l.after = q.ID
		if !l.flying[q.ID] && !m.closed[q.Account] {
			l.flying[q.ID] = true
			l.credit--
			s.visits = append(s.visits, Visit{Account: q.Account, ID: q.ID, Retry: true, Line: id})
		}
		return true, nil
	})
	if err != nil || !ended || l.over {
		return err
	}
	if l.wrapped {
		l.over = true
	}
	l.wrapped, l.after = true, ledger.TxID{}
	return nil
}

// cameInLine makes room for another where one has passed.
func (m *Machine) cameInLine(v Visit, c Came, now ledger.Millis) {
	l := m.lines[v.Line]
	if l == nil {
		return
	}
	delete(l.flying, v.ID)
	if !c.Skipped && !c.Failed {
		l.next = max(l.next, now+m.every)
	}
	if (c.Skipped || c.Failed) && l.skipped < m.bounds.Skip { // no lookup was made
		l.skipped++
	} else if c.Queued || c.Failed || c.Unheard {
		return
	}
	l.credit = min(l.credit+1, m.bounds.Probes-len(l.flying))
}
