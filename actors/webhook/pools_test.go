package webhook

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestHanging checks that subscriptions of many accounts that never answer do not keep another
// from its deliveries for longer than patience at a time, and not at all once their attempts have
// failed.
func TestHanging(t *testing.T) {
	const hanging = 500
	r := newRig(t, nil)
	for n := range hanging {
		for sequence := range uint64(20) {
			r.emit(target(n+1), sequence+1)
		}
	}
	var hung []Task
	well := target(9999)
	served := func() bool {
		r.emit(well, uint64(r.now))
		began := r.now
		for {
			for _, task := range r.tick() {
				if task.Target == well {
					if r.now-began > 4*second {
						t.Fatalf("it waits for %d", r.now-began)
					}
					r.answers(task, 200)
					return r.now == began
				}
				hung = append(hung, task)
			}
			r.now += 50
		}
	}
	for range 40 {
		served()
	}
	if len(hung) != hanging {
		t.Errorf("%d attempts hang", len(hung))
	}
	for r.now = t0 + 15*second; len(hung) > 0; hung = hung[1:] { // they are given up
		r.answers(hung[0], 0)
	}
	for range 100 {
		if r.now += 50; !served() {
			t.Error("it waits for subscriptions that fail")
		}
		if len(hung) > DefaultBounds().Slow.All {
			t.Fatalf("%d attempts for subscriptions that hang", len(hung))
		}
	}
}

// TestPause checks that a receiver that fails at once is not called in a loop, and that the
// pause is kept while nothing of the subscription is in memory.
func TestPause(t *testing.T) {
	r := newRig(t, nil)
	for n := range uint64(100) {
		r.emit(target(1), n+1)
	}
	for n := range pix.Millis(60) {
		r.answers(r.one(), 500)
		pause := min(20*(n+1), 1000)
		r.quiet()
		if len(r.queues) != 0 {
			t.Fatal("it is kept in memory")
		}
		r.now += pause - 1
		r.emit(target(1), 1000+uint64(n))
		r.quiet()
		r.now++
	}
	r.answers(r.one(), 200)
	if len(r.tick()) != 2 {
		t.Error("there is a pause after a success")
	}
}

// TestPauseOfManyIsForgotten checks that what is remembered of failing subscriptions is bounded,
// and that it goes with the subscription.
func TestPauseOfManyIsForgotten(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Remember = 10 })
	for n := range 30 {
		r.emit(target(n+1), 1)
	}
	for _, task := range r.tick() {
		r.answers(task, 500)
	}
	r.quiet()
	if _, waiting, failing := r.Counts(); failing != 10 || waiting != 30 {
		t.Errorf("%d wait, %d failing are remembered", waiting, failing)
	}
	for n := range 30 {
		r.shelf.subscribe(target(n+1), ledger.SubscriptionRemoved)
		r.Changed(target(n + 1))
	}
	r.quiet()
	r.quiet()
	if due, waiting, failing := r.Counts(); due != 0 || waiting != 0 || failing != 0 || !r.Idle() {
		t.Errorf("of removed subscriptions %d are due, %d wait and %d fail", due, waiting, failing)
	}
}

// TestStart checks that the rows of an earlier process are found without anybody's help,
// however many subscriptions have any, and that a damaged row stops nobody else.
func TestStart(t *testing.T) {
	const many = 3500
	r := newRig(t, func(b *Bounds) { b.Good.All = 100 })
	for n := range many {
		of := layout.Target{Account: pix.AccountID(n/2 + 1), Number: uint32(n%2 + 1)}
		r.shelf.subscribe(of, ledger.SubscriptionActive)
		due := t0 - 1
		if n%7 == 0 {
			due = t0 + 10*second
		}
		r.shelf.wait(of, 1, due)
	}
	done := 0
	for r.find != nil || done < many-many/7 {
		before := r.shelf.read
		for _, task := range r.tick() {
			r.answers(task, 200)
			done++
		}
		if r.shelf.read-before > 4*r.bounds.Find {
			t.Fatalf("a step reads %d rows", r.shelf.read-before)
		}
	}
	r.quiet()
	if due, waiting, _ := r.Counts(); done != many-many/7 || due != 0 || waiting != many/7 {
		t.Errorf("%d were delivered, %d are due, %d wait", done, due, waiting)
	}
	r.now += 10 * second
	for range 20 {
		for _, task := range r.tick() {
			r.answers(task, 200)
			done++
		}
	}
	if done != many || !r.Idle() {
		t.Errorf("%d were delivered", done)
	}
}

// TestDamagedRow checks that a row which is no delivery is reported, and stops nobody else.
func TestDamagedRow(t *testing.T) {
	r := newRig(t, nil)
	for n := range 3 {
		r.shelf.subscribe(target(n+1), ledger.SubscriptionActive)
		p := r.shelf.wait(target(n+1), 1, t0)
		if n == 0 {
			r.shelf.rows[string(p.Key())] = []byte("?")
		}
	}
	if _, err := r.Tick(r.now, r.shelf); err == nil {
		t.Error("the damage was not reported")
	}
	if got := r.tick(); len(got) != 2 {
		t.Errorf("%d attempts start", len(got))
	}
}

// TestFullPoolReadsNothing checks that queues which wait for a place take no rows into memory,
// cost a step nothing, and get their turn when an attempt ends.
func TestFullPoolReadsNothing(t *testing.T) {
	b := DefaultBounds()
	b.Good.All = 3
	rows, m := newShelf(), New(nil, b)
	for n := 1; n <= 500; n++ {
		rows.subscribe(target(n), ledger.SubscriptionActive)
		rows.wait(target(n), 1, t0)
		rows.wait(target(n), 2, t0)
	}
	first, err := m.Tick(t0, rows)
	if err != nil || len(first) != 3 {
		t.Fatal(len(first), err)
	}
	read := rows.read
	for range 100 {
		if tasks, err := m.Tick(t0, rows); err != nil || len(tasks) != 0 {
			t.Fatal(len(tasks), err)
		}
	}
	loaded := 0
	for _, q := range m.queues {
		loaded += len(q.loaded)
	}
	if rows.read != read || loaded > 3 {
		t.Errorf("%d rows were read in vain, %d are in memory", rows.read-read, loaded)
	}
	m.Done(first[0], Result{Answer: Answer{Status: 200}, Now: t0})
	if next, err := m.Tick(t0, rows); err != nil || len(next) != 1 || next[0].Target == first[0].Target {
		t.Errorf("%+v %v", next, err)
	}
}
