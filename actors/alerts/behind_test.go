package alerts

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestPagesOfSeveralInstants checks that pages of alerts follow each other without a gap or a repeat, in either order.
func TestPagesOfSeveralInstants(t *testing.T) {
	s := openBook(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	m := silent()
	m.Open(s, engineTime())
	var ops []wal.Op
	for at := range pix.Millis(9) {
		ops = append(ops, m.Row(7, ledger.Alert{Kind: ledger.AlertLate, Message: "late"}, 1000+at))
	}
	s.Append(&wal.Entry{Ops: ops})
	settled(t, s)
	for _, newest := range []bool{false, true} {
		seen := map[string]bool{}
		for after, n := "", 0; n == 0 || after != "" && n < 9; n++ {
			all, next, err := m.Read(0, newest, after, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				if seen[a.ID] {
					t.Errorf("newest %v: %s twice", newest, a.ID)
				}
				seen[a.ID] = true
			}
			after = next
		}
		if len(seen) != 9 {
			t.Errorf("newest %v: %d alerts", newest, len(seen))
		}
	}
}

// TestAlertsOfAClockBehind checks that an alert has a stamp that is never earlier than the journal's newest record, and that
// the age at which alerts are dropped counts by engine time.
func TestAlertsOfAClockBehind(t *testing.T) {
	s := openBook(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	m, began := silent(), now()
	floor := began + 2*pix.Millis(Kept/time.Millisecond)
	c := clock.New(clock.Sources{Wall: now, Elapsed: now}, floor)
	c.Accept()
	m.Open(s, c)
	m.RaiseGeneral("damage", "a block")
	s.Append(&wal.Entry{Ops: []wal.Op{m.Row(7, ledger.Alert{Kind: ledger.AlertLate, Message: "late"}, began)}})
	settled(t, s)
	if err := m.DropOld(); err != nil {
		t.Fatal(err)
	}
	all, _, err := m.Read(0, false, "", 10)
	if err != nil || len(all) != 2 || all[0].At != began || all[1].At < floor {
		t.Errorf("%+v, %v", all, err)
	}
}
