package engine

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/httpapi/admin"
)

// TestSnapshotStep checks that packing ends where the engine ends or the disk gets full.
func TestSnapshotStep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{Config: Config{FS: smallDisk{vfs.NewMem(), 1000}, SnapshotDir: "snaps", MinFreeDisk: 1000}, ending: ctx}
	s := &snapshots{e: e, run: &admin.SnapshotRun{}}
	tell := s.packing(ctx)
	step := func(done, total int64) error { return tell(Packing{Stage: "packing", Done: done, Total: total}) }
	if err := step(roomEvery, 2*roomEvery); err != nil || s.run.Done != roomEvery || s.run.Total != 2*roomEvery {
		t.Errorf("%+v, %v", s.run, err)
	}
	e.Config.MinFreeDisk++
	if err := step(roomEvery+1, 2*roomEvery); err != nil {
		t.Errorf("the disk is not looked at so often: %v", err)
	}
	if err := step(2*roomEvery, 2*roomEvery); err == nil || !strings.Contains(err.Error(), "too little disk is free") {
		t.Errorf("a disk that gets full: %v", err)
	}
	cancel()
	if err := step(2*roomEvery, 2*roomEvery); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestSnapshotLeftovers checks that a start removes what an unfinished snapshot has left.
func TestSnapshotLeftovers(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	for _, dir := range []string{"data/checkpoint/journal", "data/snapshots"} {
		if err := fs.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const half = "data/snapshots/pixd-20260131T120000Z-7.snap.tmp"
	replace(t, fs, half, []byte("half"))
	newHarness(t, fs).stop()
	for _, left := range []string{half, "data/checkpoint"} {
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
	if err := packFor(strings.NewReader("hello\n"), io.Discard); err == nil {
		t.Error("a job that is no JSON was taken")
	}
	if err := packFor(strings.NewReader(`{"Folder":"x"}`), io.Discard); err == nil {
		t.Error("half a job was taken")
	}
}

// TestFollow checks what the engine makes of the other process's reports.
func TestFollow(t *testing.T) {
	var seen []Packing
	tell := func(p Packing) error { seen = append(seen, p); return nil }
	path, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"+`{"Stage":"packing","Done":3,"Total":9}`+"\n"+`{"Path":"/x"}`+"\n"+`{"Err":"late"}`+"\n"), tell)
	if path != "/x" || err != nil || len(seen) != 2 || seen[1] != (Packing{Stage: "packing", Done: 3, Total: 9}) {
		t.Errorf("%q, %v, %+v", path, err, seen)
	}
	if path, err := follow(strings.NewReader(`{"Err":"disk full"}`+"\n"), tell); path != "" || err == nil || err.Error() != "disk full" {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"), tell); path != "" || err != nil {
		t.Errorf("an end without a word: %q, %v", path, err)
	}
	stop := errors.New("stop")
	if _, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"), func(Packing) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of tell: %v", err)
	}
}
