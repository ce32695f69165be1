package webhook

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
)

// running compares how many attempts each pool counts as running.
func (r *rig) running(when string, want [classes]int) {
	r.t.Helper()
	var got [classes]int
	for c := range r.pools {
		got[c] = r.pools[c].InUse()
	}
	if got != want {
		r.t.Errorf("%s: good, failing and slow attempts %v, want %v", when, got, want)
	}
}

// TestFailedAfterLong checks that the next attempt for a receiver whose last one took long and failed
// begins among the slow ones, so that receivers that hang take no place of those that fail at once,
// and that one which failed at once begins among the failing ones.
func TestFailedAfterLong(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	hung := r.one()
	r.emit(target(2), 1)
	failed := r.one()
	r.answers(failed, 500)
	r.now += 15 * second
	r.answers(hung, 0)
	for _, task := range r.tick() { // the one that failed is tried again
		if task.Target != target(2) {
			t.Errorf("%+v begins", task.Target)
		}
	}
	r.running("after a failure at once", [classes]int{failing: 1})
	r.emit(target(1), 2)
	r.now += second - 1
	next := r.one()
	r.running("after a failure that took long", [classes]int{failing: 1, slow: 1})
	r.answers(next, 200)
	r.emit(target(1), 3)
	r.one()
	r.running("after a success at once", [classes]int{good: 1, failing: 1})
}

// TestLateGetsItsPlace checks that an attempt which became slow while the slow ones had no place for
// it moves there when one ends, and leaves its place to receivers that answer well.
func TestLateGetsItsPlace(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Good.All, b.Slow.All = 2, 1 })
	r.emit(target(1), 1)
	r.emit(target(2), 1)
	hang := r.tick()
	r.emit(target(3), 1)
	r.now += patience
	if got := r.one(); got.Target != target(3) {
		t.Errorf("%+v has the place of the one that is slow", got.Target)
	}
	r.running("one place for slow ones", [classes]int{good: 2, slow: 1})
	r.emit(target(4), 1)
	r.now += patience / 2
	r.quiet()
	r.answers(hang[0], 200)
	if got := r.one(); got.Target != target(4) {
		t.Errorf("%+v has the place of the other slow one", got.Target)
	}
	r.running("the other one is slow", [classes]int{good: 2, slow: 1})
}

// TestTurnInAnotherPool checks that a subscription which waits for a place among the good ones, and
// becomes slow meanwhile, gets a place among the slow ones while its first attempt still runs.
func TestTurnInAnotherPool(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Good.All = 1 })
	r.emit(target(1), 1)
	r.answers(r.one(), 200) // from now on two at once
	r.emit(target(1), 2)
	r.emit(target(1), 3)
	if got := r.one(); got.Sequence != 2 {
		t.Fatalf("event %d", got.Sequence)
	}
	r.now += patience
	if got := r.one(); got.Sequence != 3 {
		t.Errorf("event %d", got.Sequence)
	}
	r.running("both are slow", [classes]int{slow: 2})
}

// TestLimit checks that a limit bounds how many attempts begin in each pool at one step, and not how
// many run.
func TestLimit(t *testing.T) {
	r := newRig(t, nil)
	for n := range 8 {
		r.emit(target(100+n), 1)
	}
	for _, task := range r.tick() {
		r.answers(task, 500)
	}
	r.now += 10 * second
	for n := range 20 {
		r.emit(target(1+n), 1)
	}
	r.Limit(3)
	for n := range 4 {
		if got, want := len(r.tick()), min(3, 8-3*n); got != 3+max(want, 0) {
			t.Errorf("step %d: %d attempts begin", n, got)
		}
	}
	r.Limit(0)
	if got := len(r.tick()); got != 8 {
		t.Errorf("without a limit %d attempts begin", got)
	}
}

// TestBusyPassed checks that a dispatcher begins few attempts at a step only while the processor is
// needed for other work.
func TestBusyPassed(t *testing.T) {
	k := newDesk(t, nil)
	var busy atomic.Bool
	k.Busy = busy.Load
	k.rows(func(s *shelf) {
		for n := range 100 {
			s.subscribe(target(n+1), ledger.SubscriptionActive)
			s.wait(target(n+1), 1, t0)
		}
	})
	begins := func(want int) {
		t.Helper()
		if tasks, err := k.tick(); err != nil || len(tasks) != want {
			t.Errorf("%d attempts begin, want %d (%v)", len(tasks), want, err)
		}
	}
	left := 100
	busy.Store(true)
	for range 2 {
		most := min(left, busyAttempts*runtime.GOMAXPROCS(0))
		begins(most)
		left -= most
	}
	busy.Store(false)
	begins(left)
}

// TestAgainEndsThePause checks that a delivery which somebody puts back in line is attempted at once,
// although its receiver has asked for a pause.
func TestAgainEndsThePause(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	r.ends(r.one(), Result{Answer: Answer{Status: 503, RetryAfter: time.Hour}})
	r.emit(target(1), 2)
	r.quiet()
	state, s, err := findDelivery(r.shelf, target(1), 1)
	if err != nil {
		t.Fatal(err)
	}
	task, o := r.Again(target(1), 1, state, s, r.now)
	r.shelf.apply(o.Ops)
	r.ResultDurable(task)
	r.Wake(o.Next)
	if got := r.tick(); len(got) != 1 {
		t.Errorf("%d attempts begin", len(got))
	}
}

// TestSlowOnesAreForgotten checks that it is remembered of no more subscriptions than the bound says
// that they are slow.
func TestSlowOnesAreForgotten(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Remember = 10 })
	for n := range 30 {
		r.emit(target(n+1), 1)
	}
	tasks := r.tick()
	r.now += patience
	r.quiet()
	for _, task := range tasks {
		r.answers(task, 200)
	}
	r.quiet()
	if len(r.slow) != 10 || !r.Idle() {
		t.Errorf("%d are remembered", len(r.slow))
	}
}
