package webhook

import (
	"slices"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestBury checks that the deliveries of a subscription that is stopped or removed end as dead
// without an attempt, a bounded number at once, also those that are due later; and that one
// that runs meanwhile ends as its receiver answers.
func TestBury(t *testing.T) {
	for status, why := range map[ledger.SubscriptionStatus]string{
		ledger.SubscriptionStopped: "the webhook is stopped", ledger.SubscriptionRemoved: "the webhook was removed",
	} {
		r := newRig(t, func(b *Bounds) { b.Look = 10 })
		for n := range uint64(3) {
			r.emit(target(1), n+1)
		}
		for range 2 {
			r.answers(r.one(), 500)
			r.now += second
		}
		for n := range uint64(100) { // no attempt of these was made
			r.emit(target(1), n+4)
		}
		running := r.one()
		r.shelf.subscribe(target(1), status)
		r.Changed(target(1))
		most := 0
		for range 30 {
			tasks, err := r.Tick(r.now, r.shelf)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks {
				if task.Bury == nil {
					t.Fatalf("an attempt begins: %+v", task)
				}
				most = max(most, len(task.Bury))
				r.shelf.apply(r.Buried(task))
				r.ResultDurable(task)
			}
		}
		if most != 10 {
			t.Errorf("%d are ended at once", most)
		}
		for n := range uint64(103) {
			if n+1 == running.Sequence {
				continue
			}
			r.shelf.expectState(t, target(1), n+1, "dead")
			_, s, _ := findDelivery(r.shelf, target(1), n+1)
			if s.Why != why || n < 2 && len(s.Attempts) != 1 || n > 2 && (len(s.Attempts) != 0 || s.CreatedAt != t0+2*second || s.Record != n+1) {
				t.Errorf("delivery %d: %+v", n+1, s)
			}
		}
		r.shelf.expectState(t, target(1), running.Sequence, "new")
		r.answers(running, 500)
		r.quiet()
		r.quiet()
		r.shelf.expectState(t, target(1), running.Sequence, "dead")
		if !r.Idle() {
			t.Error("something is left")
		}
	}
}

// TestBuryWhileOneRuns checks that a delivery that is due later ends as dead at once, although
// an attempt of its subscription runs.
func TestBuryWhileOneRuns(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	r.answers(r.one(), 500)
	r.now += second
	r.emit(target(1), 2)
	r.one()
	r.shelf.subscribe(target(1), ledger.SubscriptionRemoved)
	r.Changed(target(1))
	r.quiet()
	r.shelf.expectState(t, target(1), 1, "dead")
}

// TestFormerReceiver checks that what an attempt meets that began before the subscription changed ends neither
// the delivery, which is attempted again at once, nor the subscription; the answer to the next attempt counts.
func TestFormerReceiver(t *testing.T) {
	for _, status := range []int{410, 500, 503} {
		r := newRig(t, nil)
		r.emit(target(1), 1)
		for range len(schedule) { // the next attempt is the last one
			r.now = r.answers(r.one(), 500).Next.Due
		}
		former := r.one()
		r.Changed(target(1))
		if o := r.ends(former, Result{Answer: Answer{Status: status, RetryAfter: time.Hour}}); o.Stop || o.State != layout.DeliveryPending || o.Next.Due != r.now {
			t.Fatalf("%d of the former receiver: %+v", status, o)
		}
		if o := r.answers(r.one(), 410); !o.Stop || o.State != layout.DeliveryDead {
			t.Errorf("410 of the present receiver: %+v", o)
		}
		r.shelf.expectState(t, target(1), 1, "dead")
	}
}

// TestAgain checks that a delivery in any state is put back in line: it is due now, its
// attempts stay listed, and its schedule begins anew.
func TestAgain(t *testing.T) {
	for state, tries := range map[string]int{"dead": 10, "delivered": 1, "pending": 3, "new": 0} {
		r := newRig(t, nil)
		r.emit(target(1), 7)
		if state == "new" { // a failure of another delivery makes it wait
			r.emit(target(1), 6)
			if task := r.one(); task.Sequence != 6 {
				t.Fatal(task)
			}
		}
		for range tries {
			status := 500
			if state == "delivered" {
				status = 200
			}
			if o := r.answers(r.one(), status); o.State == layout.DeliveryPending {
				r.now = o.Next.Due
			}
		}
		r.now += second
		r.shelf.expectState(t, target(1), 7, state)
		was, s, err := findDelivery(r.shelf, target(1), 7)
		if err != nil || r.attempts(target(1), 7) {
			t.Fatal(err)
		}
		task, o := r.Again(target(1), 7, was, s, r.now)
		if r.tick(); !r.attempts(target(1), 7) {
			t.Errorf("%s: it may be put back in line twice", state)
		}
		r.shelf.apply(o.Ops)
		r.shelf.expectState(t, target(1), 7, "pending")
		r.ResultDurable(task)
		r.Wake(o.Next)
		if state == "new" {
			continue // the other one runs
		}
		next := r.one()
		if next.Sequence != 7 || next.Tries != 0 || next.Due != r.now || next.Status == nil || len(next.Status.Attempts) != tries || next.Status.CreatedAt != t0 {
			t.Errorf("%s: %+v %+v", state, next, next.Status)
		}
		if o := r.answers(next, 500); o.State != layout.DeliveryPending || o.Next.Due != r.now+5*second {
			t.Errorf("%s: %+v", state, o)
		}
		r.shelf.expectState(t, target(1), 7, "pending")
	}
	if _, _, err := findDelivery(newShelf(), target(1), 7); err != layout.ErrNoDelivery { //nolint:errorlint // the error itself is wanted
		t.Error(err)
	}
}

// TestAgainAtOnce checks that a delivery which is loaded, or due in the very millisecond, is put
// back in line once.
func TestAgainAtOnce(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Each = 1 })
	for n := range uint64(4) {
		r.emit(target(1), n+1)
	}
	running := r.one()
	order := []uint64{running.Sequence}
	begins := func() {
		r.answers(running, 200)
		running = r.one()
		order = append(order, running.Sequence)
	}
	for _, sequence := range []uint64{2, 4} {
		was, s, err := findDelivery(r.shelf, target(1), sequence)
		if err != nil {
			t.Fatal(err)
		}
		r.now += pix.Millis(sequence - 2) // the first one is put where it was
		task, o := r.Again(target(1), sequence, was, s, r.now)
		r.quiet()
		r.shelf.apply(o.Ops)
		r.answers(running, 200)
		r.quiet() // the one that is put back counts as running
		r.ResultDurable(task)
		r.Wake(o.Next)
		running = r.one()
		order = append(order, running.Sequence)
	}
	begins()
	r.answers(running, 200)
	if r.quiet(); !slices.Equal(order, []uint64{1, 2, 3, 4}) || !r.Idle() {
		t.Errorf("%v began", order)
	}
}

// TestDueDuringAnAttempt checks that a delivery that becomes due while another of its
// subscription hangs does not wait for it.
func TestDueDuringAnAttempt(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	r.answers(r.one(), 200)
	r.quiet()
	r.emit(target(1), 2)
	r.emit(target(1), 3)
	tasks := r.tick()
	r.answers(tasks[0], 200)
	if len(tasks) != 1 {
		t.Fatal(len(tasks))
	}
	hanging := r.one()
	r.shelf.wait(target(1), 4, r.now+second)
	r.Wake(layout.Pending{Target: target(1), Due: r.now + second, Sequence: 4})
	r.quiet()
	r.now += second
	if task := r.one(); task.Sequence != 4 || hanging.Sequence != 3 {
		t.Errorf("%+v", task)
	}
}

// TestFormerReceiverOften checks that a webhook that changes during each attempt does not make a delivery's
// schedule begin anew.
func TestFormerReceiverOften(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	for range 256 {
		former := r.one()
		r.Changed(target(1))
		r.answers(former, 500)
	}
	if o := r.answers(r.one(), 500); o.State != layout.DeliveryDead {
		t.Errorf("after 256 attempts another follows: %+v", o)
	}
}
