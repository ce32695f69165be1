package webhook

import (
	"sync/atomic"

	"pixd/actors/ledger"
)

// outcomes are the kinds of attempts' results that are counted: the class of the HTTP status,
// and "error" for an attempt without an answer.
var outcomes = [...]string{"error", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Counts are the counters of a dispatcher since the start of the process.
type Counts struct {
	attempts        [len(outcomes)]atomic.Uint64
	delivered, dead atomic.Uint64
}

func (c *Counts) attempt(r Result, end ledger.DeliveryState) {
	class := r.Status / 100
	if class < 0 || class >= len(outcomes) {
		class = 0
	}
	c.attempts[class].Add(1)
	switch end {
	case ledger.DeliveryDelivered:
		c.delivered.Add(1)
	case ledger.DeliveryDead:
		c.dead.Add(1)
	}
}

// Measure are figures about a dispatcher, for metrics.
type Measure struct {
	Attempts        map[string]uint64 // number of attempts by result: "2xx" to "5xx", "error" without an answer
	Delivered, Dead uint64            // deliveries that have ended since the start of the process
	Running         int               // attempts that run now
	Due             int               // subscriptions with a delivery that is due or runs
	Waiting         int               // subscriptions of which a delivery is due later
	Failing         int               // subscriptions whose last attempt failed
	Oldest          ledger.Millis     // for how long, in ms, the delivery that is due longest has been due; 0: none is due
}

// Measure returns the figures of now.
func (d *Dispatcher) Measure() Measure {
	m := Measure{Attempts: map[string]uint64{}, Delivered: d.counts.delivered.Load(), Dead: d.counts.dead.Load()}
	for i, name := range outcomes {
		m.Attempts[name] = d.counts.attempts[i].Load()
	}
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	m.Running = d.machine.running[0] + d.machine.running[1]
	m.Due, m.Waiting, m.Failing = d.machine.Counts()
	if due := d.machine.oldest(); due != 0 {
		m.Oldest = max(0, now-due)
	}
	return m
}

// oldest returns the earliest due time among the deliveries in memory; 0: there is none.
func (m *Machine) oldest() (due ledger.Millis) {
	earlier := func(at ledger.Millis) {
		if due == 0 || at < due {
			due = at
		}
	}
	for _, q := range m.queues {
		if len(q.loaded) > 0 {
			earlier(q.loaded[0].Due)
		}
		for _, at := range q.running {
			earlier(at)
		}
	}
	return due
}
