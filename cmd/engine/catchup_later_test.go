package engine

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/wal"
)

// TestCatchUpLaterResumes restores a snapshot with special-return cases, accepts the gap, and catches up at a later
// start: the cases go on without an operator, what was refunded in the gap is not refunded again, and a report that
// comes then waits for nobody. A case of which the scheme does not answer goes on at the start after.
func TestCatchUpLaterResumes(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	short := func(c *Config) { c.MEDDeadline, c.MEDAnalysis = 2*time.Second, 9*time.Second }
	w := newHarness(t, fs, short)
	p, other, third := w.receives(50_000, ""), w.receives(40_000, ""), w.receives(30_000, "")
	_, back := w.reports(p, 50_000)
	_, owed := w.reports(other, 40_000)
	file := w.snap()
	w.analysed(back.ID, "AGREED")
	w.caseIs(back.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	w.stop()
	restoredAt(t, fs, file, "new")
	without := w.at(serveHarness(t, fs, short, from("new")))
	without.becomes("their time is over", 10*time.Second, func() bool {
		one, other := without.alerts("med_undecided", p.TransactionID)
		return one == 1 && other == 1
	})
	_, late := without.reports(third, 10_000)
	without.reports(third, 20_000)
	for _, id := range []string{back.ID, owed.ID, late.ID} {
		if _, awaits := without.operatorOf(id); !awaits {
			t.Errorf("%s does not wait", id)
		}
	}
	without.stop()

	k := &told{mute: true}
	still := w.at(serveHarness(t, fs, short, backTo("new"), k.between))
	if epoch, end, err := restored.Gap(still.Store); epoch != 1 || end != 0 || err != nil || k.unanswered != mostUnanswered {
		t.Errorf("epoch %d until %v: %v; asked %d times about 4 cases", epoch, end, err, k.unanswered)
	}
	if _, awaits := still.operatorOf(owed.ID); !awaits {
		t.Error("a case went on of which the scheme did not say what was returned")
	}
	still.caseIs(back.ID, "open - 50000 held 0 covered 0 refunded 50000")
	fourth := still.receives(20_000, "")
	_, made := still.reports(fourth, 20_000)
	if _, awaits := still.operatorOf(made.ID); awaits {
		t.Error("a report that came after the catch-up waits")
	}
	still.stop()

	again := w.at(serveHarness(t, fs, short, backTo("new")))
	for _, id := range []string{back.ID, owed.ID, late.ID, made.ID} {
		if _, awaits := again.operatorOf(id); awaits {
			t.Errorf("%s still waits", id)
		}
	}
	if epoch, _, err := restored.Gap(again.Store); epoch != 0 || err != nil {
		t.Errorf("epoch %d: %v", epoch, err)
	}
	again.caseIs(owed.ID, "closed AGREED 40000 held 0 covered 0 refunded 40000")
	again.caseIs(late.ID, "closed AGREED 10000 held 0 covered 0 refunded 10000")
	again.caseIs(made.ID, "closed AGREED 20000 held 0 covered 0 refunded 20000")
	again.caseIs(back.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	again.agrees(140_000)
}

// TestCatchUpLeavesWaiting catches up where cases are not to go on by themselves: a gap was accepted that the movements
// do not reach back to, as by a version that kept no mark of it; and the books differ.
func TestCatchUpLeavesWaiting(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	p := w.receives(50_000, "")
	_, k := w.reports(p, 50_000)
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "new")
	without := w.at(serveHarness(t, fs, from("new")))
	_, gap, err := restored.Gap(without.Store)
	if err != nil || gap == 0 {
		t.Fatal(gap, err)
	}
	if err := without.Store.WriteRows(wal.Shared, wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(restored.MetaUncaught)}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // a snapshot's time is a whole second
	file = without.snap()
	without.stop()
	restoredAt(t, fs, file, "newer")
	restoredAt(t, fs, file, "newest")
	mark := restoredAt(t, fs, file, "marked").Mark
	mark.Taken = gap - 1
	for _, m := range []struct {
		dir           string
		differ, waits bool
	}{
		{"newer", false, true},
		{"newest", true, true},
		{"marked", false, false},
	} {
		var told told
		if m.dir != "newer" {
			rewriteMark(t, fs, m.dir, mark)
		}
		if m.differ {
			told.book = func() (*scheme.Book, error) {
				b, err := told.Scheme.Book(t.Context())
				for i := range b.Accounts {
					b.Accounts[i].Received++
				}
				return &b, err
			}
		}
		again := w.at(serveHarness(t, fs, backTo(m.dir), told.between))
		if _, awaits := again.operatorOf(k.ID); awaits != m.waits || again.raised(alertDiffers) != m.differ {
			t.Errorf("%s: waits %v, the books differ: %v", m.dir, awaits, again.raised(alertDiffers))
		}
		if _, end, err := restored.Gap(again.Store); err != nil || (end != 0) != m.waits {
			t.Errorf("%s: the gap ends at %v, %v", m.dir, end, err)
		}
		again.stop()
	}
}
