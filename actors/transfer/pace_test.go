package transfer

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/pix"
)

// TestTurnsToAskAgain checks that accounts take turns when few jobs in doubt may ask: one account's
// thousand, which wait longer, keep another's first from asking for one turn at most.
func TestTurnsToAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes()
		l.pace.failed()
		ctx, end := context.WithCancel(t.Context())
		var asked [3]atomic.Int64
		wait := func(account pix.AccountID) {
			go func() {
				if l.pace.again(ctx, account) {
					asked[account].Add(1)
				}
			}()
		}
		for range 1000 {
			wait(1)
		}
		synctest.Wait()
		wait(2)
		wait(2)
		for range 3 { // three probes, of which nobody hears: one job asks in each
			before := asked[1].Load() + asked[2].Load()
			time.Sleep(paceLimits.most)
			synctest.Wait()
			if asked[1].Load()+asked[2].Load() == before {
				t.Fatal("no job was let ask")
			}
		}
		if asked[2].Load() < 1 || asked[1].Load() < 1 {
			t.Errorf("%d of account 1 and %d of account 2 asked", asked[1].Load(), asked[2].Load())
		}
		end()
		synctest.Wait()
		if waiting, _ := l.pace.state(); waiting != 0 {
			t.Errorf("%d wait", waiting)
		}
	})
}

// TestRateIsShared checks that of the jobs that may ask when the scheme returns, each account has
// an equal part.
func TestRateIsShared(t *testing.T) {
	p := newPace(paceLimits, func() time.Duration { return 0 })
	p.ticking, p.rate = true, 8
	for _, account := range []pix.AccountID{1, 3, 2} { // in this order they have their turns
		for range map[pix.AccountID]int{1: 1000, 2: 3, 3: 1000}[account] {
			p.line.Add(account, make(chan struct{}))
		}
	}
	p.ticked()
	p.mu.Lock() // the next tick comes by itself
	defer p.mu.Unlock()
	left := map[pix.AccountID]int{}
	for account := range pix.AccountID(4) {
		_, left[account] = p.line.Of(account)
	}
	if left[1]+left[3] != 2000-6 || p.line.Waiting() != 2003-8 {
		t.Errorf("%v are left, %d in all", left, p.line.Waiting())
	}
	if left[2] != 1 {
		t.Error("the small account did not have two of eight turns")
	}
}

// TestOldestJobAsksFirst checks that of one account's jobs the one that has waited longest asks first.
func TestOldestJobAsksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes()
		l.pace.failed()
		asked := make(chan int, 3)
		for n := range 3 {
			go func() {
				if l.pace.again(t.Context(), 1) {
					asked <- n
				}
			}()
			synctest.Wait()
		}
		for n := range 3 { // one probe after another, of which nobody hears
			if got := <-asked; got != n {
				t.Errorf("job %d asks as number %d", got, n)
			}
		}
	})
}

// TestProbes checks when one job after another asks while the scheme is down: after twice the time
// each time, up to the longest.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes()
		began, last := time.Now(), time.Duration(0)
		l.pace.failed()
		for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 3200, 3200} {
			l.pace.again(t.Context(), 1)
			asked := time.Since(began)
			if wait := asked - last; wait < want*time.Millisecond || wait > want*time.Millisecond+paceLimits.tick {
				t.Errorf("a probe after %v, want %v ms", wait, int64(want))
			}
			last = asked
			l.pace.failed()
		}
	})
}

// TestUnheardProbe checks that, while the scheme leaves a probe without an answer, the next job asks after the time
// between two probes, and not in the next tick.
func TestUnheardProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes()
		for range 5 {
			l.pace.failed()
			l.pace.again(t.Context(), 1)
		}
		for range 3 {
			began := time.Now()
			l.pace.again(t.Context(), 1)
			if wait := time.Since(began); wait < 1600*time.Millisecond || wait > 1600*time.Millisecond+paceLimits.tick {
				t.Errorf("a further probe after %v", wait)
			}
		}
	})
}

// TestRisingRate checks how many jobs ask in each tick once a call is answered: one, then twice as many
// each time, and from full on all.
func TestRisingRate(t *testing.T) {
	const jobs = 4 * 1024
	p := newPace(paceLimits, func() time.Duration { return 0 })
	p.ticking, p.down = true, true
	for n := range jobs {
		p.line.Add(pix.AccountID(n%7), make(chan struct{}))
	}
	p.answered()
	p.answered() // another answer changes nothing
	p.limits.tick = time.Hour
	for left, rate := jobs, 1; left > 0; rate *= 2 {
		if rate >= paceLimits.full {
			rate = left
		}
		p.ticked()
		if left -= rate; p.line.Waiting() != left {
			t.Fatalf("%d jobs are left after a tick of %d, want %d", p.line.Waiting(), rate, left)
		}
		if left > 0 {
			p.answered()
		}
	}
}
