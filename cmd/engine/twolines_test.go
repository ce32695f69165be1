package engine

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/cmd/machine"
	"pixd/snapshot"
)

// TestTwoLines restores one snapshot twice, as an operator does who took the wrong folder at
// first. Both engines write to one folder of snapshots. Each has an epoch of its own, and so the
// snapshots of the second are the newest, although the first had come further.
func TestTwoLines(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	shared := func(c *Config) { c.SnapshotDir, c.SnapshotKeep = "snapshots", 2 }
	w := newHarness(t, fs, shared)
	made := w.snap()
	w.stop()
	file := "kept/" + fs.PathBase(made) // out of retention's reach
	if err := fs.MkdirAll("kept", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fs.Rename(made, file); err != nil {
		t.Fatal(err)
	}
	for epoch, accounts := range []int{6, 1} {
		dir := string(rune('a' + epoch))
		restoredAt(t, fs, file, dir)
		w = serveHarness(t, fs, from(dir), shared)
		for range accounts {
			w.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`)
		}
		for range 2 { // the second one removes what is too many
			w.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`)
			path := w.snap()
			if s, err := snapshot.Open(fs, path); err != nil || s.Manifest.Epoch != uint64(epoch+1) {
				t.Fatalf("epoch %d: %+v, %v", epoch+1, s, err)
			}
			all, err := w.snapshots.List()
			if err != nil || all[0].Path != path {
				t.Errorf("made %s: %v %+v", path, err, all)
			}
		}
		w.stop()
	}
	w = serveHarness(t, fs, shared, func(c *Config) { c.SnapshotKeep = 1 }) // the original again, whose snapshots count as the oldest
	path := w.snap()
	if _, err := fs.Stat(path); err != nil {
		t.Errorf("a snapshot was removed as soon as it was made: %v", err)
	}
}

// TestGapEndsWithTheJournal accepts a gap while the clock is an hour behind the snapshot: no case
// of the snapshot may count as one from after the gap.
func TestGapEndsWithTheJournal(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	v := restoredAt(t, fs, file, "new")
	w := serveHarness(t, fs, from("new"), func(c *Config) {
		real := machine.Clocks()
		c.Clocks = &clock.Sources{Wall: func() pix.Millis { return real.Wall() - 3_600_000 }, Elapsed: real.Elapsed}
	})
	if _, end, err := restored.Gap(w.Store); err != nil || int64(end) < v.Found.Time {
		t.Errorf("the gap ends at %v, and the snapshot's newest batch is of %v: %v", end, pix.Millis(v.Found.Time), err)
	}
}
