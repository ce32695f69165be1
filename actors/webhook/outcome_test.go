package webhook

import (
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestAttemptTimes checks the times of an attempt in a process whose clock is hours behind the
// newest record: it began at the stamp, its end and its length are measured by the clock, and
// an event that was stamped under doubt ages from the start of the process.
func TestAttemptTimes(t *testing.T) {
	start := pix.Millis(1_000_000_000)
	stamp := start + 5*hour
	began := pix.Reading{Time: stamp, Clock: start + 100, Start: start}
	sure := &ledger.Record{Time: start - 7*hour, Body: ledger.Body{Tx: &ledger.Transaction{}}}
	doubted := &ledger.Record{Time: start - 7*hour, Body: ledger.Body{Tx: &ledger.Transaction{Doubted: true}}}
	for name, c := range map[string]struct {
		record *ledger.Record
		want   Result
	}{
		"an event that is not read":    {nil, Result{Began: stamp, CreatedAt: stamp, Since: stamp}},
		"an event":                     {sure, Result{Began: stamp, CreatedAt: sure.Time, Since: sure.Time}},
		"an event with a doubted time": {doubted, Result{Began: stamp, CreatedAt: doubted.Time, Since: start}},
	} {
		r := Begun(began, c.record)
		if r != c.want {
			t.Errorf("%s begins as %+v, want %+v", name, r, c.want)
		}
		r.Answer = Answer{Status: 204}
		r.End(began, pix.Reading{Time: stamp + 3, Clock: start + 2600, Doubted: true, Start: start}, 5*hour, 0xabcd)
		c.want.Answer, c.want.Now, c.want.Took = Answer{Status: 204}, stamp+2600, 2500*time.Millisecond
		c.want.Doubted, c.want.Entropy = true, 0xabcd
		if r != c.want {
			t.Errorf("%s ends as %+v, want %+v", name, r, c.want)
		}
		r.End(began, pix.Reading{Time: stamp, Clock: start + 100, Start: start}, 0, 0)
		if r.Doubted || r.Now != start+100 || r.Took != 0 {
			t.Errorf("%s ends without doubt as %+v", name, r)
		}
	}
}

// TestAttemptsAreCounted checks under which result each attempt is counted, and each end of a
// delivery.
func TestAttemptsAreCounted(t *testing.T) {
	for status, want := range map[int]string{
		0: "error", 101: "1xx", 199: "1xx", 200: "2xx", 299: "2xx", 302: "3xx", 404: "4xx", 499: "4xx", 500: "5xx", 599: "5xx", 600: "error", 999: "error",
	} {
		k := newDesk(t, nil)
		for _, end := range []layout.DeliveryState{layout.DeliveryPending, layout.DeliveryDelivered, layout.DeliveryDead, layout.DeliveryDead} {
			k.counts.attempt(Result{Answer: Answer{Status: status}}, end)
		}
		m := k.Measure()
		if m.Delivered != 1 || m.Dead != 2 || len(m.Attempts) != 6 {
			t.Errorf("%d: %+v", status, m)
		}
		for result, n := range m.Attempts {
			if (result == want) != (n == 4) || n != 0 && n != 4 {
				t.Errorf("%d attempts that end with %d are counted as %s", n, status, result)
			}
		}
	}
}

// TestStatusIsACopy checks that what an attempt makes of a delivery's status leaves the status from before as it is:
// the result is written later, and may not be written.
func TestStatusIsACopy(t *testing.T) {
	before := &layout.DeliveryStatus{Attempts: make([]layout.Attempt, 1, 4)}
	task := Task{Status: before}
	first, second := task.status(Result{Answer: Answer{Status: 500}}), task.status(Result{Answer: Answer{Status: 503}})
	if len(before.Attempts) != 1 || first.Attempts[1].Status != 500 || second.Attempts[1].Status != 503 {
		t.Errorf("%+v, %+v, %+v", before, first, second)
	}
}

// TestEndOfTheSchedule checks the first instant at which an attempt that fails is the last one.
func TestEndOfTheSchedule(t *testing.T) {
	for age, want := range map[pix.Millis]layout.DeliveryState{life - 1: layout.DeliveryPending, life: layout.DeliveryDead} {
		r := newRig(t, nil)
		r.emit(target(1), 1)
		task := r.one()
		r.now += age
		if o := r.ends(task, Result{Answer: Answer{Err: "timeout"}}); o.State != want {
			t.Errorf("after %d ms: %+v", age, o)
		}
	}
}
