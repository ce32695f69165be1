package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/catchup"
	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/snapshot"
	"pixd/wal"
)

// TestCopiesForgetACatchUp checks that a journal which was cut while it was catching up begins anew: the place where that
// was is of movements that the copy may lack.
func TestCopiesForgetACatchUp(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	restoredAt(t, fs, file, "new")
	store, err := wal.Open(wal.Options{Dir: "new/journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	_, begun := catchup.Begin(5)
	if err := errors.Join(store.WriteRows(wal.Shared, begun), store.Close()); err != nil {
		t.Fatal(err)
	}
	cut := journal.CutOptions{
		DataDir: "new", To: "newer", Until: pix.Millis(time.Now().UnixMilli()), FS: fs, Now: time.Now(), TempDir: t.TempDir(),
	}
	if _, err := journal.CutFolder(cut); err != nil {
		t.Fatal(err)
	}
	if store, err = wal.Open(wal.Options{Dir: "newer/journal", FS: fs, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if s, err := catchup.Find(store); err != nil || s != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestRestoreCutsNothingOff checks that an instant behind the end of a snapshot's journal is no instant of the restored
// one: what has happened between the snapshot and that instant is missing, too.
func TestRestoreCutsNothingOff(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	v, err := journal.RestoreSnapshot(journal.SnapshotOptions{
		File: file, DataDir: "new", FS: fs, Now: time.Now(), TempDir: t.TempDir(), Until: pix.Millis(time.Now().Add(time.Hour).UnixMilli()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if v.Cut.Batches != 0 || v.Mark.Until != 0 || v.Mark.Since() != v.Mark.Taken {
		t.Errorf("%+v", v.Mark)
	}
}

// TestCutKeepsAlertsOfTheInstant checks that an alert of the very instant of a cut stays.
func TestCutKeepsAlertsOfTheInstant(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(5000, "")
	settled(t, w.Store)
	w.Config.alerts.RaiseGeneral("clock", "an alert")
	var at pix.Millis
	w.becomes("listed", soon, func() bool {
		_, got := w.operate("GET", "/admin/alerts", "")
		if i := strings.Index(got, `"created_at":"`); i >= 0 {
			when, err := time.Parse("2006-01-02T15:04:05.000Z", got[i+14:i+38])
			if err != nil {
				t.Fatal(err, got)
			}
			at = pix.Millis(when.UnixMilli())
		}
		return at != 0
	})
	w.stop()
	cutAt(t, fs, "cut", at)
	again := w.at(serveHarness(t, fs, from("cut")))
	if _, got := again.operate("GET", "/admin/alerts", ""); !strings.Contains(got, "an alert") {
		t.Error(got)
	}
}

// TestKilledPackerLeavesNothing checks that what a packer has left that was killed goes.
func TestKilledPackerLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newHarness(t, nil, func(c *Config) {
		c.DataDir, c.PackCommand = dir, []string{"-test.list", "^TestKilledPackerLeavesNothing$"}
	})
	half := filepath.Join(dir, "snapshots", "pixd-20260131T120000Z-7.snap.tmp")
	if err := errors.Join(os.MkdirAll(filepath.Dir(half), 0o700), os.WriteFile(half, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if status, got := w.operate("POST", "/admin/snapshots", ""); status != 202 {
		t.Fatal(status, got)
	}
	if last := w.finished(); last.Status != "failed" {
		t.Errorf("%+v", last)
	}
	if _, failed := w.snapshots.Counts(); failed != 1 {
		t.Errorf("%d failed", failed)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("it is left")
	}
}

// TestVerifiedTotals checks that the totals of a verification are those of the snapshot, each at its place.
func TestVerifiedTotals(t *testing.T) {
	t.Parallel()
	fs := newHeld()
	w := newHarness(t, fs)
	p := w.receives(20_000, "")
	w.reports(p, 7_000)
	file := w.snap()
	s, err := snapshot.Open(fs, file)
	if err != nil {
		t.Fatal(err)
	}
	m, last := s.Manifest, w.verified(file)
	if last.Totals == nil || m.MEDHeld.Sign() == 0 || m.MEDHeld.Cmp(m.Pending) == 0 {
		t.Fatalf("%+v, %+v", last, m)
	}
	got := last.Totals
	if got.Balance.Cmp(m.Balance) != 0 || got.Pending.Cmp(m.Pending) != 0 || got.MEDHeld.Cmp(m.MEDHeld) != 0 ||
		got.Accounts != m.Accounts || got.Position != m.Position() {
		t.Errorf("%+v of %+v", got, m)
	}
}
