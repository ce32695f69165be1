package alarms

import (
	"testing"

	"pixd/actors/pix"
)

// TestAlarms checks that each thing has its newest alarm.
func TestAlarms(t *testing.T) {
	var a Alarms[int]
	for n := range 50 {
		a.Set(n, pix.Millis(100-n))
		a.Set(n, pix.Millis(1+n*7%50))
		if n%5 == 0 {
			a.Set(n, 0)
			a.Set(n, 0)
		}
	}
	var last pix.Millis
	rung := 0
	for now := pix.Millis(0); now <= 50; now++ {
		for n, rings := a.Ring(now); rings; n, rings = a.Ring(now) {
			if want := pix.Millis(1 + n*7%50); now != want || n%5 == 0 || now < last {
				t.Errorf("%d rings at %d, want %d", n, now, want)
			}
			rung, last = rung+1, now
		}
	}
	if rung != 40 || len(a.heap.all) != 0 || len(a.heap.index) != 0 {
		t.Errorf("%d rang", rung)
	}
}

// TestDrop checks that the earliest of many alarms is not dropped, and that those which are left ring
// in order, each once.
func TestDrop(t *testing.T) {
	var a Alarms[int]
	for n := range 101 {
		a.Set(n, pix.Millis(1+n*37%101))
	}
	dropped := map[int]bool{}
	for a.Len() > 50 {
		dropped[a.Drop()] = true
	}
	if len(dropped) != 51 || dropped[0] {
		t.Errorf("%d are dropped, the earliest: %v", len(dropped), dropped[0])
	}
	var last pix.Millis
	for n, rings := a.Ring(200); rings; n, rings = a.Ring(200) {
		if at := pix.Millis(1 + n*37%101); at < last || dropped[n] {
			t.Errorf("%d rings after %d, dropped: %v", at, last, dropped[n])
		} else {
			last = at
		}
	}
	if a.Len() != 0 || len(a.heap.index) != 0 {
		t.Errorf("%d are left", a.Len())
	}
}
