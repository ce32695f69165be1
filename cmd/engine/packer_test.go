package engine

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSnapshotLeftovers checks that a start removes what an unfinished snapshot and a verification have left.
func TestSnapshotLeftovers(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	for _, dir := range []string{"data/checkpoint/journal", "data/snapshots/verifying/pixd-verify-1"} {
		if err := fs.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const half = "data/snapshots/pixd-20260131T120000Z-7.snap.tmp"
	replace(t, fs, half, []byte("half"))
	newHarness(t, fs).stop()
	for _, left := range []string{half, "data/checkpoint", "data/snapshots/verifying"} {
		if _, err := fs.Stat(left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

// TestPackerFails gives the engine a program that packs nothing: the snapshot fails, nothing is
// left, and the alert says why.
func TestPackerFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newHarness(t, nil, func(c *Config) { c.DataDir, c.PackCommand = dir, []string{"-test.list", "^TestPackerFails$"} })
	if status, got := w.operate("POST", "/admin/snapshots", ""); status != 202 {
		t.Fatal(status, got)
	}
	if last := w.finished(); last.Status != "failed" || !strings.Contains(last.Err, `the process that packs reports "TestPackerFails"`) {
		t.Errorf("%+v", last)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*")); err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestVerifierFails gives the engine a program that verifies nothing: the verification fails and says why, and
// nothing is left.
func TestVerifierFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newHarness(t, nil, func(c *Config) { c.DataDir, c.MinFreeDisk = dir, 1 })
	file := w.snap()
	w.snapshots.PackCommand = []string{"-test.list", "^TestVerifierFails$"}
	if last := w.verified(file); last.Status != "failed" || !strings.Contains(*last.Error, `the process that verifies reports "TestVerifierFails"`) {
		t.Errorf("%+v", last)
	}
	w.snapshots.PackCommand = []string{"-test.list", "^$"}
	if last := w.verified(file); last.Status != "failed" || !strings.Contains(*last.Error, "the process that verifies") {
		t.Errorf("%+v", last)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*")); err != nil || len(left) != 1 {
		t.Errorf("left %q, %v", left, err)
	}
}
