package due

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// crowd simulates the accounts and the scheme: each task ends with the result ends after
// latency, in simulated time.
type crowd struct {
	t       *testing.T
	m       *Machine
	s       *shelf
	now     pix.Millis
	latency pix.Millis
	ends    func(t Task, now pix.Millis) Result
	flying  []flight // running tasks, in the order in which they end
	tasks   int
	seen    map[layout.EntityID]pix.Millis // when each payout's first task started
}

type flight struct {
	v  Task
	at pix.Millis
}

func newCrowd(t *testing.T, b Bounds, latency pix.Millis, ends func(Task, pix.Millis) Result) *crowd {
	return &crowd{t: t, m: New(3000, 1<<60, b), s: newShelf(), now: 1_000_000, latency: latency, ends: ends, seen: map[layout.EntityID]pix.Millis{}}
}

// pass advances the simulated time by long, in steps that end when the next task ends or,
// if no task does, after lookEvery.
func (c *crowd) pass(long pix.Millis) {
	for until := c.now + long; c.now < until; {
		for len(c.flying) > 0 && c.flying[0].at <= c.now {
			f := c.flying[0]
			c.flying = c.flying[1:]
			c.m.Done(f.v, c.ends(f.v, c.now), c.now)
		}
		for _, v := range look(c.t, c.m, c.now, c.s) {
			c.tasks++
			if _, again := c.seen[v.ID]; !again {
				c.seen[v.ID] = c.now
			}
			c.flying = append(c.flying, flight{v, c.now + c.latency})
		}
		next := c.now + lookEvery
		if len(c.flying) > 0 {
			next = min(next, max(c.flying[0].at, c.now+1))
		}
		c.now = next
	}
}

// add adds a due row. The shelf must be sorted before the next scan.
func (c *crowd) add(kind layout.DueKind, at pix.Millis, a pix.AccountID, n int) layout.EntityID {
	c.s.due(at, a, n, kind)
	return txID(n)
}

// TestNothingStarves checks that, behind a hundred thousand due payouts whose tasks change
// nothing, another payout's task runs within a minute, whatever the reason why the other
// tasks change nothing, and even where only four postponed tasks are remembered. Ten
// minutes later few tasks run for the hundred thousand payouts.
func TestNothingStarves(t *testing.T) {
	futile := 100_000
	if testing.Short() { // of one goroutine the race detector learns no more
		futile = 10_000
	}
	for name, c := range map[string]struct {
		latency pix.Millis
		ends    Result
	}{
		"a gateway that answers open":           {10, Result{Open: true}},
		"a quarantined account":                 {0, Result{Err: ledger.ErrQuarantined}},
		"an account that cannot look":           {0, Result{Err: errors.New("its account cannot look")}},
		"a restart with a longer orphan period": {0, Result{Again: 1 << 40}},
	} {
		for _, remember := range []int{4, DefaultBounds().Remember} {
			b := DefaultBounds()
			b.Remember = remember
			w := newCrowd(t, b, c.latency, func(t Task, _ pix.Millis) Result {
				if t.Account == 2 {
					return Result{}
				}
				return c.ends
			})
			for n := range futile {
				w.add(layout.DueDoubt, pix.Millis(n), 1, n)
			}
			w.s.sort()
			w.pass(1_000)
			start := w.now
			other := w.add(layout.DueDoubt, w.now, 2, futile+1)
			expiry := w.add(layout.DueApproval, w.now, 2, futile+2)
			w.s.sort()
			w.pass(60_000)
			if at, ok := w.seen[other]; !ok || at-start > 60_000 {
				t.Errorf("%s, %d remembered: another is run after %d ms (%v)", name, remember, at-start, ok)
			}
			if at, ok := w.seen[expiry]; !ok || at-start > 10_000 {
				t.Errorf("%s, %d remembered: what needs no scheme is run after %d ms (%v)", name, remember, at-start, ok)
			}
			w.pass(600_000) // after ten minutes the tasks that change nothing run at their lowest rate
			w.tasks, w.s.read = 0, 0
			w.pass(60_000)
			if w.tasks > 60*150 {
				t.Errorf("%s, %d remembered: %d tasks in a minute at rest", name, remember, w.tasks)
			}
			if w.s.read > 5*futile {
				t.Errorf("%s, %d remembered: %d rows read in a minute at rest", name, remember, w.s.read)
			}
		}
	}
}

// TestExpiriesNeedNoScheme checks that tasks which only need the clock run within ten
// seconds of their due time, even while the scheme does not answer and many tasks wait for
// the scheme.
func TestExpiriesNeedNoScheme(t *testing.T) {
	w := newCrowd(t, DefaultBounds(), 10_000, func(t Task, _ pix.Millis) Result {
		if t.due.Kind.Need() == layout.NeedsScheme {
			return Result{Unheard: true}
		}
		return Result{}
	})
	for n := range 20_000 {
		w.add(layout.DueTransfer, pix.Millis(n), 1, n)
		w.s.accept(1, n)
	}
	var expiries []layout.EntityID
	for n := range 10 {
		expiries = append(expiries, w.add(layout.DueQueued, w.now+pix.Millis(n)*20_000, 2, 30_000+n), w.add(layout.DueApproval, w.now+pix.Millis(n)*20_000, 2, 40_000+n))
	}
	w.s.sort()
	start := w.now
	w.pass(300_000)
	for i, id := range expiries {
		due := start + pix.Millis(i/2)*20_000
		if at, ok := w.seen[id]; !ok || at-due > 10_000 {
			t.Errorf("due at %d, run at %d (%v)", due-start, at-start, ok)
		}
	}
}

// TestReturns checks that, once the scheme answers again after an hour, all tasks that
// changed nothing in that hour run soon.
func TestReturns(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	back := false
	w := newCrowd(t, DefaultBounds(), 10, nil)
	w.ends = func(t Task, _ pix.Millis) Result {
		if !back {
			return Result{Open: true}
		}
		delete(w.s.rows, string(layout.DueKey(t.due.Kind, t.due.At, t.Account, t.ID)))
		return Result{}
	}
	for i := range n {
		w.add(layout.DueDoubt, pix.Millis(i), 1, i)
	}
	w.s.sort()
	w.pass(3_600_000)
	back = true
	w.pass(150_000)
	w.s.sort()
	if left := len(w.s.rows); left > 0 {
		t.Errorf("%d of %d left", left, n)
	}
}
