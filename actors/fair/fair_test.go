package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// waiter takes a place in a goroutine of its own and notes who got one.
type waiters struct {
	t    *testing.T
	pool *Pool[string]
	mu   sync.Mutex
	got  []string
	work sync.WaitGroup
}

// take begins to wait, and returns once the wait has begun.
func (w *waiters) take(ctx context.Context, k string) {
	w.t.Helper()
	before := w.pool.Counts()
	w.work.Go(func() {
		if err := w.pool.Take(ctx, k); err != nil {
			return
		}
		w.mu.Lock()
		w.got = append(w.got, k)
		w.mu.Unlock()
	})
	for w.pool.Counts() == before {
		time.Sleep(time.Millisecond)
	}
}

// served returns once n waiters have a place, and who they are in that order.
func (w *waiters) served(n int) []string {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		got := slices.Clone(w.got)
		w.mu.Unlock()
		if len(got) == n || time.Now().After(end) {
			return got
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTurns checks that users take turns, however many of one user wait.
func TestTurns(t *testing.T) {
	p := New[string](Bounds{Places: 1, Share: 1, Queue: 10})
	must(t, p.Take(t.Context(), "greedy"))
	w := &waiters{t: t, pool: p}
	for _, k := range []string{"greedy", "greedy", "greedy", "modest", "third"} {
		w.take(t.Context(), k)
	}
	holder := "greedy"
	for n := range 5 {
		p.Give(holder)
		got := w.served(n + 1)
		holder = got[n]
	}
	if want := []string{"modest", "third", "greedy", "greedy", "greedy"}; !slices.Equal(w.got, want) {
		t.Errorf("served %v, want %v", w.got, want)
	}
	p.Give(holder)
	if p.Counts() != (Counts{}) || len(p.line.users) != 0 || p.line.turns.Len() != 0 {
		t.Errorf("at rest: %+v, %d users, %d turns", p.Counts(), len(p.line.users), p.line.turns.Len())
	}
}

// TestShare checks that one user leaves the rest of the places to others, and gets its next
// place only when it gives one back.
func TestShare(t *testing.T) {
	p := New[string](Bounds{Places: 3, Share: 2, Queue: 10})
	must(t, p.Take(t.Context(), "greedy"))
	must(t, p.Take(t.Context(), "greedy"))
	w := &waiters{t: t, pool: p}
	w.take(t.Context(), "greedy")
	w.take(t.Context(), "greedy")
	must(t, p.Take(t.Context(), "modest")) // at once
	if got := p.Counts(); got != (Counts{InUse: 3, Waiting: 2}) {
		t.Errorf("%+v", got)
	}
	p.Give("modest")
	time.Sleep(10 * time.Millisecond)
	if got := w.served(0); len(got) != 0 {
		t.Errorf("beyond its share: %v", got)
	}
	p.Give("greedy")
	w.served(1)
	p.Give("greedy")
	w.served(2)
	p.Give("greedy")
	p.Give("greedy")
	w.work.Wait()
}

// TestQueue checks that a user's waiters are bounded, that another user's are not touched by
// it, and that the refusal is counted.
func TestQueue(t *testing.T) {
	p := New[string](Bounds{Places: 1, Share: 1, Queue: 1})
	must(t, p.Take(t.Context(), "a"))
	w := &waiters{t: t, pool: p}
	w.take(t.Context(), "a")
	if err := p.Take(t.Context(), "a"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	w.take(t.Context(), "b")
	if got := p.Counts(); got != (Counts{InUse: 1, Waiting: 2, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	p.Give("a")
	p.Give(w.served(1)[0])
	p.Give(w.served(2)[1])
	w.work.Wait()
}

// TestLeave checks that a waiter whose context ends leaves the queue, takes no place and keeps
// nobody from one.
func TestLeave(t *testing.T) {
	p := New[string](Bounds{Places: 1, Share: 1, Queue: 1})
	must(t, p.Take(t.Context(), "a"))
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiters{t: t, pool: p}
	w.take(ctx, "b")
	cancel()
	w.work.Wait()
	w.take(t.Context(), "c")
	if got := p.Counts(); got != (Counts{1, 1, 1}) {
		t.Errorf("a wait that ended without a place: %+v", got)
	}
	p.Give("a")
	if got := w.served(1); !slices.Equal(got, []string{"c"}) {
		t.Errorf("served %v", got)
	}
	p.Give("c")
	if err := p.Take(ctx, "d"); err != nil {
		t.Errorf("a free place is not given: %v", err) // the context is asked only by who must wait
	}
	p.Give("d")
}

// TestGivenAndLeft checks that no place is lost where a waiter gets one at the moment at which
// its context ends.
func TestGivenAndLeft(t *testing.T) {
	p := New[int](Bounds{Places: 1, Share: 1, Queue: 1})
	for range 300 {
		must(t, p.Take(t.Context(), 1))
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			if p.Take(ctx, 2) == nil {
				p.Give(2)
			}
		})
		go cancel()
		p.Give(1)
		work.Wait()
		cancel()
	}
	if c := p.Counts(); c.InUse != 0 || c.Waiting != 0 || len(p.line.users) != 0 { // how many waits ended without a place is chance
		t.Errorf("%+v, %d users", c, len(p.line.users))
	}
}

func TestGiveWithoutTake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New[int](Bounds{Places: 1, Share: 1}).Give(1)
}

// TestAnyOrder checks in any order of takes and gives that no bound is passed, and that no
// place stays free while somebody waits who may have it.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Places: rapid.IntRange(1, 4).Draw(t, "places"), Queue: rapid.IntRange(0, 3).Draw(t, "queue")}
		b.Share = rapid.IntRange(1, b.Places).Draw(t, "share")
		p := New[int](b)
		held := map[int]int{}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := rapid.IntRange(0, 3).Draw(t, "user")
			if held[k] > 0 && rapid.Bool().Draw(t, "give") {
				p.Give(k)
				held[k]--
				continue
			}
			if p.Take(cancelled, k) == nil {
				held[k]++
			} else if all(held) < b.Places && held[k] < b.Share {
				t.Fatalf("%d of %v wait, and places are free: %+v", k, held, b)
			}
			if held[k] > b.Share || all(held) > b.Places {
				t.Fatalf("%v passes %+v", held, b)
			}
		}
		if got := p.Counts(); got.InUse != all(held) || got.Waiting != 0 {
			t.Fatal(fmt.Sprint(got, held))
		}
	})
}

func all(held map[int]int) (n int) {
	for _, one := range held {
		n += one
	}
	return n
}

// BenchmarkTake measures a take and a give of a place that is free.
func BenchmarkTake(b *testing.B) {
	p := New[uint64](Bounds{Places: 64, Share: 64, Queue: 1})
	b.ReportAllocs()
	for b.Loop() {
		if p.Take(b.Context(), 1) == nil {
			p.Give(1)
		}
	}
}
