package overload

import (
	"testing"
	"time"
)

// TestDiskBeforeJournal checks that a nearly full disk is the reason which is told where the journal does not answer either.
func TestDiskBeforeJournal(t *testing.T) {
	c := newClosable()
	c.free, c.submitted = 9, 1
	if why := c.after(commitLimit + time.Second); why != ClosedDisk {
		t.Error(why)
	}
	c.free = 100
	if why := c.after(2 * diskEvery); why != ClosedStalled {
		t.Error(why)
	}
}
