package due

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// capacity runs rounds in each of which only the first lookups that start succeed, as many as per
// says, and returns how many payouts of each account got one.
func capacity(t *testing.T, m *Machine, s *shelf, from, rounds int, per func(round int) int) map[pix.AccountID]int {
	t.Helper()
	passed := map[pix.AccountID]int{}
	for round := from; round < from+rounds; round++ {
		now, left := pix.Millis(10_000+3200*round), per(round)
		for tasks := look(t, m, now, s); len(tasks) > 0; tasks = look(t, m, now, s) {
			for _, one := range tasks {
				if left--; left >= 0 {
					passed[one.Account]++
					delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
				}
				m.Done(one, Result{Queued: left < 0}, now)
			}
		}
	}
	return passed
}

// TestCapacityGoesAround checks that accounts take turns at what the directory grants, also where
// that is few lookups in a round, those that come first, or one in some rounds: each account gets
// the same, however many payouts it has, and also where more accounts wait than a round has tries.
func TestCapacityGoesAround(t *testing.T) {
	for _, one := range []struct{ accounts, per, every int }{
		{2, 1, 1}, {2, 1, 2}, {2, 1, 3}, {3, 1, 1}, {3, 2, 1}, {3, 3, 1}, {3, 1, 3}, {3, 70, 1}, {65, 13, 2}, {192, 48, 1}, {192, 64, 3},
	} {
		s, m := newShelf(), newMachine()
		rounds := 4 * one.accounts * one.every / one.per // in which each gets four
		if one.per > one.accounts {
			rounds = 3
		}
		most := rounds*one.per/one.accounts + 8
		for i := range most * one.accounts {
			s.queue(shared(pix.AccountID(i%one.accounts+1)), 1+i)
		}
		s.sort()
		per := func(round int) int {
			if round%one.every != 0 {
				return 0
			}
			return one.per
		}
		got := capacity(t, m, s, 0, rounds, per)
		low, high := rounds*one.per, 0
		for a := range one.accounts {
			low, high = min(low, got[pix.AccountID(a+1)]), max(high, got[pix.AccountID(a+1)])
		}
		apart := 1
		if one.accounts > atOnce { // a quarter of the tries goes around, whoever was served
			apart += one.every
		}
		if low == 0 || high-low > apart {
			t.Errorf("%+v: an account got %d, another %d", one, low, high)
		}
		newcomer := pix.AccountID(one.accounts + 1)
		s.queue(shared(newcomer), 1<<20)
		s.sort()
		if got := capacity(t, m, s, rounds, rounds, per); got[newcomer] != 1 {
			t.Errorf("%+v: one payout of another account is not looked up", one)
		}
	}
}

// TestFirstThatFails checks that a queue whose tries end without an answer of the directory is not
// the first again and again.
func TestFirstThatFails(t *testing.T) {
	for _, r := range []Result{{Unheard: true}, {Unheard: true, Queued: true}, {Err: errors.New("x")}} {
		s, m := newShelf(), New(3000, 1<<60, Bounds{AtOnce: 1, Share: 1, Look: 10, Remember: 10, Probes: 1})
		seen := map[pix.AccountID]int{}
		for i := range 30 {
			s.queue(shared(pix.AccountID(i%3+1)), 1+i)
		}
		for round := range 6 {
			now := pix.Millis(10_000 + 3200*round)
			for _, one := range look(t, m, now, s) {
				seen[one.Account]++
				m.Done(one, r, now)
			}
		}
		if seen[1] != 2 || seen[2] != 2 || seen[3] != 2 {
			t.Errorf("%+v: %v", r, seen)
		}
	}
}

// TestManyAccountsTakeTurns checks that, where more accounts wait than a round has tries, each
// has its turn before any has its second, also while all are refused.
func TestManyAccountsTakeTurns(t *testing.T) {
	s, m := newShelf(), newMachine()
	const accounts = 3 * atOnce
	for a := range accounts {
		for n := range 3 {
			s.queue(shared(pix.AccountID(a+1)), 10*a+n+1)
		}
	}
	tries, _ := turnsOf(t, m, s, 3)
	for a := range accounts {
		if tries[pix.AccountID(a+1)] != 1 {
			t.Fatalf("tries in three rounds: %v", tries)
		}
	}
}

// TestLateEndsMoveNoTurn checks that accounts take turns at one lookup a round also where a try of
// one of them ends after all others, whatever its result.
func TestLateEndsMoveNoTurn(t *testing.T) {
	for name, late := range map[string]Result{"success": {}, "refusal": {Queued: true}, "no answer": {Unheard: true, Queued: true}, "failure": {Err: errors.New("x")}} {
		s, m := newShelf(), newMachine()
		for i := range 4 * 200 {
			s.queue(shared(pix.AccountID(i%4+1)), 1+i)
		}
		s.sort()
		passed := map[pix.AccountID]int{}
		for round := range 60 {
			now := pix.Millis(10_000 + 3200*round)
			var last *Task
			for i, one := range look(t, m, now, s) {
				if i == 0 {
					passed[one.Account]++
					delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
					m.Done(one, Result{}, now)
				} else if one.Account == 1 && last == nil {
					last = &one
				} else {
					m.Done(one, Result{Queued: true}, now)
				}
			}
			for _, one := range look(t, m, now, s) { // one more for the lookup that succeeded
				m.Done(one, Result{Queued: true}, now)
			}
			m.Done(*last, late, now)
			for _, one := range look(t, m, now, s) {
				m.Done(one, Result{Queued: true}, now)
			}
		}
		least := 14 // of 60 for four, or for three where account 1 has its own
		if min(passed[2], passed[3], passed[4]) < least {
			t.Errorf("%s: %v", name, passed)
		}
	}
}

// firstPasses runs a round in which the first lookup alone succeeds, and returns whose it was.
func firstPasses(t *testing.T, m *Machine, s *shelf, round int) (first pix.AccountID) {
	t.Helper()
	now := pix.Millis(10_000 + 3200*round)
	for i, one := range look(t, m, now, s) {
		if i == 0 {
			first = one.Account
			delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
		}
		m.Done(one, Result{Queued: i > 0}, now)
	}
	for _, one := range look(t, m, now, s) { // one more for the lookup that succeeded
		m.Done(one, Result{Queued: true}, now)
	}
	return first
}

// TestEmptiedQueueIsNotFirst checks that an account whose queue becomes empty, and then has one
// payout again and again, is not before one that waits.
func TestEmptiedQueueIsNotFirst(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 200 {
		s.queue(shared(1), 1+i)
	}
	passed := map[pix.AccountID]int{}
	for round := range 60 {
		s.queue(shared(2), 1000+round)
		s.sort()
		passed[firstPasses(t, m, s, round)]++
	}
	if passed[1] < 25 || passed[2] < 25 {
		t.Errorf("%v", passed)
	}
}

// TestNeverGranted checks that accounts whose payouts are always refused, and were served long ago,
// do not keep another's from being tried.
func TestNeverGranted(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 40 * 2 * atOnce {
		s.queue(shared(pix.AccountID(i%(2*atOnce)+1)), 1+i)
	}
	s.sort()
	capacity(t, m, s, 0, 12, func(int) int { return atOnce / 2 }) // every account is served at another time
	seen := map[pix.AccountID]bool{}
	const rounds = 2 * atOnce / (atOnce / 4) // in each of which a quarter goes around
	for round := 20; round < 20+rounds; round++ {
		now := pix.Millis(10_000 + 3200*round)
		for _, one := range look(t, m, now, s) {
			seen[one.Account] = true
			m.Done(one, Result{Queued: true}, now)
		}
	}
	if len(seen) < 2*atOnce {
		t.Errorf("of %d accounts %d were tried in %d rounds", 2*atOnce, len(seen), rounds)
	}
}
