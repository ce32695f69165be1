package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/cmd/snapshots"
)

// fullBeside is a file system on which the data folder's disk gets full when a snapshot is being
// written to another disk, which is slow then.
type fullBeside struct {
	vfs.FS
	full *atomic.Bool
}

// GetDiskUsage implements vfs.FS.
func (f fullBeside) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	if f.full.Load() && strings.HasPrefix(path, "data") {
		return vfs.DiskUsage{AvailBytes: 1000}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40}, nil
}

// Create implements vfs.FS.
func (f fullBeside) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".snap.tmp") {
		f.full.Store(true)
		time.Sleep(2 * snapshots.DiskEvery)
	}
	return f.FS.Create(name, c)
}

// TestSnapshotGivenUp fills the data folder's disk while a snapshot is written to another disk:
// the snapshot is given up, nothing of it is left on either, and an alert says so.
func TestSnapshotGivenUp(t *testing.T) {
	t.Parallel()
	fs := fullBeside{vfs.NewMem(), new(atomic.Bool)}
	w := newHarness(t, fs, func(c *Config) { c.SnapshotDir = "elsewhere" })
	if status, got := w.operate("POST", "/admin/snapshots", ""); status != 202 {
		t.Fatal(status, got)
	}
	w.becomes("given up", 10*time.Second, func() bool { run, last := w.snapshots.Runs(); return run == nil && last != nil })
	const why = "too little disk is free beside a snapshot: data has 1000 B, and 1.0 GiB must stay free"
	if _, last := w.snapshots.Runs(); last.Err != why || last.Path != "" {
		t.Errorf("%+v", last)
	}
	w.hears(snapshots.AlertFailed)
	if _, err := fs.Stat("data/checkpoint"); err == nil {
		t.Error("the copy is left")
	}
	if names, _ := fs.List("elsewhere"); len(names) != 0 {
		t.Errorf("left: %q", names)
	}
}
