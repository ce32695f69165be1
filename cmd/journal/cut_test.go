package journal_test

import (
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/wal"
)

// TestCutBringsClaimsBack cuts a journal on a day whose claims were dropped since: those of the days that
// count then are back, and no others.
func TestCutBringsClaimsBack(t *testing.T) {
	disk := dated(t, 9)
	s := openJournal(t, disk)
	lo, hi := layout.IdempotencyBefore(20_006) // the newest record is of day 20 008
	if err := s.WriteRows(wal.Local, wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: hi}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := verifyOn(disk); err != nil {
		t.Fatal(err)
	}
	c, err := journal.CutFolder(journal.CutOptions{
		DataDir: "data", To: "cut", Until: 20_005*oneDay - 1, FS: disk, Now: time.Now(), TempDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Cut.Time != int64(20_004*oneDay) || pix.Millis(c.Before.Time) != 20_008*oneDay {
		t.Errorf("%+v", c.Cut)
	}
	cut, err := wal.Open(wal.Options{Dir: "cut/" + journal.Folder, FS: disk, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for day := range uint16(9) {
		_, got, err := cut.Get(layout.IdempotencyKey(20_000+day, 1, [16]byte{1}))
		if want := day >= 2 && day <= 4; got != want || err != nil {
			t.Errorf("day %d: a claim: %v, want %v; %v", day, got, want, err)
		}
	}
	if err := cut.Close(); err != nil {
		t.Fatal(err)
	}
}
