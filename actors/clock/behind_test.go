package clock

import "testing"

// TestWallOfAClockBehind checks that the wall clock is compared with engine time and not with the stamps that are ahead of it.
func TestWallOfAClockBehind(t *testing.T) {
	b := newBench(noon + hour)
	if s := b.clock.State(); s.Wall != 0 || s.Behind != hour {
		t.Errorf("%+v", s)
	}
}
