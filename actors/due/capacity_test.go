package due

import (
	"errors"
	"testing"

	"pixd/actors/ledger"
)

// capacity runs rounds in each of which only the first lookups that start succeed, as many as per
// says, and returns how many payouts of each account got one.
func capacity(t *testing.T, m *Machine, s *shelf, from, rounds int, per func(round int) int) map[ledger.AccountID]int {
	t.Helper()
	passed := map[ledger.AccountID]int{}
	for round := from; round < from+rounds; round++ {
		now, left := ledger.Millis(10_000+3200*round), per(round)
		for tasks := look(t, m, now, s); len(tasks) > 0; tasks = look(t, m, now, s) {
			for _, one := range tasks {
				if left--; left >= 0 {
					passed[one.Account]++
					delete(s.rows, string(ledger.QueueKey(one.Queue, ledger.TxID(one.ID))))
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
			s.queue(shared(ledger.AccountID(i%one.accounts+1)), 1+i)
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
			low, high = min(low, got[ledger.AccountID(a+1)]), max(high, got[ledger.AccountID(a+1)])
		}
		if low == 0 || high-low > 1+one.every {
			t.Errorf("%+v: an account got %d, another %d", one, low, high)
		}
		newcomer := ledger.AccountID(one.accounts + 1)
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
	for _, r := range []Result{{Unheard: true}, {Err: errors.New("x")}} {
		s, m := newShelf(), New(3000, 1<<60, Bounds{AtOnce: 1, Share: 1, Look: 10, Remember: 10, Probes: 1})
		seen := map[ledger.AccountID]int{}
		for i := range 30 {
			s.queue(shared(ledger.AccountID(i%3+1)), 1+i)
		}
		for round := range 6 {
			now := ledger.Millis(10_000 + 3200*round)
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
