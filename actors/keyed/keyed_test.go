package keyed

import (
	"sync"
	"testing"
)

func TestMap(t *testing.T) {
	var m Map[string, int]
	if _, ok := m.Get("a"); ok {
		t.Error("an empty map has a")
	}
	m.Set("a", 1)
	m.Set("a", 2)
	if v, ok := m.Get("a"); !ok || v != 2 {
		t.Errorf("a is %d, %v", v, ok)
	}
	if v := m.GetOrMake("a", func() int { return 9 }); v != 2 {
		t.Errorf("a was made again: %d", v)
	}
	if v := m.GetOrMake("b", func() int { return 3 }); v != 3 {
		t.Errorf("b is %d", v)
	}
	sum := 0
	m.Each(func(k string, v int) bool { sum += v; m.Set(k, v+1); return true })
	if v, _ := m.Get("b"); sum != 5 || v != 4 {
		t.Errorf("sum %d, b %d", sum, v)
	}
	m.Delete("b")
	m.Delete("c")
	if v, ok := m.Get("b"); ok {
		t.Errorf("b is still %d", v)
	}
	m.Set("b", 4)
	n := 0
	m.Each(func(string, int) bool { n++; return false })
	if n != 1 {
		t.Errorf("went on to %d entries", n)
	}
}

// TestTogether checks that, when many goroutines call GetOrMake for the same keys, make is
// called once for each key.
func TestTogether(t *testing.T) {
	var m Map[int, *int]
	var wait sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		wait.Go(func() {
			for k := range 1000 {
				m.GetOrMake(k, func() *int { mu.Lock(); made++; mu.Unlock(); return new(int) })
				if _, ok := m.Get(k); !ok {
					t.Errorf("%d is gone", k)
				}
			}
		})
	}
	wait.Wait()
	if made != 1000 {
		t.Errorf("made %d values for 1000 keys", made)
	}
}
