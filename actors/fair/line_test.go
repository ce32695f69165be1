package fair

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLineTakesTurns checks that users take turns, that one whose share is used up waits aside and
// comes back at the end of the turns, and that the items of one user keep their order.
func TestLineTakesTurns(t *testing.T) {
	l := NewLine[string, int](10, 2)
	for n, k := range []string{"a", "a", "b", "c", "a", "c"} {
		l.Add(k, n)
	}
	l.Begin("b")
	l.Begin("b")
	if !l.Shared("b") || l.Shared("a") || l.Full() {
		t.Error("b alone has its share")
	}
	var order []int
	next := func(n int) {
		for range n {
			_, item, ok := l.Next()
			if !ok {
				item = -1
			}
			order = append(order, item)
		}
	}
	next(2)
	l.End("b")
	next(5)
	if want := []int{0, 3, 1, 5, 2, 4, -1}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if inUse, waiting := l.Of("b"); inUse != 1 || waiting != 0 || l.InUse() != 1 || l.Waiting() != 0 {
		t.Errorf("b has %d places, and %d items wait", inUse, waiting)
	}
}

// TestLineOfAny compares a line with a simple model of it: each user's queue, how many places each
// has, and the order of the turns.
func TestLineOfAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places, share := rapid.IntRange(1, 6).Draw(t, "places"), rapid.IntRange(1, 3).Draw(t, "share")
		l := NewLine[int, int](places, share)
		inUse, queues, handles := map[int]int{}, map[int][]int{}, map[int]Place[int, int]{}
		var turns []int
		update := func(k int) {
			takes := len(queues[k]) > 0 && inUse[k] < share
			if at := slices.Index(turns, k); takes && at < 0 {
				turns = append(turns, k)
			} else if !takes && at >= 0 {
				turns = slices.Delete(turns, at, at+1)
			}
		}
		for n := range rapid.IntRange(1, 100).Draw(t, "steps") {
			k := rapid.IntRange(1, 4).Draw(t, "user")
			switch rapid.SampledFrom([]string{"add", "next", "remove", "begin", "end"}).Draw(t, "step") {
			case "add":
				handles[n], queues[k] = l.Add(k, n), append(queues[k], n)
			case "begin":
				l.Begin(k)
				inUse[k]++
			case "end":
				if inUse[k] > 0 {
					l.End(k)
					inUse[k]--
				}
			case "remove":
				if n := len(queues[k]); n > 0 {
					at := rapid.IntRange(0, n-1).Draw(t, "item")
					l.Remove(handles[queues[k][at]])
					queues[k] = slices.Delete(queues[k], at, at+1)
				}
			case "next":
				user, item, ok := l.Next()
				if ok != (len(turns) > 0) || ok && (user != turns[0] || item != queues[user][0]) {
					t.Fatalf("next is %d of %d, %v; turns %v", item, user, ok, turns)
				}
				if k = user; ok {
					queues[k], turns = queues[k][1:], append(turns[1:], k)
				}
			}
			update(k)
			expectLine(t, &l, places, inUse, queues)
		}
	})
}

// expectLine compares a line's figures, and the users that it remembers.
func expectLine(t *rapid.T, l *Line[int, int], places int, inUse map[int]int, queues map[int][]int) {
	all, waiting, users := 0, 0, 0
	for k := range 5 {
		if got, items := l.Of(k); got != inUse[k] || items != len(queues[k]) {
			t.Fatalf("user %d has %d places and %d items", k, got, items)
		}
		if inUse[k]+len(queues[k]) > 0 {
			users++
		}
		all, waiting = all+inUse[k], waiting+len(queues[k])
	}
	if l.InUse() != all || l.Waiting() != waiting || len(l.users) != users || l.Full() != (all >= places) {
		t.Fatalf("%d in use, %d wait, %d users", l.InUse(), l.Waiting(), len(l.users))
	}
}
