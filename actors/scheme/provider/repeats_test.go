package provider

import (
	"errors"
	"testing"

	"pixd/actors/pix"
)

// TestGuardRemembersAheadOfTime checks that a message which states a time one Window ahead is known for as long as it is
// accepted, whatever other messages come meanwhile.
func TestGuardRemembersAheadOfTime(t *testing.T) {
	const second = pix.Millis(1000)
	s := secret(t, shared)
	for begin := noon; begin < noon+generation; begin += 10 * second {
		now := noon
		g := NewGuard(s, ToEngine, func() pix.Millis { return now }, nil)
		now = begin
		m := vector
		m.Timestamp = (now + generation/2).String()
		end, err := g.Admit(m, s.Sign(m))
		if err != nil {
			t.Fatal(err)
		}
		end(true)
		for ; now <= begin+generation; now += 10 * second {
			if _, err := g.Admit(m, s.Sign(m)); !errors.Is(err, ErrKnown) {
				t.Fatalf("%d s after the start, %d s later: %v", (begin-noon)/second, (now-begin)/second, err)
			}
		}
	}
}

// TestRepeatStatesNoTime checks that the time in a repeated message does not count: it may be old.
func TestRepeatStatesNoTime(t *testing.T) {
	now, stated := noon, 0
	s := secret(t, shared)
	g := NewGuard(s, ToEngine, func() pix.Millis { return now }, func(pix.Millis) { stated++ })
	m := vector
	m.Timestamp = now.String()
	end, err := g.Admit(m, s.Sign(m))
	if err != nil || stated != 1 {
		t.Fatal(err, stated)
	}
	for range 2 {
		now += 100_000
		if _, err := g.Admit(m, s.Sign(m)); err == nil || stated != 1 {
			t.Error(err, stated)
		}
		end(true)
	}
}
