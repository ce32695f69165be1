package due

import (
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestShortQueue checks that each round tries every payout of a short queue, and that no
// payout is tried between rounds.
func TestShortQueue(t *testing.T) {
	s := newShelf()
	m := newMachine()
	for _, n := range []int{3, 1, 2} {
		s.queue(earlier, n)
	}
	for round := range 3 {
		now := pix.Millis(10_000 + 3200*round)
		v := look(t, m, now, s)
		if got := ids(v); !slices.Equal(got, []int{1, 2, 3}) || !v[0].Retry || v[0].Account != 9 {
			t.Fatalf("round %d: %v", round, v)
		}
		for _, one := range v {
			m.Done(one, Result{Queued: true}, now)
		}
		if v := look(t, m, now+2999, s); len(v) != 0 {
			t.Fatalf("between rounds: %v", ids(v))
		}
	}
}

// TestLongQueue checks that, while the directory refuses every lookup, each round tries
// exactly 64 payouts of a long queue and the next round goes on after them, so that each
// payout has its turn; and that other queues do not wait for the long one.
func TestLongQueue(t *testing.T) {
	s := newShelf()
	m := newMachine()
	const n = 3*atOnce + 10
	for i := range n {
		s.queue(earlier, 1+i)
	}
	s.queue(own, 5000)
	seen := map[int]int{}
	for round := range 4 {
		now := pix.Millis(10_000 + 3200*round)
		long := 0
		for _, one := range look(t, m, now, s) {
			if one.Queue == earlier {
				long++
				seen[ids([]Task{one})[0]]++
			} else if one.Queue != own {
				t.Errorf("task in queue %+v", one.Queue)
			}
			m.Done(one, Result{Queued: true}, now)
		}
		for k := range pix.Millis(10) {
			if v := look(t, m, now+k, s); len(v) != 0 {
				t.Errorf("round %d goes on: %v", round, ids(v))
			}
		}
		if long != atOnce {
			t.Errorf("round %d tried %d", round, long)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d had a turn in four rounds", len(seen), n)
	}
}

// TestCapacityReturns checks that, for each payout whose lookup succeeds, another payout is
// tried at once, never more than 64 at a time, until the directory refuses again.
func TestCapacityReturns(t *testing.T) {
	s := newShelf()
	m := newMachine()
	const n = 1000
	for i := range n {
		s.queue(earlier, 1+i)
	}
	passed, most := 0, 0
	flying := look(t, m, 10_000, s)
	for len(flying) > 0 && passed < 500 {
		most = max(most, len(flying))
		one := flying[0]
		delete(s.rows, string(layout.QueueKey(earlier, pix.TxID(one.ID))))
		m.Done(one, Result{}, 10_001)
		passed++
		flying = append(flying[1:], look(t, m, 10_001, s)...)
	}
	if passed != 500 || most != atOnce {
		t.Fatalf("%d passed, at most %d at once", passed, most)
	}
	for _, one := range flying { // the directory refuses the lookups again
		m.Done(one, Result{Queued: true}, 10_002)
	}
	if v := look(t, m, 10_003, s); len(v) != 0 {
		t.Errorf("goes on against the limit: %v", ids(v))
	}
	if v := look(t, m, 13_300, s); len(v) != atOnce {
		t.Errorf("the next round tries %d", len(v))
	}
}

// TestSkippedTriesAreBounded checks that of the tries of a round which end without a lookup few are
// replaced by others, and that the next round goes on after them.
func TestSkippedTriesAreBounded(t *testing.T) {
	b := DefaultBounds()
	b.Probes, b.Skip = 4, 10
	s, m := newShelf(), New(3000, 1<<60, b)
	for n := range 100 {
		s.queue(own, 1+n)
	}
	for round := range 3 {
		now, tried := pix.Millis(10_000+3200*round), []int{}
		for next := look(t, m, now, s); len(next) > 0; next = look(t, m, now, s) {
			for _, one := range next {
				tried = append(tried, ids([]Task{one})...)
				m.Done(one, Result{Queued: true, Skipped: true}, now)
			}
		}
		if first := 1 + 14*round; len(tried) != 4+10 || tried[0] != first || tried[13] != first+13 {
			t.Errorf("round %d tries %v", round, tried)
		}
	}
	rests(t, m)
}

// TestTriesOfARound checks how many tries a round makes that all end alike: what the limit refuses, and what nobody
// answers, uses up the round; a failure, and a try without a lookup, is replaced by another, ten times at most; what passes
// is always replaced.
func TestTriesOfARound(t *testing.T) {
	for _, c := range []struct {
		result Result
		tries  int
	}{
		{Result{Queued: true}, 4},
		{Result{Unheard: true}, 4},
		{Result{Err: errDisk}, 4 + 10},
		{Result{Queued: true, Skipped: true}, 4 + 10},
		{Result{}, 100},
	} {
		b := DefaultBounds()
		b.Probes, b.Skip = 4, 10
		s, m, tries := newShelf(), New(3000, 1<<60, b), 0
		for n := range 100 {
			s.queue(own, 1+n)
		}
		for next := look(t, m, 10_000, s); len(next) > 0; next = look(t, m, 10_000, s) {
			tries += len(next)
			for _, one := range next {
				m.Done(one, c.result, 10_000)
			}
		}
		if tries != c.tries {
			t.Errorf("%+v: %d tries, want %d", c.result, tries, c.tries)
		}
		rests(t, m)
	}
}

// TestNextRoundWaitsForAnswers checks that a round begins three seconds after the last answer of the scheme in the
// one before, and not a millisecond sooner; the end of a try that made no lookup puts it off no further.
func TestNextRoundWaitsForAnswers(t *testing.T) {
	for _, c := range []struct {
		result Result
		begins pix.Millis
	}{
		{Result{Queued: true}, 15_000},
		{Result{Queued: true, Skipped: true}, 13_000},
		{Result{Err: errDisk}, 13_000},
	} {
		s, m := newShelf(), newMachine()
		s.queue(own, 1)
		for _, one := range look(t, m, 10_000, s) {
			m.Done(one, c.result, 12_000)
		}
		for _, at := range []pix.Millis{12_000, c.begins - 1, c.begins} {
			for _, one := range look(t, m, at, s) {
				if m.Done(one, Result{Queued: true}, at); at < c.begins {
					t.Errorf("%+v: tried again at %d", c.result, at)
				}
			}
		}
		if l := m.limits[limitOf(own)]; l.next != c.begins+3_000 {
			t.Errorf("%+v: no round begins at %d", c.result, c.begins)
		}
	}
}

// TestSlowTries checks that, while a payout is being tried for a long time, it is not tried
// a second time, it counts towards the 64 tries at a time, and the other payouts still have
// their turn.
func TestSlowTries(t *testing.T) {
	s := newShelf()
	m := newMachine()
	for i := range atOnce + 5 {
		s.queue(earlier, 1+i)
	}
	first := look(t, m, 10_000, s)
	for _, one := range first[10:] {
		m.Done(one, Result{Queued: true}, 10_001)
	}
	second := look(t, m, 13_300, s)
	if len(second) != atOnce-10 {
		t.Errorf("%d started beside 10 on their way", len(second))
	}
	for _, one := range second {
		if slices.Contains(ids(first[:10]), ids([]Task{one})[0]) {
			t.Errorf("%v twice", one.ID)
		}
	}
	for _, one := range first[:10] {
		m.Done(one, Result{}, 13_301)
	}
	if late := look(t, m, 13_302, s); len(late) == 0 {
		t.Error("nobody followed those that passed")
	}
}

// TestSkipped checks that payouts for which no lookup was made do not use up the tries of a
// round.
func TestSkipped(t *testing.T) {
	s := newShelf()
	m := newMachine()
	for i := range 3 * atOnce {
		s.queue(earlier, 1+i)
	}
	asked := 0
	for v := look(t, m, 10_000, s); len(v) > 0; v = look(t, m, 10_000, s) {
		for _, one := range v {
			skip := ids([]Task{one})[0] <= 2*atOnce
			if !skip {
				asked++
			}
			m.Done(one, Result{Queued: true, Skipped: skip}, 10_000)
		}
	}
	if asked != atOnce {
		t.Errorf("%d asked behind those that are skipped", asked)
	}
}

// turnsOf runs rounds in which the limit refuses every lookup, and returns for each account how
// often it was tried, and in which round first.
func turnsOf(t *testing.T, m *Machine, s *shelf, rounds int) (tries, first map[pix.AccountID]int) {
	t.Helper()
	tries, first = map[pix.AccountID]int{}, map[pix.AccountID]int{}
	for round := range rounds {
		now := pix.Millis(10_000 + 3200*round)
		tasks := look(t, m, now, s)
		if len(tasks) > atOnce {
			t.Fatalf("%d tries in a round", len(tasks))
		}
		for _, one := range tasks {
			if tries[one.Account]++; tries[one.Account] == 1 {
				first[one.Account] = round
			}
			m.Done(one, Result{Queued: true}, now)
		}
	}
	return tries, first
}

// TestAccountsTakeTurns checks that, while the institution's limit refuses, accounts take turns
// and not payouts: one payout is tried in every round, however many another account has, and
// also beside those that earlier versions queued for all accounts together.
func TestAccountsTakeTurns(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 20_000 {
		s.queue(shared(1), 1+i)
		if i < 1000 {
			s.queue(earlier, 1+i)
		}
	}
	s.queue(shared(2), 30_000)
	s.sort()
	tries, first := turnsOf(t, m, s, 10)
	if tries[2] != 10 || first[2] != 0 || tries[1] < 10*20 || tries[9] < 10*20 {
		t.Errorf("tries in ten rounds: %v", tries)
	}
}

// TestJoinsTheRound checks that an account whose first payout is queued while lookups pass is
// tried in turn with those that have many, before the round is over.
func TestJoinsTheRound(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 1000 {
		s.queue(shared(1), 1+i)
	}
	flying := look(t, m, 10_000, s)
	s.queue(shared(2), 5000)
	for at := pix.Millis(10_000); at < 11_100; at += 50 {
		one := flying[0]
		delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
		m.Done(one, Result{}, at)
		flying = flying[1:]
		for _, next := range look(t, m, at, s) {
			if next.Account == 2 {
				return
			}
			flying = append(flying, next)
		}
	}
	t.Error("the other account was not tried")
}

// TestCostOfTurns checks that a round reads no more rows than it tries, per account one more,
// however many wait.
func TestCostOfTurns(t *testing.T) {
	for _, n := range []int{100, 50_000} {
		s, m := newShelf(), newMachine()
		for i := range n {
			s.queue(shared(1), 1+i)
		}
		s.queue(shared(2), 60_000)
		s.sort()
		look(t, m, 10_000, s)
		if s.read > 2*atOnce {
			t.Errorf("of %d payouts a round reads %d rows", n, s.read)
		}
	}
}
