package webhook

import (
	"errors"
	"fmt"

	"pixd/actors/pix"
)

// line puts the queue in the line of its class, where it is not there yet.
func (m *Machine) line(q *queue) {
	to := m.pools[m.class(q.target)]
	if q.pool == to {
		return
	}
	if q.pool != nil {
		q.pool.Remove(q.place)
	}
	to.add(q)
}

// turns gives the queues of one pool their turns, while attempts may begin in it.
func (m *Machine) turns(c class, now pix.Millis, rows Rows, tasks []Task) (_ []Task, unread error) {
	p := m.pools[c]
	most := p.places.All
	if m.limit > 0 {
		most = min(most, p.InUse()+m.limit)
	}
	for p.InUse() < most {
		q := p.next()
		if q == nil {
			break
		}
		if m.class(q.target) != c {
			m.line(q)
			continue
		}
		var err error
		if tasks, err = m.turn(q, c, now, rows, tasks); err != nil {
			m.waiting.Set(q.target, now+unreadAgain)
			unread = errors.Join(unread, fmt.Errorf("deliveries of subscription %d of %v: %w", q.target.Number, q.target.Account, err))
		}
	}
	return tasks, unread
}

// turn starts one task of a queue. A queue that may have more to start goes to the end of the
// line.
func (m *Machine) turn(q *queue, c class, now pix.Millis, rows Rows, tasks []Task) ([]Task, error) {
	if q.subscription == nil {
		s, err := rows.Subscription(q.target)
		if err != nil {
			return tasks, err
		}
		if s == nil { // only damage makes a delivery without a subscription; the command that verifies a store reports it
			delete(m.queues, q.target)
			return tasks, nil
		}
		q.subscription = s
	}
	if pause := m.bad[q.target].pause; pause > now && q.active() {
		if len(q.running) == 0 {
			m.sleep(q, pause)
		}
		return tasks, nil
	}
	if len(q.running) >= q.width(m.bounds.Each) {
		return tasks, nil // the end of an attempt gives it its turn
	}
	if len(q.loaded) == 0 && q.mayLoad(now) {
		if err := q.load(now, rows, m.bounds.Look); err != nil {
			return tasks, err
		}
	}
	switch {
	case len(q.loaded) == 0:
		m.rest(q)
		return tasks, nil
	case !q.active():
		tasks = append(tasks, q.bury())
	default:
		a := m.begin(c, q.target, now)
		a.changes = q.changes
		tasks = append(tasks, q.begin(a))
	}
	if len(q.running) < q.width(m.bounds.Each) {
		m.line(q)
	}
	return tasks, nil
}
