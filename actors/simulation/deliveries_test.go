package simulation

import (
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// hookDelivery is what the simulation knows of one delivery, apart from the engine's rows.
type hookDelivery struct {
	record uint64 // sequence of the record that causes the event
	event  uint8  // index of the event in the record
	id     pix.EventID
	kind   pix.EventKind
	now    standing   // what is durable
	next   *standing  // what is being written; nil: nothing
	busy   bool       // a task of it is under way, or its result is not durable
	made   int        // attempts that began
	acked  bool       // the receiver has acknowledged the event
	gone   bool       // the receiver answered 410 to the newest attempt
	soon   pix.Millis // simulated time of the next attempt, if no crash comes before; 0: unknown
	last   bool       // its schedule was over at the newest attempt
	buried bool       // it ended with its subscription
	after  int        // changes of its subscription that the machine knew at the newest attempt
	anew   int        // attempts that count beyond its schedule, because the receiver changed while they ran
}

// standing is what the rows of a delivery say.
type standing struct {
	state    layout.DeliveryState
	tries    int        // attempts since the schedule began
	attempts int        // attempts in all
	due      pix.Millis // time of the next attempt; 0 where there is none
}

// delivery returns what is known of a delivery; one that is new waits for its first attempt.
func (l *life) delivery(p *layout.Pending) *hookDelivery {
	name := deliveryName{p.Target, p.Sequence}
	d := l.hooks.known[name]
	if d == nil {
		d = &hookDelivery{record: p.Record, event: p.Event, now: standing{state: layout.DeliveryPending, due: p.Due}}
		l.hooks.known[name] = d
		l.hooks.names = append(l.hooks.names, name)
	}
	return d
}

// nothingForgotten checks the machine when it has nothing to do at all and everything is
// durable: nothing is due, and nothing of a subscription that has ended waits.
func (l *life) nothingForgotten() {
	commit, sync := l.journal.Waiting()
	if commit || sync || l.journal.Err() != nil || len(l.flipped) > 0 || l.pump.handed > 0 || !l.pump.machine.Idle() {
		return
	}
	now := l.hookTime()
	lo, hi := layout.AllPending()
	err := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		if err != nil {
			return false, err
		}
		s := l.hooks.made[p.Target]
		if s != nil && s.ended {
			l.fail("event %d waits for subscription %v, which has ended", p.Sequence, p.Target)
		} else if d := l.hooks.known[deliveryName{p.Target, p.Sequence}]; (p.Due <= now || d != nil && d.soon != 0 && d.soon < l.clock) && l.pump.paused[p.Target] < l.clock {
			l.fail("event %d for subscription %v is due since %v, and is forgotten", p.Sequence, p.Target, p.Due)
		}
		return true, nil
	})
	if err != nil {
		l.fail("pending deliveries: %v", err)
	}
}

// dispatchAll delivers, without faults, all that is due.
func (l *life) dispatchAll() (busy bool) {
	for range 1_000 {
		before := len(l.pump.running)
		l.finishSome()
		l.settle()
		if !l.dispatch() && before == len(l.pump.running) {
			return busy
		}
		l.settle()
		busy = true
	}
	l.fail("webhooks have no end")
	return false
}

// deliveryRows reads the rows of all deliveries. Each delivery must have either a row that
// waits, with a status only if it has been attempted or put back, or the status of one that has
// ended.
func (l *life) deliveryRows() map[deliveryName]standing {
	all, statuses := map[deliveryName]standing{}, map[deliveryName]bool{}
	lo, hi := layout.AllPending()
	pending := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		name := deliveryName{p.Target, p.Sequence}
		if _, twice := all[name]; twice {
			l.fail("event %d waits for subscription %v twice", p.Sequence, p.Target)
		}
		all[name] = standing{state: layout.DeliveryPending, tries: int(p.Tries), due: p.Due}
		return err == nil, err
	})
	lo, hi = layout.AllDeliveries()
	ended := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		t, state, sequence, err := layout.DecodeDeliveryKey(k)
		if err != nil {
			return false, err
		}
		s, err := layout.DecodeDeliveryStatus(v)
		if err != nil {
			return false, err
		}
		name := deliveryName{t, sequence}
		waits, there := all[name]
		if statuses[name] || there != (state == layout.DeliveryPending) || waits.due != s.Due {
			l.fail("event %d for subscription %v is %v, due %v, and has another row, or none, due %v", sequence, t, state, s.Due, waits.due)
		}
		statuses[name] = true
		all[name] = standing{state, waits.tries, len(s.Attempts), s.Due}
		return true, nil
	})
	if err := errors.Join(pending, ended); err != nil {
		l.fail("deliveries: %v", err)
	}
	return all
}

// same reports whether rows say what is expected. Rows of a delivery that has ended do not say
// how often it was tried since the schedule began.
func (s standing) same(rows standing) bool {
	if s.state != layout.DeliveryPending {
		s.tries = 0
	}
	s.attempts = min(s.attempts, 50)
	return s == rows
}

// subscriptionsKept checks, at every start of a process, that each subscription is as it was
// confirmed.
func (l *life) subscriptionsKept() {
	for _, t := range l.hooks.targets {
		want := l.hooks.made[t]
		s, err := l.hookRows().Subscription(t)
		if l.flipped[t.Account] {
			continue
		}
		if err != nil || s == nil || s.URL != want.URL || s.Events != want.Events || s.ID != want.ID || want.ended && s.Status == ledger.SubscriptionActive {
			l.fail("subscription %v is %+v, and the journal has %+v: %v", t, *want, s, err)
		}
	}
}

// deliveriesKept checks, at every start of a process, that each delivery is as it was when it
// was last durable. What was being written is there or not.
func (l *life) deliveriesKept() {
	rows := l.deliveryRows()
	l.hooks.names = slices.DeleteFunc(l.hooks.names, func(name deliveryName) bool {
		_, there := rows[name]
		lost := !there && l.hooks.known[name].made == 0
		if lost { // its record was visible, and never durable
			delete(l.hooks.known, name)
		}
		return lost
	})
	for _, name := range l.hooks.names {
		d := l.hooks.known[name]
		if d.busy && d.next == nil {
			l.count("webhook: an attempt lost")
		}
		if d.next != nil && d.next.same(rows[name]) {
			d.now = *d.next
		} else if d.next != nil {
			l.count("webhook: an attempt's result lost")
		}
		if !d.now.same(rows[name]) {
			l.fail("event %d for subscription %v was %+v, and is %+v", name.sequence, name.Target, d.now, rows[name])
		}
		d.next, d.busy, d.soon = nil, false, 0
	}
}

// delivered checks, once nothing is left to do, that each event that the records cause was
// delivered or is dead for a reason, and that nothing else was.
func (c *chronicle) delivered(l *life) {
	if len(l.flipped) > 0 {
		return // what is due after the damaged record of an account cannot be told
	}
	rows := l.deliveryRows()
	for name, w := range c.hooks.wanted {
		got, there := rows[name]
		delete(rows, name)
		d := l.hooks.known[name]
		if !there || d == nil || got.state == layout.DeliveryPending {
			l.fail("event %d for subscription %v is not delivered: %+v", name.sequence, name.Target, got)
			continue
		}
		if !d.now.same(got) || d.record != w.record || d.event != w.event || d.made > 0 && (d.kind != w.kind || d.id.Sequence() != name.sequence) {
			l.fail("event %d for subscription %v is %+v and %+v, it should be %+v", name.sequence, name.Target, *d, got, w)
		}
		ended := c.hooks.masks[name.Account][name.Number] == 0
		switch {
		case d.made < d.now.attempts || d.now.tries > mostTries+d.anew:
			l.fail("event %d for subscription %v: %d attempts made, %+v", name.sequence, name.Target, d.made, d.now)
		case got.state == layout.DeliveryDelivered && !d.acked:
			l.fail("event %d for subscription %v counts as delivered, and was not acknowledged", name.sequence, name.Target)
		case got.state == layout.DeliveryDead && !d.last && !d.gone && (!d.buried || !ended):
			l.fail("event %d for subscription %v is dead after %d attempts", name.sequence, name.Target, d.now.tries)
		}
	}
	for name := range rows {
		l.fail("event %d for subscription %v comes of no record", name.sequence, name.Target)
	}
}
