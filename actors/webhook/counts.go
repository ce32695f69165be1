package webhook

import (
	"sync/atomic"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// outcomes are the kinds of attempts' results that are counted: the class of the HTTP status,
// and "error" for an attempt without an answer.
var outcomes = [...]string{"error", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Counts are the counters of a dispatcher since the start of the process.
type Counts struct {
	attempts        [len(outcomes)]atomic.Uint64
	delivered, dead atomic.Uint64
	rows            atomic.Uint64
}

func (c *Counts) attempt(r Result, end layout.DeliveryState) {
	class := r.Status / 100
	if class < 0 || class >= len(outcomes) {
		class = 0
	}
	c.attempts[class].Add(1)
	switch end {
	case layout.DeliveryDelivered:
		c.delivered.Add(1)
	case layout.DeliveryDead:
		c.dead.Add(1)
	}
}

// Measure are figures about a dispatcher, for metrics.
type Measure struct {
	Attempts        map[string]uint64 // number of attempts by result: "2xx" to "5xx", "error" without an answer
	Delivered, Dead uint64            // deliveries that have ended since the start of the process
	Running         int               // attempts that run now
	Pools           map[string]InPool // by the name of the pool: "good", "failing" or "slow"
	Due             int               // subscriptions with a delivery that is due or runs
	Waiting         int               // subscriptions of which a delivery is due later
	Failing         int               // subscriptions whose last attempt failed
}

// InPool are figures about one pool of attempts.
type InPool struct {
	Running int    // attempts that run now
	Places  int    // most that may run at once
	Waiting int    // subscriptions in line for a place
	Aside   uint64 // how often a subscription came into line while its account had all places of its share
}

// Measure returns the figures of now.
func (d *Dispatcher) Measure() Measure {
	m := Measure{Attempts: map[string]uint64{}, Delivered: d.counts.delivered.Load(), Dead: d.counts.dead.Load()}
	for i, name := range outcomes {
		m.Attempts[name] = d.counts.attempts[i].Load()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m.Due, m.Waiting, m.Failing = d.machine.Counts()
	m.Pools = d.machine.Pools()
	for _, p := range m.Pools {
		m.Running += p.Running
	}
	return m
}

// mostAsked is how many subscriptions Oldest looks at.
const mostAsked = 10_000

// Oldest returns how long ago, in ms, the oldest event was caused of which a delivery still
// waits; 0: none waits. It makes two reads for each subscription with such a delivery, and
// looks at the first 10,000 of them.
func (d *Dispatcher) Oldest() (pix.Millis, error) {
	var oldest pix.Millis
	older := func(at pix.Millis) {
		if oldest == 0 || at < oldest {
			oldest = at
		}
	}
	from, _ := layout.AllPending()
	for asked := 0; from != nil && asked < mostAsked; asked++ {
		at, next, err := firstWaiting(d.Rows, from)
		if err != nil || next == nil {
			return d.since(oldest), err
		}
		if from = next; at.Tries == 0 && at.Due != layout.Held {
			older(at.Due) // the row of a first attempt is due at the event's time
		}
		lo, hi := layout.DeliveriesOf(at.Target, layout.DeliveryPending, 0)
		err = d.Rows.Scan(lo, hi, func(_, v []byte) (bool, error) {
			s, err := layout.DecodeDeliveryStatus(v)
			if err == nil {
				older(s.CreatedAt)
			}
			return false, err
		})
		if err != nil {
			return 0, err
		}
	}
	return d.since(oldest), nil
}

// since returns how long ago an instant was; 0 for the instant 0.
func (d *Dispatcher) since(at pix.Millis) pix.Millis {
	if at == 0 {
		return 0
	}
	return max(0, d.now()-at)
}
