package webhook

import (
	"encoding/binary"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// endless is a store in which one subscription has a million deliveries, all due.
type endless struct {
	shelf
	of   layout.Target
	read int
}

const million = 1_000_000

func (e *endless) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	first := uint64(1)
	if len(lo) == 29 && lo[13] == 0 && binary.BigEndian.Uint64(lo[13:]) > uint64(t0) {
		if first = binary.BigEndian.Uint64(lo[13:]) - uint64(t0); binary.BigEndian.Uint64(lo[21:]) > first {
			first++
		}
	} else if p := (layout.Pending{Target: e.of, Due: t0 + 1, Sequence: 1}); string(p.Key()) < string(lo) {
		return nil
	}
	for n := first; n <= million; n++ {
		p := layout.Pending{Target: e.of, Due: t0 + pix.Millis(n), Sequence: n, Record: n}
		if string(p.Key()) >= string(hi) {
			break
		}
		e.read++
		if more, err := fn(p.Key(), p.Value()); err != nil || !more {
			return err
		}
	}
	return nil
}

// TestMillion checks that of a million deliveries of one subscription few are in memory, that
// each row is read about once, and that a row in front of what was read is not missed.
func TestMillion(t *testing.T) {
	rows := &endless{shelf: *newShelf(), of: target(1)}
	rows.subscribe(target(1), ledger.SubscriptionActive)
	m := New(schedule, DefaultBounds())
	now := t0 + 2*million
	next := uint64(1)
	for range 500 {
		tasks, err := m.Tick(now, rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if task.Sequence != next {
				t.Fatalf("delivery %d begins, want %d", task.Sequence, next)
			}
			next++
			m.Done(task, Result{Answer: Answer{Status: 200}})
			m.ResultDurable(task)
		}
		q := m.queues[target(1)]
		if kept := len(q.loaded) + len(q.running) + len(q.status); kept > m.bounds.Look {
			t.Fatalf("%d deliveries are in memory", kept)
		}
	}
	if next < 5000 || rows.read > 2*int(next) {
		t.Errorf("%d began, %d rows were read", next, rows.read)
	}
	m.Wake(layout.Pending{Target: target(1), Due: t0 + 1, Sequence: 1})
	for range 10 {
		tasks, err := m.Tick(now, rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if task.Sequence == 1 {
				return
			}
			m.Done(task, Result{Answer: Answer{Status: 200}})
			m.ResultDurable(task)
		}
	}
	t.Error("the row in front was missed")
}

// TestAlarmsDoNotPileUp checks that a subscription of which something is due later costs one
// alarm, however often other deliveries wake it.
func TestAlarmsDoNotPileUp(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	r.answers(r.one(), 503)
	r.now += second
	for n := range uint64(30_000) {
		r.emit(target(1), n+2)
		r.answers(r.one(), 200)
		r.quiet()
		if due, waiting, _ := r.Counts(); due != 0 || waiting != 1 || r.waiting.Len() != 1 {
			t.Fatalf("after %d: %d are due, %d wait", n, due, waiting)
		}
		for _, k := range r.shelf.keys { // the delivered one is swept
			if layout.IsDelivery([]byte(k)) && k[13] == byte(layout.DeliveryDelivered) {
				r.shelf.forget(k)
				break
			}
		}
	}
	r.now = t0 + 5*second + second
	if task := r.one(); task.Sequence != 1 || r.pools[good].Waiting()+r.pools[failing].Waiting() > 0 || len(r.begun) > 100_000 {
		t.Errorf("%+v; %d accounts are in line", task, r.pools[good].Waiting())
	}
}
