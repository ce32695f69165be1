package fair

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// lined has waiters wait for a place one after the other, by their names' first letters, which are
// the users. The function that it returns tells who has got a place since it was last called.
func lined(t *testing.T, p *Pool[byte], waiters ...string) (served func() []string) {
	got := make(chan string, len(waiters))
	for _, name := range waiters {
		go func() {
			if err := p.Take(t.Context(), name[0]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got <- name
		}()
		synctest.Wait()
	}
	return func() (all []string) {
		for synctest.Wait(); len(got) > 0; {
			all = append(all, <-got)
		}
		return all
	}
}

// TestOldestFirst checks that of one user's waiters the one that has waited longest is served first,
// also beside others.
func TestOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[byte](Bounds{Places: 1, Share: 1, Queue: 10})
		must(t, p.Take(t.Context(), 'a'))
		served := lined(t, p, "a1", "a2", "b1", "a3", "b2")
		var all []string
		for holder := byte('a'); len(all) < 5; holder = all[len(all)-1][0] {
			p.Give(holder)
			got := served()
			if len(got) != 1 {
				t.Fatalf("after %v: %v", all, got)
			}
			all = append(all, got...)
		}
		if want := []string{"b1", "a1", "b2", "a2", "a3"}; !slices.Equal(all, want) {
			t.Errorf("served %v, want %v", all, want)
		}
	})
}

// TestTurnsWithinTheShare checks that a user which has got a place, and may have more of its share,
// is behind the others for its next one.
func TestTurnsWithinTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[byte](Bounds{Places: 4, Share: 4, Queue: 10})
		for range 4 {
			must(t, p.Take(t.Context(), 'x'))
		}
		served := lined(t, p, "a1", "a2", "a3", "b1", "b2", "c1")
		for n, want := range []string{"a1", "b1", "c1", "a2"} {
			if p.Give('x'); !slices.Equal(served(), []string{want}) {
				t.Errorf("place %d is not for %s", n+1, want)
			}
		}
		for _, c := range []struct {
			from byte
			want string
		}{{'a', "b2"}, {'c', "a3"}} {
			if p.Give(c.from); !slices.Equal(served(), []string{c.want}) {
				t.Errorf("the place of %c is not for %s", c.from, c.want)
			}
		}
	})
}

// TestRefusedIsForgotten checks that a user who was refused at once, or whose wait ended, takes no
// memory.
func TestRefusedIsForgotten(t *testing.T) {
	p := New[int](Bounds{Places: 1, Share: 1})
	must(t, p.Take(t.Context(), 0))
	for k := range 100 {
		if err := p.Take(t.Context(), k+1); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	p.queue = 1
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Take(ended, 200); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := p.Counts(); len(p.line.users) != 1 || p.line.turns.Len() != 0 || got != (Counts{InUse: 1, Refused: 101}) {
		t.Errorf("%d users are remembered, %d have turns: %+v", len(p.line.users), p.line.turns.Len(), got)
	}
}
