package webhook

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// watch calls Watch for a subscription until nothing is over, and returns how many deliveries
// ended and since when the oldest of the others waits.
func (r *rig) watch(t layout.Target) (over int, oldest pix.Millis) {
	r.t.Helper()
	for {
		w, err := r.Watch(t, r.now, r.shelf, func(_ uint64, at pix.Millis) pix.Millis { return at })
		if err != nil {
			r.t.Fatal(err)
		}
		if w.Late.Bury == nil {
			return over, w.Oldest
		}
		over += len(w.Late.Bury)
		r.shelf.apply(r.Buried(w.Late))
		r.ResultDurable(w.Late)
	}
}

// TestHangs has a receiver hang for the whole time of each attempt while events come faster than
// attempts end. Each delivery ends once the schedule's length has passed since its event.
func TestHangs(t *testing.T) {
	r := newRig(t, nil)
	hangs, good := target(1), target(2)
	const every, attempt = 10 * second, 15 * second
	var running []Task
	began, sequence, dead := pix.Millis(0), uint64(0), 0
	for ; r.now < t0+4*24*hour; r.now += 5 * second {
		if (r.now-t0)%every == 0 {
			sequence++
			r.emit(hangs, sequence)
		}
		if len(running) > 0 && r.now >= began+attempt {
			if o := r.ends(running[0], Result{Answer: Answer{Err: "timeout"}}); o.State == layout.DeliveryDead {
				dead++
			}
			running = nil
		}
		if tasks := r.tick(); len(tasks) > 0 {
			if len(tasks) > 1 || running != nil {
				t.Fatal("a receiver that hangs gets two attempts at once")
			}
			running, began = tasks, r.now
		}
		if (r.now-t0)%(10*60*second) == 0 {
			n, oldest := r.watch(hangs)
			if dead += n; oldest != 0 && r.now-oldest > life+dueTurn+attempt {
				t.Fatalf("after %d h an event waits for %v", (r.now-t0)/hour, time.Duration(r.now-oldest)*time.Millisecond)
			}
		}
	}
	if want := int((r.now - t0 - life) / every); dead < want-100 || dead > want {
		t.Errorf("%d of %d deliveries are dead, want %d", dead, sequence, want)
	}
	r.emit(good, 1)
	if o := r.answers(r.tick()[0], 200); o.State != layout.DeliveryDelivered {
		t.Errorf("another receiver: %+v", o)
	}
}

// TestWatch checks what ends when its time is over, and what does not.
func TestWatch(t *testing.T) {
	r := newRig(t, nil)
	of := target(1)
	for sequence := uint64(1); sequence <= 5; sequence++ {
		r.emit(of, sequence)
	}
	first := r.one()
	r.answers(first, 500) // delivery 1 was attempted
	if over, oldest := r.watch(of); over != 0 || oldest != t0 {
		t.Errorf("at the event: %d, %v", over, oldest)
	}
	r.now += life - 1
	if over, oldest := r.watch(of); over != 0 || oldest != t0 {
		t.Errorf("a millisecond before the end: %d, %v", over, oldest)
	}
	if _, err := Hold(r.shelf, 100, func(ops []wal.Op) error { r.shelf.apply(ops); return nil }); err != nil {
		t.Fatal(err)
	}
	r.now += hour
	if over, oldest := r.watch(of); over != 0 || oldest != 0 {
		t.Errorf("held: %d, %v", over, oldest)
	}
	again := r.now
	for sequence := uint64(2); sequence <= 3; sequence++ { // put back in line
		state, s, err := findDelivery(r.shelf, of, sequence)
		if err != nil {
			t.Fatal(err)
		}
		task, o := r.Again(of, sequence, state, s, r.now)
		r.shelf.apply(o.Ops)
		r.ResultDurable(task)
	}
	r.emit(of, 6)
	if over, oldest := r.watch(of); over != 0 || oldest != again {
		t.Errorf("put back in line: %d, %v", over, oldest)
	}
	r.now += life - 1
	if over, oldest := r.watch(of); over != 0 || oldest != again {
		t.Errorf("a millisecond before the end of the new schedule: %d, %v", over, oldest)
	}
	r.now++
	if over, oldest := r.watch(of); over != 3 || oldest != 0 {
		t.Errorf("at the end of the new schedule: %d, %v", over, oldest)
	}
	for sequence, want := range map[uint64]string{1: "pending", 2: "dead", 3: "dead", 4: "pending", 5: "pending", 6: "dead"} {
		r.shelf.expectState(t, of, sequence, want)
	}
	if r.quiet(); !r.Idle() {
		t.Error("something is left")
	}
}

// TestWatchAttempt checks that a delivery whose attempt runs, or became due a moment ago, does
// not end meanwhile, and that the end of an attempt ends it.
func TestWatchAttempt(t *testing.T) {
	r := newRig(t, nil)
	of := target(1)
	r.emit(of, 1)
	task := r.one()
	r.now += life
	if over, oldest := r.watch(of); over != 0 || oldest != t0 {
		t.Errorf("an attempt runs: %d, %v", over, oldest)
	}
	o := r.ends(task, Result{Answer: Answer{Err: "timeout"}, Doubted: true})
	if o.State != layout.DeliveryPending {
		t.Errorf("under doubt: %+v", o)
	}
	r.now = o.Next.Due
	if over, _ := r.watch(of); over != 0 {
		t.Error("it ends before its turn")
	}
	if o := r.ends(r.one(), Result{Answer: Answer{Err: "timeout"}}); o.State != layout.DeliveryDead || !strings.Contains(o.Alert, "event 1 ") {
		t.Errorf("after its time: %+v", o)
	}
	v := r.shelf.rows[string(layout.DeliveryKey(of, layout.DeliveryDead, 1))]
	if s, err := layout.DecodeDeliveryStatus(v); err != nil || s.Why != tooOld || len(s.Attempts) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWatchDoubtedStamp checks that an event whose stamp may be wrong ages from the start of the
// process, in the machine and for the dispatcher.
func TestWatchDoubtedStamp(t *testing.T) {
	r := newRig(t, nil)
	of := target(1)
	r.emit(of, 1)
	start := t0 + 50*hour
	record := ledger.Record{Time: t0, Body: ledger.Body{Tx: &ledger.Transaction{Doubted: true}}}
	at := func(uint64, pix.Millis) pix.Millis { return record.EventsSince(pix.Reading{Start: start}) }
	for _, c := range []struct {
		at   pix.Millis
		over int
	}{{start + life - 1, 0}, {start + life, 1}} {
		if w, err := r.Watch(of, c.at, r.shelf, at); err != nil || len(w.Late.Bury) != c.over || c.over == 0 && w.Oldest != start {
			t.Errorf("at %v: %+v, %v", c.at, w, err)
		}
	}
	if record.Tx.Doubted = false; record.EventsSince(pix.Reading{Start: start}) != t0 {
		t.Error("a stamp without doubt ages from the start of the process")
	}
}

// TestWatchReadsLittle checks that a look at a subscription of which nothing is over costs the
// same however much waits or is held.
func TestWatchReadsLittle(t *testing.T) {
	r := newRig(t, nil)
	of := target(1)
	for sequence := uint64(1); sequence <= 3000; sequence++ {
		r.shelf.wait(of, sequence, t0)
	}
	if _, err := Hold(r.shelf, 1000, func(ops []wal.Op) error { r.shelf.apply(ops); return nil }); err != nil {
		t.Fatal(err)
	}
	r.now += hour
	for sequence := uint64(3001); sequence <= 6000; sequence++ {
		r.emit(of, sequence)
	}
	r.answers(r.one(), 500)
	r.watch(of) // passes by what is held, once
	before := r.shelf.read
	if over, oldest := r.watch(of); over != 0 || oldest != r.now || r.shelf.read-before > 4 {
		t.Errorf("%d over, oldest %v, %d rows read", over, oldest, r.shelf.read-before)
	}
}

// TestDelayed checks the alert about an event that waits for more than an hour: once an hour for
// a subscription, and none while time is doubted, for what is held, or for one that is stopped.
func TestDelayed(t *testing.T) {
	k := newDesk(t, nil)
	k.machine.life = 100 * hour
	delayed := func() (n int) {
		t.Helper()
		k.Watch()
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, a := range k.alerts {
			if a.Kind != AlertDelayed || !strings.Contains(a.Message, "whk_") {
				t.Errorf("%+v", a)
			}
			n++
		}
		return n
	}
	k.rows(func(s *shelf) {
		s.subscribe(target(2), ledger.SubscriptionActive)
		s.subscribe(target(3), ledger.SubscriptionStopped)
		for _, of := range []layout.Target{target(1), target(3)} {
			s.wait(of, 1, k.now())
			s.wait(of, 2, k.now())
		}
		s.wait(target(2), 1, layout.Held)
	})
	k.clock.Add(int64(59 * 60 * second))
	if n := delayed(); n != 0 {
		t.Errorf("within the hour: %d alerts", n)
	}
	k.clock.Add(int64(2 * 60 * second))
	k.doubted.Store(true)
	if n := delayed(); n != 0 {
		t.Errorf("under doubt: %d alerts", n)
	}
	k.doubted.Store(false)
	for range 3 {
		if n := delayed(); n != 1 {
			t.Errorf("after an hour: %d alerts", n)
		}
	}
	k.clock.Add(int64(59 * 60 * second))
	if n := delayed(); n != 1 {
		t.Errorf("within the next hour: %d alerts", n)
	}
	k.clock.Add(int64(2 * 60 * second))
	if n := delayed(); n != 2 {
		t.Errorf("after the next hour: %d alerts", n)
	}
}

// TestLateDies checks that the dispatcher ends deliveries whose time is over, more than it takes
// at once, with one alert, and not while time is doubted.
func TestLateDies(t *testing.T) {
	k := newDesk(t, nil)
	const many = 2*watchAtOnce + 10
	k.rows(func(s *shelf) {
		for sequence := uint64(1); sequence <= many; sequence++ {
			s.wait(target(1), sequence, k.now())
		}
	})
	k.clock.Add(int64(2*hour + slack)) // the desk's schedule is an hour
	k.doubted.Store(true)
	if k.Watch(); k.Measure().Dead != 0 {
		t.Errorf("under doubt: %d dead", k.Measure().Dead)
	}
	k.doubted.Store(false)
	if k.Watch(); k.Measure().Dead != many {
		t.Errorf("%d dead of %d", k.Measure().Dead, many)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.alerts) != 1 || k.alerts[0].Kind != AlertDead {
		t.Errorf("%+v", k.alerts)
	}
	if got := k.shelf.stands(target(1), many); got != "dead" {
		t.Errorf("the last one is %s", got)
	}
}

// TestWatchPassesByDamage checks that a subscription whose rows cannot be read, and a row that
// cannot be read, do not keep the subscriptions behind them from being watched.
func TestWatchPassesByDamage(t *testing.T) {
	k := newDesk(t, nil)
	damaged, behind, unreadable, last := target(1), target(2), target(3), target(4)
	k.rows(func(s *shelf) {
		for _, of := range []layout.Target{damaged, behind, unreadable, last} {
			s.subscribe(of, ledger.SubscriptionActive)
			s.wait(of, 1, k.now())
		}
		p := layout.Pending{Target: unreadable, Due: k.now(), Sequence: 1}
		s.apply([]wal.Op{
			{Kind: wal.OpSet, Key: layout.DeliveryKey(damaged, layout.DeliveryPending, 1), Value: []byte{0xff}},
			{Kind: wal.OpSet, Key: p.Key(), Value: []byte{0xff}},
		})
	})
	k.clock.Add(int64(2*hour + slack)) // the desk's schedule is an hour
	var log bytes.Buffer
	k.Log = slog.New(slog.NewTextHandler(&log, nil))
	k.Watch()
	if n := strings.Count(log.String(), "deliveries not watched"); n != 2 {
		t.Errorf("%d lines of the log about two that cannot be read:\n%s", n, log.String())
	}
	k.rows(func(s *shelf) {
		s.expectState(t, behind, 1, "dead")
		s.expectState(t, last, 1, "dead")
	})
}

// TestWatchEndsBehindRetries checks that a look at deliveries which were put back in line and are long due, as many as
// one look takes, finds nothing that is over, and says so: otherwise no AlertDelayed would be raised about them.
func TestWatchEndsBehindRetries(t *testing.T) {
	r := newRig(t, nil)
	of := target(1)
	for sequence := uint64(1); sequence <= watchAtOnce; sequence++ {
		p := layout.Pending{Target: of, Due: t0, Sequence: sequence, Record: sequence}
		s := layout.DeliveryStatus{Record: sequence, CreatedAt: t0, Since: t0 + life, Due: t0, Attempts: []layout.Attempt{{At: t0}}}
		r.shelf.apply([]wal.Op{
			{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()},
			{Kind: wal.OpSet, Key: layout.DeliveryKey(of, layout.DeliveryPending, sequence), Value: s.Encode()},
		})
	}
	w, err := r.Watch(of, t0+life+hour, r.shelf, func(_ uint64, at pix.Millis) pix.Millis { return at })
	if err != nil || w.Late.Bury != nil || w.More || w.Oldest != t0+life {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestWatchBehindRetries checks that a delivery whose time is over ends although many before it
// were put back in line, also where these are more than a look passes by.
func TestWatchBehindRetries(t *testing.T) {
	for _, many := range []uint64{watchAtOnce, passAtOnce + 5} {
		r := newRig(t, nil)
		of := target(1)
		put := func(sequence uint64, since pix.Millis) {
			p := layout.Pending{Target: of, Due: r.now + 60_000, Sequence: sequence, Record: sequence}
			s := layout.DeliveryStatus{Record: sequence, CreatedAt: t0, Since: since, Due: p.Due, Attempts: []layout.Attempt{{At: t0}}}
			r.shelf.apply([]wal.Op{
				{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()},
				{Kind: wal.OpSet, Key: layout.DeliveryKey(of, layout.DeliveryPending, sequence), Value: s.Encode()},
			})
		}
		r.now += life + hour
		for sequence := uint64(1); sequence <= many; sequence++ {
			put(sequence, r.now-hour)
		}
		put(many+1, 0)
		over, oldest := 0, pix.Millis(0)
		for range 2 {
			n, at := r.watch(of)
			over += n
			oldest = max(oldest, at)
		}
		if over != 1 || oldest != r.now-hour {
			t.Errorf("behind %d: %d over, oldest %v", many, over, oldest)
		}
		r.shelf.expectState(t, of, many+1, "dead")
		r.shelf.expectState(t, of, 1, "pending")
		r.now += life
		for range 2 { // those that a look passed by are looked at again
			n, _ := r.watch(of)
			over += n
		}
		if over != int(many)+1 {
			t.Errorf("of %d, %d are over in the end", many+1, over)
		}
	}
}
