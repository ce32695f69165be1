package webhook

import (
	"strings"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const (
	t0     = pix.Millis(1_000_000)
	second = pix.Millis(1000)
	hour   = 3600 * second
)

// life is how long a delivery is attempted by schedule, and the attempts themselves.
const life = 75*hour + 35*60*second + 5*second + slack

// schedule is that of an engine.
var schedule = []pix.Millis{5 * second, 300 * second, 1800 * second, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour}

// rig is a machine whose results are durable at once.
type rig struct {
	t testing.TB
	*Machine
	shelf *shelf
	now   pix.Millis
}

func newRig(t testing.TB, change func(*Bounds)) *rig {
	b := DefaultBounds()
	if change != nil {
		change(&b)
	}
	return &rig{t: t, Machine: New(schedule, b), shelf: newShelf(), now: t0}
}

func target(n int) layout.Target { return layout.Target{Account: pix.AccountID(n), Number: 1} }

// tick returns the attempts that start. Deliveries that end without an attempt end at once.
func (r *rig) tick() (attempts []Task) {
	r.t.Helper()
	tasks, err := r.Tick(r.now, r.shelf)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, t := range tasks {
		if t.Bury == nil {
			attempts = append(attempts, t)
			continue
		}
		r.shelf.apply(r.Buried(t))
		r.ResultDurable(t)
	}
	return attempts
}

// one ticks and returns the one attempt that starts.
func (r *rig) one() Task {
	r.t.Helper()
	tasks := r.tick()
	if len(tasks) != 1 {
		r.t.Fatalf("%d attempts start: %+v", len(tasks), tasks)
	}
	return tasks[0]
}

// quiet checks that nothing starts.
func (r *rig) quiet() {
	r.t.Helper()
	if tasks := r.tick(); len(tasks) > 0 {
		r.t.Fatalf("%d attempts start: %+v", len(tasks), tasks)
	}
}

// answers ends an attempt with a status.
func (r *rig) answers(t Task, status int) Outcome {
	r.t.Helper()
	return r.ends(t, Result{Answer: Answer{Status: status}})
}

func (r *rig) ends(t Task, result Result) Outcome {
	r.t.Helper()
	result.Began, result.Now, result.CreatedAt = r.now, r.now, t.Due
	if t.Status != nil {
		result.CreatedAt = t.Status.CreatedAt
	}
	result.Since = result.CreatedAt
	o := r.Done(t, result)
	r.shelf.apply(o.Ops)
	r.ResultDurable(t)
	if o.State == layout.DeliveryPending {
		r.Wake(o.Next)
	}
	return o
}

// emit writes a delivery's row and tells the machine of it.
func (r *rig) emit(t layout.Target, sequence uint64) {
	if r.shelf.subscriptions[t] == nil {
		r.shelf.subscribe(t, ledger.SubscriptionActive)
	}
	r.Wake(r.shelf.wait(t, sequence, r.now))
}

// TestSchedule checks the time of every attempt of a delivery that nobody acknowledges, with the
// least and the most jitter, and that it is dead after the last.
func TestSchedule(t *testing.T) {
	for entropy, fifths := range map[uint16]pix.Millis{0: 0, 0xffff: 1} {
		r := newRig(t, nil)
		r.emit(target(1), 1)
		for n, wait := range schedule {
			task := r.one()
			if int(task.Tries) != n || (task.Status == nil) != (n == 0) || n > 0 && len(task.Status.Attempts) != n {
				t.Fatalf("attempt %d: %+v", n, task)
			}
			o := r.ends(task, Result{Entropy: entropy, Answer: Answer{Err: "no answer"}})
			want := min(r.now+wait+fifths*wait/5, t0+life) // the longest waits together are longer than a delivery's time
			if o.State != layout.DeliveryPending || o.Next.Due != want || o.Alert != "" || o.Stop {
				t.Fatalf("attempt %d at %d: %+v, want the next at %d", n, r.now, o, want)
			}
			r.shelf.expectState(t, target(1), 1, "pending")
			r.quiet()
			r.now = want - 1
			r.quiet()
			r.now++
		}
		o := r.answers(r.one(), 500)
		if o.State != layout.DeliveryDead || !strings.Contains(o.Alert, "event 1 ") {
			t.Errorf("the last attempt: %+v", o)
		}
		r.shelf.expectState(t, target(1), 1, "dead")
		r.now += 100 * hour
		if r.quiet(); !r.Idle() {
			t.Error("something is left")
		}
		_, s, _ := findDelivery(r.shelf, target(1), 1)
		if len(s.Attempts) != 10 || s.Attempts[0].Err != "no answer" || s.Attempts[9].Status != 500 || s.Due != 0 || s.Why != "" || s.CreatedAt != t0 {
			t.Errorf("%+v", s)
		}
	}
}

// TestAskedToWait checks that the longer one of the schedule's wait and the receiver's wish
// counts, and that a receiver which is too busy gets nothing at all until then.
func TestAskedToWait(t *testing.T) {
	for _, c := range []struct {
		status int
		after  time.Duration
		due    pix.Millis // of the delivery
		pause  pix.Millis // before the next attempt of another one
	}{
		{500, 4 * time.Second, 5 * second, 20},
		{500, 6 * time.Second, 6 * second, 20},
		{302, 7 * time.Second, 7 * second, 20},
		{429, time.Second, 5 * second, second},
		{503, 24 * time.Hour, 24 * hour, 24 * hour},
	} {
		r := newRig(t, nil)
		r.emit(target(1), 1)
		if o := r.ends(r.one(), Result{Answer: Answer{Status: c.status, RetryAfter: c.after}}); o.Next.Due != t0+c.due {
			t.Errorf("%+v: due %d", c, o.Next.Due-t0)
		}
		r.emit(target(1), 2)
		r.now += c.pause - 1
		r.quiet()
		r.now++
		if task := r.one(); task.Sequence != 2 {
			t.Errorf("%+v: delivery %d starts", c, task.Sequence)
		}
	}
}

// TestLongestPause checks that a receiver's wish to wait outlasts the failure of another attempt
// that ran meanwhile.
func TestLongestPause(t *testing.T) {
	r := newRig(t, nil)
	for n := range uint64(3) {
		r.emit(target(1), n+1)
	}
	r.answers(r.one(), 200)
	tasks := r.tick()
	r.ends(tasks[0], Result{Answer: Answer{Status: 429, RetryAfter: time.Minute}})
	r.answers(tasks[1], 500)
	r.now += 59 * second
	r.quiet()
	if r.now += second; len(r.tick()) == 0 {
		t.Error("nothing begins after the pause")
	}
}

// TestAnswers checks what each status does to a delivery and to its subscription.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]string{
		200: "delivered", 201: "delivered", 204: "delivered", 299: "delivered", 199: "pending", 300: "pending", 301: "pending",
		404: "pending", 410: "dead", 411: "pending", 500: "pending", 0: "pending", 101: "pending",
	} {
		r := newRig(t, nil)
		r.emit(target(1), 1)
		o := r.answers(r.one(), status)
		if o.Stop != (status == 410) || o.State.String() != want || o.Alert != "" {
			t.Errorf("%d: %+v", status, o)
		}
		r.shelf.expectState(t, target(1), 1, want)
		if _, s, _ := findDelivery(r.shelf, target(1), 1); (s.Why != "") != (status == 410) {
			t.Errorf("%d: why %q", status, s.Why)
		}
	}
}

// TestAlertOnceAnHour checks that dead deliveries of one subscription raise one alert an hour.
func TestAlertOnceAnHour(t *testing.T) {
	r := newRig(t, nil)
	dies := func(of layout.Target, sequence uint64) bool {
		r.shelf.subscribe(of, ledger.SubscriptionActive)
		p := r.shelf.wait(of, sequence, r.now)
		task := Task{Pending: p, Subscription: r.shelf.subscriptions[of], attempt: r.begin(good, of, r.now)}
		task.Tries = uint8(len(schedule))
		return r.answers(task, 500).Alert != ""
	}
	for n, c := range []struct {
		of    int
		at    pix.Millis
		alert bool
	}{{1, 0, true}, {1, 1, false}, {2, 2, true}, {1, hour - 1, false}, {1, hour, true}, {1, hour + 1, false}, {1, 3 * hour, true}} {
		if r.now = t0 + c.at; dies(target(c.of), uint64(n+1)) != c.alert {
			t.Errorf("at %d: not %v", c.at, c.alert)
		}
	}
}

// TestWidth checks that the attempts of a subscription that run at once double with each
// success and fall to one with a failure.
func TestWidth(t *testing.T) {
	r := newRig(t, func(b *Bounds) { b.Each = 8 })
	for n := range 1000 {
		r.emit(target(1), uint64(n+1))
	}
	var running []Task
	for _, want := range []int{1, 2, 4, 8, 8} {
		if running = append(running, r.tick()...); len(running) != want {
			t.Fatalf("%d attempts run, want %d", len(running), want)
		}
		r.answers(running[0], 200)
		running = running[1:]
	}
	running = append(running, r.tick()...)
	for _, task := range running {
		r.answers(task, 500)
		r.quiet()
	}
	r.now += 20*8 - 1
	r.quiet()
	r.now++
	r.answers(r.one(), 200)
	r.answers(r.tick()[1], 500) // of two
	r.now += second
	r.quiet()
}

// TestDeliveryWithoutSubscription checks that a row whose subscription is missing, which only damage makes, keeps no
// other receiver from getting its events.
func TestDeliveryWithoutSubscription(t *testing.T) {
	r := newRig(t, nil)
	r.emit(target(1), 1)
	r.emit(target(2), 1)
	delete(r.shelf.subscriptions, target(1))
	if got := r.one(); got.Target != target(2) {
		t.Fatalf("%+v", got)
	}
	if r.quiet(); len(r.queues) != 1 {
		t.Errorf("%d queues", len(r.queues))
	}
}
