package webhook

import (
	"testing"

	"pixd/actors/layout"
)

// TestInboxEarliest checks that of several new rows of one subscription the earliest is kept,
// whatever the order in which they came: from a later one on the machine would miss the others.
func TestInboxEarliest(t *testing.T) {
	rows := []layout.Pending{
		{Target: target(1), Due: t0 + 1, Sequence: 5},
		{Target: target(1), Due: t0, Sequence: 7},
		{Target: target(1), Due: t0, Sequence: 6},
		{Target: target(1), Due: t0, Sequence: 9},
		{Target: target(1), Due: t0 + 2, Sequence: 1},
		{Target: target(2), Due: t0 - 1, Sequence: 2},
	}
	for first := range rows {
		var i Inbox
		for n := range rows {
			i.add(rows[(first+n)%len(rows)])
		}
		if got := i.wake[target(1)]; got != rows[2] || i.wake[target(2)] != rows[5] || len(i.wake) != 2 {
			t.Errorf("from %d on: %+v", first, i.wake)
		}
	}
}
