package transfer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

func newLanes() *Lanes {
	began := time.Now()
	return NewLanes(func() time.Duration { return time.Since(began) })
}

// slow is a scheme that answers every call after a time, or with an error while it is down, and
// counts the calls.
type slow struct {
	scheme.Unassigned
	takes time.Duration
	down  atomic.Bool
	calls atomic.Int64
	asked []time.Time // when each call of Ask began
	mu    sync.Mutex
}

func (s *slow) call(ctx context.Context) error {
	s.calls.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.down.Load() {
		return errLost
	}
	return nil
}

func (s *slow) Lookup(ctx context.Context, _ scheme.Query) (pix.Party, error) {
	return ana, s.call(ctx)
}

func (s *slow) Submit(ctx context.Context, _ scheme.Payment) (scheme.State, error) {
	return scheme.State{Progress: scheme.Settled}, s.call(ctx)
}

func (s *slow) Return(ctx context.Context, _ scheme.Refund) (scheme.State, error) {
	return scheme.State{Progress: scheme.Settled}, s.call(ctx)
}

func (s *slow) Ask(ctx context.Context, _ pix.TxID, _ string) (scheme.State, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	return scheme.State{Progress: scheme.Unknown}, s.call(ctx)
}

// greedy starts n jobs of one account. The returned function ends when all have reported, and
// returns how many settled.
func greedy(t *testing.T, l *Lanes, s scheme.Scheme, j Job, n int) func() int64 {
	var work sync.WaitGroup
	var settled atomic.Int64
	j.Account = 1
	for range n {
		work.Go(func() {
			if out := l.carry(t.Context(), s, &j, 10*time.Second); out.Result == ledger.TransferIsSettled {
				settled.Add(1)
			}
		})
	}
	synctest.Wait()
	return func() int64 { work.Wait(); return settled.Load() }
}

// TestGreedyBesideModest checks that payouts of one account, however many, add nothing to the
// time of another's, nor to the time of a question about another's.
func TestGreedyBesideModest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: 700 * time.Millisecond}
		all := greedy(t, l, s, job, 4096)
		if got := l.Counts(); got.Payments.InUse != paymentShare || got.Payments.Waiting != 4096-paymentShare {
			t.Fatalf("%+v", got)
		}
		began := time.Now()
		j := job
		out := l.carry(t.Context(), s, &j, 10*time.Second)
		if took := time.Since(began); out.Result != ledger.TransferIsSettled || took > 1400*time.Millisecond {
			t.Errorf("another's payout takes %v: %s", took, said(&out))
		}
		began, j.Goal, j.Task = time.Now(), ledger.GoalVoid, &due.Task{}
		out = l.carry(t.Context(), s, &j, 10*time.Second)
		if took := time.Since(began); out.Result != ledger.TransferIsVoided || took > 700*time.Millisecond {
			t.Errorf("a question about another's takes %v: %s", took, said(&out))
		}
		all()
	})
}

// TestOneAccountsQuestions checks that questions of one account leave places for another's.
func TestOneAccountsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: time.Second}
		j := job
		j.Goal, j.Task = ledger.GoalVoid, &due.Task{}
		all := greedy(t, l, s, j, 500)
		if got := l.Counts(); got.Questions.InUse != questionShare || got.Payments.InUse != 0 {
			t.Fatalf("%+v", got)
		}
		began := time.Now()
		if l.carry(t.Context(), s, &j, 10*time.Second); time.Since(began) > time.Second {
			t.Errorf("another's question takes %v", time.Since(began))
		}
		all()
	})
}

// TestWaitIsNotTheJobsTime checks that a job which waits long for a place has all of its own
// time afterwards, and that one which gets no place in that time is refused as never sent.
func TestWaitIsNotTheJobsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: 4 * time.Second} // a payout takes 8 s of its 10 s
		all := greedy(t, l, s, job, 2*paymentShare)
		began := time.Now()
		if settled := all(); settled != 2*paymentShare || time.Since(began) != 16*time.Second {
			t.Errorf("%d of %d settled in %v", settled, 2*paymentShare, time.Since(began))
		}
		s.takes = time.Hour
		for range paymentShare {
			if l.payments.Take(t.Context(), job.Account) != nil {
				t.Fatal("no place")
			}
		}
		calls := s.calls.Load()
		j := job
		began = time.Now()
		out := l.carry(t.Context(), s, &j, 10*time.Second)
		if said(&out) != "refused dict_lookup_failed" || s.calls.Load() != calls || time.Since(began) != 10*time.Second {
			t.Errorf("without a place: %s after %v", said(&out), time.Since(began))
		}
	})
}

// TestOutage checks that, while the scheme is down, all jobs in doubt together ask it a few
// times, and that they come back at a rising rate once it is well.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: time.Millisecond}
		s.down.Store(true)
		const jobs = 3000
		all := greedy(t, l, s, refunding, jobs)
		time.Sleep(2 * time.Second)
		if got := l.Counts(); got.Repeats != jobs || !got.Down || got.Payments.InUse != 0 {
			t.Fatalf("%+v", got)
		}
		if n := s.calls.Load() - jobs; n > 5 {
			t.Errorf("%d probes in two seconds", n)
		}
		s.down.Store(false)
		back := time.Now()
		if settled := all(); settled != jobs {
			t.Errorf("%d of %d settled", settled, jobs)
		}
		perTick := map[time.Duration]int{}
		for _, at := range s.asked {
			if at.After(back) {
				perTick[at.Sub(back)/pause]++
			}
		}
		first := slices.Min(slices.Collect(maps.Keys(perTick))) // that of the probe which is answered
		most, steep := 0, false
		for tick, n := range perTick {
			most, steep = max(most, n), steep || tick < first+10 && n > 1<<(tick-first)
		}
		if time.Since(back) > 5*time.Second || steep || most < 1000 {
			t.Errorf("back after %v; in each tick: %v", time.Since(back), perTick)
		}
		if got := l.Counts(); got.Down || got.Repeats != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestDueTasksWaitForTheProbe checks that due tasks ask nothing while the scheme is down, but
// for one probe at a time, and report that nobody answered when their time is over.
func TestDueTasksWaitForTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: time.Millisecond}
		s.down.Store(true)
		j := job
		j.Goal, j.Task = ledger.GoalVoid, &due.Task{}
		if out := l.carry(t.Context(), s, &j, 10*time.Second); out.Result != ledger.TransferIsNotHeard || s.calls.Load() != 1 {
			t.Fatalf("%s after %d calls", said(&out), s.calls.Load())
		}
		began := time.Now()
		all := greedy(t, l, s, j, 64)
		all()
		if took, n := time.Since(began), s.calls.Load()-1; took != 10*time.Second || n < 5 || n > 8 {
			t.Errorf("%d calls of 64 due tasks in %v", n, took)
		}
		s.down.Store(false)
		if out := l.carry(t.Context(), s, &j, 10*time.Second); out.Result != ledger.TransferIsVoided {
			t.Errorf("when it is well: %s", said(&out))
		}
	})
}

// TestOnlyProbesLengthenTheWait checks that new requests which fail while the scheme is down do not
// put off the next probe: there may be any number of them.
func TestOnlyProbesLengthenTheWait(t *testing.T) {
	l := NewLanes(func() time.Duration { return 0 })
	for range 10 {
		l.pace.failed()
	}
	if l.pace.wait != pause || l.pace.probe != pause {
		t.Errorf("the next probe is after %v, and then after %v", l.pace.probe, l.pace.wait)
	}
}

// TestOwnTimeAddsUp checks that the time of a job's calls before it asks again is part of its own time:
// a payout whose scheme takes long to fail ends when its time is over, however often it waits in
// between.
func TestOwnTimeAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: 4 * time.Second}
		s.down.Store(true)
		began, j := time.Now(), refunding
		if out := l.carry(t.Context(), s, &j, 10*time.Second); out.Result != ledger.TransferIsAccepted || !out.Doubt || time.Since(began) != 10*time.Second {
			t.Errorf("%s after %v", said(&out), time.Since(began))
		}
		if got := l.Counts(); got.Payments.InUse != 0 || got.Repeats != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// watched is a scheme that keeps the context of each call, and how many places were taken during it.
type watched struct {
	scheme.Unassigned
	lanes  *Lanes
	calls  []context.Context
	places []int
}

// Lookup implements scheme.Scheme.
func (w *watched) Lookup(ctx context.Context, _ scheme.Query) (pix.Party, error) {
	w.calls, w.places = append(w.calls, ctx), append(w.places, w.lanes.Counts().Payments.InUse)
	return pix.Party{}, errors.New("down")
}

// TestRunnerUsesLanes checks that a child with lanes makes each call on a place of theirs, that a call's context ends with
// the job, so that it keeps nothing in memory, and that
// without lanes the call is made too, and its context ends too.
func TestRunnerUsesLanes(t *testing.T) {
	for _, places := range []int{1, 0} {
		l := newLanes()
		w := &watched{lanes: l}
		r := &Runner{Context: t.Context(), Scheme: w, Timeout: time.Minute}
		if places > 0 {
			r.Lanes = l
		}
		j := job
		r.carry(&j)
		if len(w.calls) != 1 || w.places[0] != places || l.Counts().Payments.InUse != 0 {
			t.Fatalf("%d calls on %v places", len(w.calls), w.places)
		}
		if w.calls[0].Err() == nil {
			t.Error("the context of a call outlives the job")
		}
	}
}

// TestCalls checks that each place of the lanes has a connection to the scheme.
func TestCalls(t *testing.T) {
	if places := paymentPlaces + questionPlaces; Calls < places {
		t.Errorf("%d connections for %d places", Calls, places)
	}
}

// TestNewRequestsAreNotHeldBack checks that a new payout is tried at once while the scheme
// seems to be down: it may be well again, or have failed for another payment alone.
func TestNewRequestsAreNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{}
		l.pace.failed()
		began, j := time.Now(), job
		if out := l.carry(t.Context(), s, &j, 10*time.Second); out.Result != ledger.TransferIsSettled || time.Since(began) != 0 {
			t.Errorf("%s after %v", said(&out), time.Since(began))
		}
		if l.Counts().Down {
			t.Error("an answer does not end the outage")
		}
	})
}

// TestCutShort checks that a call which the job's own time cuts short does not count as a
// failure of the scheme, and one that lasted does.
func TestCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLanes(), &slow{takes: time.Hour}
		for own, down := range map[time.Duration]bool{tooShort - time.Millisecond: false, tooShort: true} {
			j := job
			if l.carry(t.Context(), s, &j, own); l.Counts().Down != down {
				t.Errorf("a call of %v without an answer: down %v", own, !down)
			}
			l.pace.answered()
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		j := job
		if l.carry(ctx, s, &j, 10*time.Second); l.Counts().Down {
			t.Error("a call that the end of the process cut counts")
		}
	})
}

// TestPanicGivesThePlaceBack checks that a panic in a call leaks no place.
func TestPanicGivesThePlaceBack(t *testing.T) {
	l := newLanes()
	func() {
		defer func() { _ = recover() }()
		j := job
		l.carry(t.Context(), panics{}, &j, time.Second)
	}()
	if got := l.Counts(); got.Payments.InUse != 0 {
		t.Errorf("%+v", got)
	}
}

type panics struct{ scheme.Unassigned }

func (panics) Lookup(context.Context, scheme.Query) (pix.Party, error) { panic("lookup") }

// TestWaitsInAllForPlaces checks that a job which waits for a place more than once waits no longer for all of them than its
// own time.
func TestWaitsInAllForPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes()
		p := &placedScheme{lanes: l, job: &Job{Account: 1}, ctx: t.Context(), left: 10 * time.Second, most: 10 * time.Second}
		fill := func() {
			for range paymentShare {
				if err := l.payments.Take(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill()
		time.AfterFunc(6*time.Second, func() { l.payments.Give(1) })
		if !p.enter() {
			t.Fatal("it got no place when one was free")
		}
		p.leave()
		if err := l.payments.Take(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if p.enter() || time.Since(began) != 4*time.Second {
			t.Errorf("it waited %v for its second place, want 4 s and no place", time.Since(began))
		}
		for range paymentShare {
			l.payments.Give(1)
		}
	})
}
