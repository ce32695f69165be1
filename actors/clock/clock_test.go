package clock

import (
	"strings"
	"testing"

	"pixd/actors/pix"
)

// bench is a clock whose wall clock and elapsed time a test sets.
type bench struct {
	wall, elapsed pix.Millis
	clock         *Clock
}

const noon = pix.Millis(1772366400000)

func newBench(newest pix.Millis) *bench {
	b := &bench{wall: noon, elapsed: 5_000}
	b.clock = New(b.sources(), newest)
	return b
}

func (b *bench) sources() Sources {
	return Sources{Wall: func() pix.Millis { return b.wall }, Elapsed: func() pix.Millis { return b.elapsed }}
}

// pass advances the wall clock and the elapsed time by ms.
func (b *bench) pass(ms pix.Millis) { b.wall, b.elapsed = b.wall+ms, b.elapsed+ms }

const hour = pix.Millis(3_600_000)

// TestWallJumps checks that, when the wall clock jumps, engine time still advances by the
// elapsed time only, and that a jump raises one alert.
func TestWallJumps(t *testing.T) {
	b := newBench(0)
	b.clock.Stated(noon)
	for i, jump := range []pix.Millis{4 * hour, -8 * hour, 25 * hour} {
		before := b.clock.Now()
		b.wall += jump
		if b.clock.Now() != before {
			t.Errorf("a jump of the wall clock by %d moved engine time", jump)
		}
		b.pass(1_000)
		if got := b.clock.Now() - before; got != 1_000 {
			t.Errorf("%d ms of engine time in a second", got)
		}
		alert := b.clock.Look()
		if (alert != "") != (i == 0) {
			t.Errorf("look %d: %q", i, alert)
		}
		if b.clock.Doubted() {
			t.Error("a jump of the wall clock is no doubt")
		}
	}
	b.wall = b.clock.Now() + agreement
	if b.clock.Look() != "" {
		t.Error("a minute apart is together")
	}
	b.wall++
	if alert := b.clock.Look(); !strings.Contains(alert, "1m0s ahead of engine time") {
		t.Errorf("a second jump: %q", alert)
	}
	b.wall = b.clock.Now() - 2*hour
	b.clock.Look()
	b.wall = b.clock.Now()
	b.clock.Look()
	b.wall -= 2 * hour
	if alert := b.clock.Look(); !strings.Contains(alert, "2h0m0s behind engine time") {
		t.Errorf("a third: %q", alert)
	}
}

// TestDoubt checks that engine time is doubted from the start until the scheme states a
// time within a minute of it, and again whenever the two differ by more.
func TestDoubt(t *testing.T) {
	b := newBench(0)
	if !b.clock.Doubted() {
		t.Fatal("a start is not doubted")
	}
	for _, step := range []struct {
		differs pix.Millis
		doubted bool
		alert   bool
	}{
		{agreement + 1, true, true},
		{agreement + 2, true, false},
		{agreement, false, false},
		{-agreement, false, false},
		{-agreement - 1, true, true},
		{-5 * hour, true, false},
		{0, false, false},
		{4 * hour, true, true},
	} {
		b.pass(10)
		alert := b.clock.Stated(b.clock.Now() + step.differs)
		if b.clock.Doubted() != step.doubted || (alert != "") != step.alert {
			t.Errorf("the scheme is %d ahead: doubted %v, alert %q", step.differs, b.clock.Doubted(), alert)
		}
		if s := b.clock.State(); s.Scheme == nil || *s.Scheme != step.differs || s.Doubted != step.doubted || s.Now != b.clock.Now() {
			t.Errorf("the scheme is %d ahead: state %+v", step.differs, s)
		}
	}
}

// TestAccept checks that Accept ends the doubt until the difference to the scheme's time
// changes.
func TestAccept(t *testing.T) {
	b := newBench(0)
	b.clock.Accept()
	if b.clock.Doubted() {
		t.Fatal("accepted at a start, and doubted")
	}
	b.clock.Stated(b.clock.Now() + 4*hour)
	if !b.clock.Doubted() {
		t.Fatal("what was accepted before the scheme spoke covers any difference")
	}
	b.clock.Accept()
	for differs, doubted := range map[pix.Millis]bool{
		4*hour - agreement: false, 4*hour + agreement: false, 4*hour + agreement + 1: true, 3 * hour: true, 0: false,
	} {
		b.clock.Stated(b.clock.Now() + differs)
		if b.clock.Doubted() != doubted {
			t.Errorf("4 h accepted, %d stated: doubted %v", differs, b.clock.Doubted())
		}
	}
}

// TestBehind checks the clock where the journal's newest record is ahead of engine time:
// stamps have that record's time, and engine time is doubted until it has passed that time
// or an operator accepts it.
func TestBehind(t *testing.T) {
	b := newBench(noon + 4*hour)
	b.clock.Stated(noon)
	r := b.clock.Read()
	if !r.Doubted || r.Clock != noon || r.Time != noon+4*hour || b.clock.Stamp() != noon+4*hour || b.clock.Behind() != 4*hour {
		t.Errorf("behind: %+v, %d", r, b.clock.Behind())
	}
	b.pass(4 * hour)
	if r = b.clock.Read(); r.Doubted || r.Clock != r.Time || b.clock.Behind() != 0 {
		t.Errorf("caught up: %+v", r)
	}
	b = newBench(noon + 4*hour)
	b.clock.Accept()
	if r = b.clock.Read(); r.Doubted || r.Time != noon+4*hour || r.Clock != noon {
		t.Errorf("accepted: %+v", r)
	}
}

// TestAfter checks that every stamp is later than an instant that the caller names, and that engine time is doubted until it
// has reached that instant.
func TestAfter(t *testing.T) {
	b := newBench(0)
	b.clock.Stated(noon)
	b.clock.After(noon)
	if r := b.clock.Read(); b.clock.Stamp() != noon+1 || r.Time != noon+1 || r.Clock != noon || r.Doubted || b.clock.Behind() != 0 {
		t.Errorf("at the instant: stamp %v, reading %+v, behind %v", b.clock.Stamp(), r, b.clock.Behind())
	}
	b.pass(2)
	if r := b.clock.Read(); b.clock.Stamp() != noon+2 || r.Time != noon+2 || r.Doubted {
		t.Errorf("after it: stamp %v, reading %+v", b.clock.Stamp(), r)
	}
	b.clock.After(noon + 10)
	if r := b.clock.Read(); b.clock.Stamp() != noon+11 || r.Time != noon+11 || !r.Doubted || b.clock.Behind() != 8 {
		t.Errorf("before it: stamp %v, reading %+v, behind %v", b.clock.Stamp(), r, b.clock.Behind())
	}
	b.clock.Accept()
	if b.clock.Doubted() {
		t.Error("doubted although an operator has accepted the clock")
	}
}
