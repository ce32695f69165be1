package webhook

import (
	"testing"
	"time"

	"pixd/actors/ledger"
)

// TestAttemptTimes checks the times of an attempt in a process whose clock is hours behind the
// newest record: it began at the stamp, its end and its length are measured by the clock, and
// an event that was stamped under doubt ages from the start of the process.
func TestAttemptTimes(t *testing.T) {
	start := ledger.Millis(1_000_000_000)
	stamp := start + 5*hour
	began := ledger.Reading{Time: stamp, Clock: start + 100, Start: start}
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
		r.End(began, ledger.Reading{Time: stamp + 3, Clock: start + 2600, Doubted: true, Start: start}, 5*hour, 0xabcd)
		c.want.Answer, c.want.Now, c.want.Took = Answer{Status: 204}, stamp+2600, 2500*time.Millisecond
		c.want.Doubted, c.want.Entropy = true, 0xabcd
		if r != c.want {
			t.Errorf("%s ends as %+v, want %+v", name, r, c.want)
		}
		r.End(began, ledger.Reading{Time: stamp, Clock: start + 100, Start: start}, 0, 0)
		if r.Doubted || r.Now != start+100 || r.Took != 0 {
			t.Errorf("%s ends without doubt as %+v", name, r)
		}
	}
}
