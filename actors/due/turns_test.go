package due

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestSinglePayoutsHaveTheirTurns checks that accounts with one waiting payout each get as many
// lookups as accounts with many.
func TestSinglePayoutsHaveTheirTurns(t *testing.T) {
	const many, single, per, each = 40, 40, 10, 6
	s, m := newShelf(), newMachine()
	for i := range many * 100 {
		s.queue(shared(pix.AccountID(i%many+1)), 1+i)
	}
	for a := range single {
		s.queue(shared(pix.AccountID(many+a+1)), 10_000+a)
	}
	s.sort()
	next, passed := 20_000, map[pix.AccountID]int{}
	for round := range each * (many + single) / per {
		now, left := pix.Millis(10_000+3200*round), per
		for tasks := look(t, m, now, s); len(tasks) > 0; tasks = look(t, m, now, s) {
			for _, one := range tasks {
				if left--; left >= 0 {
					passed[one.Account]++
					delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
					if one.Account > many {
						next++
						s.queue(one.Queue, next)
					}
				}
				m.Done(one, Result{Queued: left < 0}, now)
			}
		}
		s.sort()
	}
	for a := range pix.AccountID(many + single) {
		if n := passed[a+1]; n < each-1 || n > each+1 {
			t.Errorf("account %d has %d lookups of %d", a+1, n, each)
		}
	}
}

// TestTryThatOutlivesItsQueue checks that an account whose only payout is still being sent while its
// queue is empty, and has others later, is not before everybody from then on.
func TestTryThatOutlivesItsQueue(t *testing.T) {
	s, m := newShelf(), newMachine()
	s.queue(shared(2), 1)
	late := look(t, m, 10_000, s)
	delete(s.rows, string(layout.QueueKey(late[0].Queue, pix.TxID(late[0].ID)))) // looked up, and being sent
	fill := func(a pix.AccountID, from int, now pix.Millis) {
		for i := range 400 {
			s.queue(shared(a), from+i)
		}
		s.sort()
		for _, one := range look(t, m, now, s) {
			m.Done(one, Result{Queued: true}, now)
		}
	}
	fill(1, 100, 12_000) // account 2 has none
	fill(2, 1000, 15_200)
	m.Done(late[0], Result{}, 15_300)
	if passed := capacity(t, m, s, 10, 100, func(int) int { return 1 }); passed[1] != 50 || passed[2] != 50 {
		t.Errorf("of 100 lookups %v", passed)
	}
	rests(t, m)
}

// rests checks that no try is counted once all have ended.
func rests(t *testing.T, m *Machine) {
	t.Helper()
	if m.tries != 0 {
		t.Errorf("%d tries run", m.tries)
	}
	for id, l := range m.limits {
		for _, q := range l.queues {
			if len(l.flying) != 0 || q.flying != 0 {
				t.Errorf("limit %d, queue %+v: %d tries run, %d of the queue", id, q.id, len(l.flying), q.flying)
			}
		}
	}
}

// TestQueueThatComesBack checks that an account whose queue is empty for a while, and then has one
// payout more each time, is not before one that waits.
func TestQueueThatComesBack(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 200 {
		s.queue(shared(1), 1+i)
	}
	passed, waits := map[pix.AccountID]int{}, false
	for round := range 60 {
		if now := pix.Millis(8_500 + 3200*round); !waits {
			for _, one := range look(t, m, now, s) { // account 2 has none
				m.Done(one, Result{Queued: true}, now)
			}
			s.queue(shared(2), 1000+round)
		}
		s.sort()
		first := firstPasses(t, m, s, round)
		passed[first]++
		waits = first != 2
	}
	if passed[1] < 25 || passed[2] < 20 {
		t.Errorf("%v", passed)
	}
}

// TestSlowSubmit checks that an account does not get lookup after lookup while a payout whose lookup
// has succeeded is still being sent.
func TestSlowSubmit(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 400 {
		s.queue(shared(pix.AccountID(i%2+1)), 1+i)
	}
	s.sort()
	passed, sent := map[pix.AccountID]int{}, Task{}
	for round := range 8 {
		now := pix.Millis(10_000 + 3200*round)
		for i, one := range look(t, m, now, s) {
			switch {
			case i > 0:
				m.Done(one, Result{Queued: true}, now)
				continue
			case round == 1: // the other account was served in round 0
				sent = one
			default:
				m.Done(one, Result{}, now)
			}
			passed[one.Account]++
			delete(s.rows, string(layout.QueueKey(one.Queue, pix.TxID(one.ID))))
		}
		for _, one := range look(t, m, now, s) {
			m.Done(one, Result{Queued: true}, now)
		}
	}
	if passed[sent.Account] != 1 {
		t.Errorf("%v while a payout of account %d is being sent", passed, sent.Account)
	}
	m.Done(sent, Result{}, 200_000)
	rests(t, m)
}

// TestWhatServes checks that an account has had its turn when a lookup has succeeded, and by nothing
// else.
func TestWhatServes(t *testing.T) {
	for _, one := range []struct {
		result Result
		serves bool
	}{
		{Result{}, true},
		{Result{Queued: true}, false},
		{Result{Unheard: true}, false},
		{Result{Unheard: true, Queued: true}, false},
		{Result{Skipped: true}, false},
		{Result{Err: errors.New("x")}, false},
	} {
		s, m := newShelf(), newMachine()
		s.queue(shared(1), 1)
		s.queue(shared(1), 2)
		tasks := look(t, m, 10_000, s)
		before := m.limits[0].queues[0].served
		m.Done(tasks[0], one.result, 10_000)
		if after := m.limits[0].queues[0].served; (after != before) != one.serves {
			t.Errorf("%+v: served at %d, then at %d", one.result, before, after)
		}
		m.Done(tasks[1], Result{Queued: true}, 10_000)
		for _, more := range look(t, m, 10_000, s) {
			m.Done(more, Result{Queued: true}, 10_000)
		}
		rests(t, m)
	}
}

// TestQuarantinedQueue checks that the payouts of an account that is quarantined are not tried again.
func TestQuarantinedQueue(t *testing.T) {
	s, m := newShelf(), newMachine()
	for i := range 10 {
		s.queue(shared(pix.AccountID(i%2+1)), 1+i)
	}
	s.sort()
	for _, one := range look(t, m, 10_000, s) {
		r := Result{Queued: true}
		if one.Account == 1 {
			r = Result{Err: ledger.ErrQuarantined}
		}
		m.Done(one, r, 10_000)
	}
	for _, one := range append(look(t, m, 10_000, s), look(t, m, 13_200, s)...) {
		if one.Account == 1 {
			t.Errorf("%+v", one)
		}
	}
}

// handing takes due tasks and sends them on.
type handing chan Task

func (h handing) Due(t Task) { h <- t }

// TestFigures checks that the figures count the tries that run, and follow each that ends.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		for i := range 3 {
			s.queue(shared(pix.AccountID(i+1)), 1+i)
		}
		s.sort()
		sc := NewScanner(newMachine(), s, func() pix.Reading { return reading(10_000) }, nil, slog.New(slog.DiscardHandler))
		if got := sc.Figures(); got != (Figures{}) {
			t.Errorf("before the first step %+v", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		tasks := make(handing, 10)
		go sc.Run(ctx, tasks)
		defer stop()
		synctest.Wait()
		for left := 3; left >= 0; left-- {
			if got := sc.Figures(); got != (Figures{Tries: left}) {
				t.Errorf("of 3 tries %d run: %+v", left, got)
			}
			if left > 0 {
				sc.Done(<-tasks, Result{Queued: true})
				synctest.Wait()
			}
		}
	})
}
