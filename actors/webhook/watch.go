package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// A delivery is attempted for as long as its schedule lasts, counted from its event or from
// when it was put back in line, and for slack, because the attempts take time themselves. A
// receiver that hangs takes an attempt's whole time for each event; where events come faster,
// they wait in vain. Then they end without all of their attempts, or without any.
const (
	slack       = 5 * 60 * 1000  // ms
	delayed     = 60 * 60 * 1000 // ms; AlertDelayed is raised about an event that waits for longer
	dueTurn     = 60 * 1000      // ms; what became due within this time still gets its attempt
	watchAtOnce = 128            // most rows of each kind that Machine.Watch takes at once: it reads a record for each, and no other delivery begins meanwhile
	passAtOnce  = 10_000         // most rows that it passes by: of held deliveries, and of those put back in line whose time is not over; it goes on behind them the next time
)

const tooOld = "the time for attempts is over"

// Watched is what Machine.Watch finds about one subscription.
type Watched struct {
	Late   Task       // with Bury: deliveries whose time is over; without: there are none
	Oldest pix.Millis // since when the oldest of the others waits; 0: none waits
	More   bool       // there may be more deliveries whose time is over
}

// Watch looks for deliveries of a subscription whose time is over, oldest first. It passes by
// deliveries that are held, and reads only what is over, what was put back in line since, and
// one row more. counted returns the instant from which a record's events age, or at. The caller must
// call ResultDurable for Late once its end is durable.
func (m *Machine) Watch(t layout.Target, now pix.Millis, rows Rows, counted func(record uint64, at pix.Millis) pix.Millis) (Watched, error) {
	w := watch{Watched: Watched{Late: Task{Pending: layout.Pending{Target: t}, why: tooOld}}, m: m, now: now, rows: rows, counted: counted}
	err := w.untried(t)
	if err == nil {
		err = w.tried(t)
	}
	if err != nil || w.Late.Bury == nil {
		w.More = false
		return w.Watched, err
	}
	q := m.queue(t)
	q.restart(layout.Pending{}) // what is loaded may be among what ends
	for i := range w.Late.Bury {
		q.running[w.Late.Bury[i].Sequence] = w.Late.Bury[i].Due
	}
	return w.Watched, nil
}

type watch struct {
	Watched
	m       *Machine
	now     pix.Millis
	rows    Rows
	counted func(record uint64, at pix.Millis) pix.Millis
}

// untried looks at deliveries before their first attempt. Their rows come in order of their due
// time, which is the event's time until then.
func (w *watch) untried(t layout.Target) error {
	var first []layout.Pending
	lo, hi := layout.PendingOf(t)
	err := w.rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		if err != nil || p.Due == layout.Held {
			return false, err
		}
		first = append(first, p)
		return w.goesOn(len(first), p.Due), nil
	})
	for _, p := range first {
		_, tried, e := w.rows.Get(layout.DeliveryKey(t, layout.DeliveryPending, p.Sequence))
		if err = errors.Join(err, e); err != nil {
			return err
		}
		if !tried {
			w.addDelivery(p, nil, p.Due)
		}
	}
	return err
}

// tried looks at deliveries that were attempted, or put back in line. Their rows come in order
// of their events.
func (w *watch) tried(t layout.Target) error {
	var first []layout.Pending
	var of []*layout.DeliveryStatus
	lo, hi := layout.DeliveriesOf(t, layout.DeliveryPending, max(w.m.held[t], w.m.passed[t]))
	onlyHeld := w.m.passed[t] <= w.m.held[t] // up to here
	delete(w.m.passed, t)
	passed := 0
	pass := func(sequence uint64) (more bool) {
		if passed++; passed == passAtOnce {
			w.m.passed[t] = sequence + 1
		}
		return passed < passAtOnce
	}
	err := w.rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		_, _, sequence, err := layout.DecodeDeliveryKey(k)
		if err != nil {
			return false, err
		}
		s, err := layout.DecodeDeliveryStatus(v)
		switch {
		case err != nil:
			return false, err
		case s.Due == layout.Held:
			if onlyHeld {
				w.m.held[t] = sequence + 1
			}
			return pass(sequence), nil
		case s.Since != 0 && s.Since+w.m.life > w.now:
			onlyHeld = false
			w.waits(s.Since)
			return pass(sequence), nil
		}
		onlyHeld = false
		first, of = append(first, layout.Pending{Target: t, Due: s.Due, Sequence: sequence, Record: s.Record, Event: s.Event}), append(of, s)
		return w.goesOn(len(first), s.CreatedAt), nil
	})
	for i, p := range first {
		w.addDelivery(p, of[i], cmp.Or(of[i].Since, of[i].CreatedAt))
	}
	return err
}

// goesOn tells whether a scan reads on behind the n-th row, of a delivery from an instant.
func (w *watch) goesOn(n int, from pix.Millis) bool {
	if from+w.m.life > w.now {
		return false
	}
	w.More = w.More || n == watchAtOnce
	return n < watchAtOnce
}

// addDelivery takes a delivery whose schedule began at an instant: it is over, or waits.
func (w *watch) addDelivery(p layout.Pending, s *layout.DeliveryStatus, since pix.Millis) {
	if since+w.m.life <= w.now && (s == nil || s.Since == 0) {
		since = w.counted(p.Record, since)
	}
	q := w.m.queues[p.Target]
	busy := q != nil && q.running[p.Sequence] != 0
	soon := p.Due > w.now-dueTurn && p.Due <= w.now
	if since+w.m.life <= w.now && !busy && !soon {
		w.Late.Bury = append(w.Late.Bury, Task{Pending: p, Status: s})
	} else {
		w.waits(since)
	}
}

// waits notes a delivery that waits since an instant, and whose time is not over.
func (w *watch) waits(since pix.Millis) {
	if w.Oldest == 0 || since < w.Oldest {
		w.Oldest = since
	}
}

// WatchEvery is the time between two calls of Watch.
const WatchEvery = 10 * time.Minute

// Watch ends deliveries whose time is over, and raises AlertDelayed. Of a subscription of which
// nothing is over it reads one row of each kind. What cannot be read is logged. While engine time is doubted, it does nothing.
func (d *Dispatcher) Watch() {
	if d.Now().Doubted {
		return
	}
	from, _ := layout.AllPending()
	for from != nil && d.ending.Err() == nil {
		p, next, err := firstWaiting(d.Rows, from)
		if err == nil && next != nil && p.Due != layout.Held {
			err = d.watchOne(p.Target)
		}
		from = next
		if err != nil {
			d.Log.Error("webhook: deliveries not watched", "error", err)
		}
	}
}

// watchOne watches one subscription, until nothing of it is over.
func (d *Dispatcher) watchOne(t layout.Target) error {
	for {
		s, err := d.Rows.Subscription(t)
		if err != nil || s == nil || s.Status != ledger.SubscriptionActive { // the deliveries of others end by themselves
			return err
		}
		d.mu.Lock()
		d.inbox.Into(d.machine) // an attempt whose end is durable must not count as running
		now := d.now()
		w, err := d.machine.Watch(t, now, d.Rows, d.eventAge(t.Account))
		dead := err == nil && w.Late.Bury != nil && d.machine.may(AlertDead, t, now)
		late := err == nil && w.Oldest != 0 && now-w.Oldest > delayed && !w.More && d.machine.may(AlertDelayed, t, now)
		d.mu.Unlock()
		if err != nil {
			return err
		}
		if dead {
			d.raise(t, AlertDead, deadMessage(s, w.Late.Bury[0].Sequence))
		}
		if late {
			d.raise(t, AlertDelayed, fmt.Sprintf("the oldest event for %v waits since %v: its receiver fails or is too slow; nothing more is said of it within the hour", s.ID, w.Oldest))
		}
		if w.Late.Bury == nil {
			return nil
		}
		if err := d.writeDead(&w.Late); err != nil || !w.More {
			return err
		}
	}
}

// eventAge returns the function that Machine.Watch needs, for the records of one account.
func (d *Dispatcher) eventAge(id pix.AccountID) func(uint64, pix.Millis) pix.Millis {
	now := d.Now()
	return func(record uint64, at pix.Millis) pix.Millis {
		r, err := d.Record(id, record)
		if err != nil {
			return at // it cannot be sent; its age is what its row says
		}
		return r.EventsSince(now)
	}
}

// writeDead ends deliveries as dead, and waits until that is durable.
func (d *Dispatcher) writeDead(t *Task) error {
	d.mu.Lock()
	ops := d.machine.Buried(*t)
	d.mu.Unlock()
	d.counts.dead.Add(uint64(len(t.Bury)))
	d.counts.rows.Add(uint64(len(ops)))
	done := make(chan error, 1)
	d.Journal.Append(&wal.Entry{
		Stream: wal.Stream(t.Account), Ops: ops, Shared: true, Out: []wal.Out{&durableResult{d, t, nil}, resultTo(done)},
	})
	return d.await(done)
}

func (d *Dispatcher) raise(t layout.Target, kind, message string) {
	if d.Alerts != nil {
		d.Alerts.Raise(t.Account, ledger.Alert{Kind: kind, Message: message})
	}
}
