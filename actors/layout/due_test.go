package layout

import (
	"testing"
)

// TestDueTable checks that each kind of due row has a Need, and that kinds
// whose payouts a child actor may have carried have NeedsScheme.
func TestDueTable(t *testing.T) {
	all := DueKinds()
	for i, k := range all {
		if k != DueKind(i+1) || k.Need() == 0 || k.InHand() && k.Need() != NeedsScheme {
			t.Errorf("kind %d: %+v", k, dueKinds[k])
		}
	}
	if len(all) != len(dueKinds)-1 || len(Needs()) != 2 {
		t.Errorf("kinds %v, needs %v", all, Needs())
	}
}
