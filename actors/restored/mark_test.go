package restored

import (
	"encoding/hex"
	"testing"

	"pixd/actors/pix"
)

// TestMarkFormat compares marks with their stored bytes, which are for ever.
func TestMarkFormat(t *testing.T) {
	for want, m := range map[string]Mark{
		"a40101020203030404":         {Position: 1, Newest: 2, Taken: 3, Restored: 4},
		"a501010202030304040505":     {Position: 1, Newest: 2, Taken: 3, Restored: 4, Until: 5},
		"a6010102020303040405050601": {Position: 1, Newest: 2, Taken: 3, Restored: 4, Until: 5, Lacks: 1},
	} {
		op, err := m.Op()
		if got := hex.EncodeToString(op.Value); got != want || err != nil {
			t.Errorf("%+v is %s, want %s; %v", m, got, want, err)
		}
	}
}

// TestMarkString checks what a mark says of where the journal comes from.
func TestMarkString(t *testing.T) {
	at := pix.Millis(1_800_000_000_000)
	for want, m := range map[string]Mark{
		"restored from a snapshot of 2027-01-15T08:00:00.000Z":                                     {Taken: at},
		"cut at 2027-01-15T08:00:00.001Z":                                                          {Until: at + 1},
		"restored from a snapshot of 2027-01-15T08:00:00.000Z and cut at 2027-01-15T08:00:00.001Z": {Taken: at, Until: at + 1},
	} {
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMarkFrom checks since when something may be missing: since the journal's end, or since the snapshot or the cut where
// that is earlier.
func TestMarkFrom(t *testing.T) {
	for _, c := range []struct {
		m    Mark
		want pix.Millis
	}{
		{Mark{Newest: 5, Taken: 7}, 5},
		{Mark{Newest: 7, Taken: 5}, 5},
		{Mark{Newest: 4, Until: 6}, 4},
		{Mark{Newest: 7, Taken: 8, Until: 6}, 6},
		{Mark{Taken: 7}, 7}, // an empty journal
	} {
		if got := c.m.From(); got != c.want {
			t.Errorf("%+v: from %d, want %d", c.m, got, c.want)
		}
		later := Mark{Newest: 100, Taken: 101} // of a copy of that journal, which has written on
		if later.Join(&c.m); later.From() != c.want {
			t.Errorf("a copy of %+v, %+v: from %d, want %d", c.m, later, later.From(), c.want)
		}
	}
}
