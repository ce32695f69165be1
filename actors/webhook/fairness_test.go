package webhook

import (
	"math/rand/v2"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const victim = pix.AccountID(9999)

// TestSlowAndOneFailure checks that subscriptions of one account that answer 200 after 10 to 15 s
// keep another, whose receiver fails once, from nothing, and get what they can take.
func TestSlowAndOneFailure(t *testing.T) {
	for slowOnes, least := range map[int]int{0: 0, 5: 11_000, 6: 13_500, 12: 27_000, 20: 45_000} {
		if testing.Short() && slowOnes > 5 { // of one goroutine the race detector learns no more
			continue
		}
		fails, attempts, late := true, 0, pix.Millis(0)
		rng := rand.New(rand.NewPCG(1, 2))
		f := newTraffic(t, nil)
		f.answer = func(task Task) (pix.Millis, int) {
			if task.Account != victim {
				return 10*second + pix.Millis(rng.IntN(4900)), 200
			}
			attempts++
			late = max(late, f.now-task.Due)
			if fails {
				fails = false
				return 10, 502
			}
			return 10, 200
		}
		events := uint64(0)
		for ; f.now < t0+hour/2; f.now += 50 {
			if (f.now-t0)%600 == 0 {
				for n := range slowOnes {
					f.emit(layout.Target{Account: 1, Number: uint32(n + 1)}, uint64(f.now))
				}
			}
			if f.now >= t0+120*second && (f.now-t0)%(10*second) == 0 {
				events++
				f.emit(layout.Target{Account: victim, Number: 1}, events)
			}
			f.step()
		}
		if attempts != int(events)+1 || late > 200 {
			t.Errorf("beside %d slow subscriptions: %d events, %d attempts, up to %d ms late", slowOnes, events, attempts, late)
		}
		if n := of(1, f.begun); n < least {
			t.Errorf("%d slow subscriptions: %d attempts", slowOnes, n)
		}
	}
}

// TestShareOfThePool checks what one subscription gets of 100 events a second beside accounts
// with 20 subscriptions each that answer just in time, and what a lone account gets.
func TestShareOfThePool(t *testing.T) {
	for _, c := range []struct {
		accounts pix.AccountID
		least    int // deliveries of 2,000
		others   int // deliveries of the other accounts together
	}{{0, 1990, 0}, {1, 1990, 2_600}, {2, 1000, 3_500}} {
		f := newTraffic(t, func(task Task) (pix.Millis, int) {
			if task.Account == victim {
				return 20, 200
			}
			return 900, 200
		})
		for account := range c.accounts {
			f.backlog(account+1, ledger.MaxSubscriptions, 500)
		}
		for sequence := uint64(0); f.now < t0+20*second; f.now++ {
			if (f.now-t0)%10 == 0 {
				sequence++
				f.emit(layout.Target{Account: victim, Number: 1}, sequence)
			}
			f.step()
			if most := f.bounds.Good.Account; c.accounts == 1 && len(f.open)-f.begun[layout.Target{Account: victim, Number: 1}] > most {
				t.Fatalf("%d attempts of one account", len(f.open))
			}
		}
		others := 0
		for account := range c.accounts {
			others += of(account+1, f.ended)
		}
		if got := of(victim, f.ended); got < c.least || others < c.others {
			t.Errorf("beside %d accounts: %d of 2000 are delivered; %d of the others", c.accounts, got, others)
		}
	}
}

// TestTotal checks that no pool ever has more attempts than its places, whatever receivers do,
// and that each is used.
func TestTotal(t *testing.T) {
	for name, answer := range map[string]func(Task) (pix.Millis, int){
		"slow": func(Task) (pix.Millis, int) { return 14 * second, 200 },
		"slow and fast in turns": func(task Task) (pix.Millis, int) {
			if task.Sequence%8 == 0 {
				return 5, 200
			}
			return 14 * second, 200
		},
		"of all kinds": func(task Task) (pix.Millis, int) {
			return [...]pix.Millis{5, 990, 1010, 15 * second}[task.Sequence%4], [...]int{200, 200, 500, 0, 503}[task.Sequence%5]
		},
	} {
		f := newTraffic(t, answer)
		for n := range 400 {
			f.backlog(pix.AccountID(n+1), 1, 60)
		}
		for ; f.now < t0+60*second; f.now += 50 {
			f.step()
			for c := range f.pools {
				if p := f.pools[c]; p.InUse() > p.places.All {
					t.Fatalf("%s: %d attempts in the pool %q", name, p.InUse(), classNames[c])
				}
			}
		}
		if b := DefaultBounds(); f.most > b.Good.All+b.Failing.All+b.Slow.All || f.greatly[slow] < b.Slow.All || f.greatly[good] < b.Good.All {
			t.Errorf("%s: %d attempts at once, in the pools %d", name, f.most, f.greatly)
		}
	}
}

// TestSlowShare checks that one account's slow attempts leave places to others, also where its
// receivers answer fast now and then, so that attempts begin among the good ones.
func TestSlowShare(t *testing.T) {
	f := newTraffic(t, func(task Task) (pix.Millis, int) {
		if task.Sequence%4 == 0 {
			return 5, 200
		}
		return 14 * second, 200
	})
	f.backlog(1, ledger.MaxSubscriptions, 400)
	for ; f.now < t0+100*second; f.now += 50 {
		f.step()
		for c := range f.pools {
			if running, _ := f.pools[c].Of(1); running > f.pools[c].places.Account {
				t.Fatalf("%d attempts of one account in the pool %q", running, classNames[c])
			}
		}
	}
	if f.greatly[slow] < 300 {
		t.Errorf("%d slow attempts at once", f.greatly[slow])
	}
}

// TestSmallerShareOfSlow checks the same of a share that is smaller than what an account's
// subscriptions may have at once: attempts that become slow stay where they are.
func TestSmallerShareOfSlow(t *testing.T) {
	f := newTraffic(t, func(task Task) (pix.Millis, int) {
		if task.Sequence%4 == 0 {
			return 5, 200
		}
		return 14 * second, 200
	})
	f.pools[slow] = newPool(Places{All: f.pools[slow].places.All, Account: 50})
	f.backlog(1, ledger.MaxSubscriptions, 400)
	for ; f.now < t0+60*second; f.now += 50 {
		f.step()
		if running, _ := f.pools[slow].Of(1); running > 50 {
			t.Fatalf("%d slow attempts of one account", running)
		}
	}
	if f.greatly[slow] != 50 {
		t.Errorf("%d slow attempts at once", f.greatly[slow])
	}
}

// TestFastAgain checks that a receiver which was slow and answers fast again is among the good ones.
func TestFastAgain(t *testing.T) {
	to := layout.Target{Account: 1, Number: 1}
	f := newTraffic(t, func(task Task) (pix.Millis, int) {
		if task.Sequence < 3 {
			return 5 * second, 200
		}
		return 5, 200
	})
	f.emit(to, 1)
	for ; f.now < t0+2*second; f.now += 50 {
		f.step()
	}
	if f.class(to) != slow {
		t.Errorf("it is slow, and among the %s ones", classNames[f.class(to)])
	}
	for ; f.now < t0+20*second; f.now += 50 {
		if f.now == t0+10*second {
			f.emit(to, 3)
		}
		f.step()
	}
	if f.class(to) != good || f.begun[to] != 2 {
		t.Errorf("after %d attempts it is among the %s ones", f.begun[to], classNames[f.class(to)])
	}
}

// TestTurns checks that accounts take turns, and then their subscriptions: an account with many
// subscriptions gets no more than one with one, and each of its subscriptions as much.
func TestTurns(t *testing.T) {
	f := newTraffic(t, func(Task) (pix.Millis, int) { return 100, 200 })
	f.pools[good] = newPool(Places{All: 6, Account: 4})
	f.backlog(1, ledger.MaxSubscriptions, 200)
	f.backlog(2, 1, 2000)
	f.backlog(3, 2, 1000)
	for ; f.now < t0+60*second; f.now += 50 {
		f.step()
	}
	for account := range pix.AccountID(3) {
		if n := of(account+1, f.begun); n < 1100 || n > 1300 {
			t.Errorf("account %d got %d of 3600 places", account+1, n)
		}
	}
	for n := range uint32(ledger.MaxSubscriptions) {
		if got := f.begun[layout.Target{Account: 1, Number: n + 1}]; got < 50 || got > 70 {
			t.Errorf("subscription %d got %d of its account's 1200 places", n+1, got)
		}
	}
}

// TestAside checks that an account at its share waits aside without cost, and comes back when
// one of its attempts has ended, or has become slow.
func TestAside(t *testing.T) {
	r := newRig(t, nil)
	r.pools[good] = newPool(Places{All: 10, Account: 2})
	for n := range uint32(ledger.MaxSubscriptions) {
		r.emit(layout.Target{Account: 1, Number: n + 1}, 1)
	}
	running := r.tick()
	if len(running) != 2 || r.Pools()["good"] != (InPool{Running: 2, Places: 10, Waiting: 18}) {
		t.Fatalf("%d attempts begin: %+v", len(running), r.Pools())
	}
	read := r.shelf.read
	if cost := testing.AllocsPerRun(100, r.quiet); cost > 2 || r.shelf.read > read {
		t.Errorf("a step in vain: %v allocations, %d rows", cost, r.shelf.read-read)
	}
	r.emit(target(2), 1)
	r.emit(layout.Target{Account: 1, Number: 1}, 2)
	if task := r.one(); task.Account != 2 || r.Pools()["good"].Aside == 0 {
		t.Errorf("%+v begins; %+v", task.Target, r.Pools())
	}
	r.answers(running[0], 200)
	if task := r.one(); task.Account != 1 {
		t.Errorf("%+v begins", task.Target)
	}
	r.now += patience
	if begun := r.tick(); len(begun) != 2 || r.pools[slow].InUse() != 3 {
		t.Errorf("%d begin, %d are slow", len(begun), r.pools[slow].InUse())
	}
}
