package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/httpapi/admin"
)

// check is the verification of a snapshot in the API's answer.
type check struct {
	File, Status string
	Stage        *string
	Totals       *admin.SnapshotTotals
	Done         int64   `json:"bytes_done"`
	Total        int64   `json:"bytes_total"`
	Records      uint64  `json:"records_done"`
	FinishedAt   *string `json:"finished_at"`
	Error        *string
}

// checks returns the verification that runs and the one that ended last.
func (w *harness) checks() (running, last *check) {
	w.t.Helper()
	var l struct{ Verifying, Verified *check }
	if status, got := w.operate("GET", "/admin/snapshots", ""); status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return l.Verifying, l.Verified
}

// verifies begins to verify the snapshot in a file.
func (w *harness) verifies(file string) (int, string) {
	w.t.Helper()
	return w.operate("POST", "/admin/snapshots/"+filepath.Base(file)+"/verify", "")
}

// verified verifies the snapshot in a file, and returns what came of it.
func (w *harness) verified(file string) *check {
	w.t.Helper()
	if status, got := w.verifies(file); status != 202 || !strings.Contains(got, `"status":"running"`) {
		w.t.Fatalf("%d %s", status, got)
	}
	w.becomes("verified", 20*time.Second, func() bool { running, last := w.checks(); return running == nil && last != nil })
	_, last := w.checks()
	return last
}

// TestSnapshotVerifiedInEngine verifies snapshots in a running engine, an increment with what it needs too:
// one that is as it should be, and one that was damaged since. Nothing is left in the folder.
func TestSnapshotVerifiedInEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newHarness(t, nil, func(c *Config) { c.DataDir, c.MinFreeDisk = dir, 1 })
	full := w.snap()
	w.receives(5000, "")
	upon := w.snapUpon(filepath.Base(full))
	for _, file := range []string{full, upon} {
		last := w.verified(file)
		if last.File != filepath.Base(file) || last.Status != "passed" || last.Stage != nil || last.FinishedAt == nil || last.Error != nil || last.Totals == nil {
			t.Fatalf("%+v", last)
		}
		if s := last.Totals; s.Accounts != 1 || s.Balance.Int64() < 1_000_000 || s.Pending.Int64() != 0 || s.Records == 0 || s.Rows == 0 || s.Position == 0 || last.Done != last.Total || last.Total == 0 || last.Records == 0 {
			t.Errorf("%+v of %+v", s, last)
		}
	}
	if _, last := w.checks(); last.Totals.Balance.Int64() != 1_005_000 {
		t.Errorf("%+v", last.Totals)
	}
	b, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(full, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{full, upon} {
		if last := w.verified(file); last.Status != "failed" || last.Totals != nil || !strings.Contains(*last.Error, "damaged") {
			t.Errorf("%+v", last)
		}
	}
	for _, name := range []string{"pixd-20260131T120000Z-7.snap", "x", "%2e%2e", "..%2f..%2fadmin.token", filepath.Base(full) + ".tmp"} {
		if status, got := w.operate("POST", "/admin/snapshots/"+name+"/verify", ""); status != 404 {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	w.becomes("removed", soon, func() bool {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(full), "*"))
		return err == nil && len(left) == 2
	})
}

// held is a file system on which no file whose path has a word in it is made until it is let go. The test says how
// much of its disk is free.
type held struct {
	vfs.FS
	at    atomic.Pointer[hold]
	free  atomic.Uint64
	begun chan bool // gets true when a file has to wait
}

// hold is a word, and a channel that is closed once files with it in their paths may be made.
type hold struct {
	word string
	over chan struct{}
}

func newHeld() *held {
	h := &held{begun: make(chan bool, 100)}
	h.free.Store(1 << 40)
	h.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if at := h.at.Load(); at != nil && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, at.word) {
			h.begun <- true
			<-at.over
		}
		return nil
	}))
	return h
}

func (h *held) hold(word string) { h.at.Store(&hold{word, make(chan struct{})}) }

// goOn lets all go.
func (h *held) goOn() { close(h.at.Swap(nil).over) }

// GetDiskUsage implements vfs.FS.
func (h *held) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: h.free.Load()}, nil
}

// TestSnapshotVerifyAlone checks that one snapshot is verified at a time and none while one is made, and that
// a snapshot which is made meanwhile removes none that the verification may need.
func TestSnapshotVerifyAlone(t *testing.T) {
	t.Parallel()
	fs := newHeld()
	w := newHarness(t, fs, func(c *Config) { c.SnapshotKeep = 1 })
	file := w.snap()
	fs.hold(".unpacked")
	if status, got := w.verifies(file); status != 202 {
		t.Fatalf("%d %s", status, got)
	}
	<-fs.begun
	if status, got := w.verifies(file); status != 409 || !strings.Contains(got, "a snapshot is being verified") {
		t.Errorf("%d %s", status, got)
	}
	if running, last := w.checks(); running == nil || running.Status != "running" || *running.Stage != "checksum" || running.Done != running.Total || last != nil {
		t.Errorf("%+v, %+v", running, last)
	}
	w.receives(5000, "")
	if made := w.snap(); made == "" {
		t.Error("no snapshot was made meanwhile")
	}
	if all, err := w.snapshots.List(); err != nil || len(all) != 2 {
		t.Errorf("the one that is verified was removed: %+v, %v", all, err)
	}
	fs.goOn()
	w.becomes("verified", 20*time.Second, func() bool { running, last := w.checks(); return running == nil && last.Status == "passed" })
	fs.hold("checkpoint")
	w.receives(5000, "")
	if _, err := w.snapshots.Start(""); err != nil {
		t.Fatal(err)
	}
	<-fs.begun
	if status, got := w.verifies(file); status != 409 || !strings.Contains(got, "a snapshot is under way") {
		t.Errorf("%d %s", status, got)
	}
	fs.goOn()
	w.finished()
	if all, err := w.snapshots.List(); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSnapshotVerifyRoom checks that a snapshot is not verified where its files do not fit beside what must stay free,
// and that its verification is given up where the disk gets full meanwhile.
func TestSnapshotVerifyRoom(t *testing.T) {
	t.Parallel()
	fs := newHeld()
	w := newHarness(t, fs)
	file := w.snap()
	fs.free.Store(1<<30 + 100)
	if status, got := w.verifies(file); status != 503 || !strings.Contains(got, "too little disk is free to verify a snapshot: it may need ") {
		t.Errorf("%d %s", status, got)
	}
	fs.free.Store(1 << 40)
	fs.hold(".unpacked")
	if status, got := w.verifies(file); status != 202 {
		t.Fatalf("%d %s", status, got)
	}
	<-fs.begun
	fs.free.Store(1000)
	time.Sleep(2500 * time.Millisecond) // two looks at the disk
	fs.goOn()
	w.becomes("given up", 20*time.Second, func() bool { running, last := w.checks(); return running == nil && last != nil })
	if _, last := w.checks(); last.Status != "failed" || !strings.Contains(*last.Error, "too little disk is free") {
		t.Errorf("%+v", last)
	}
	fs.free.Store(1 << 40)
}

// TestSnapshotVerifyEnds checks that a verification ends with the engine, and that none begins afterwards.
func TestSnapshotVerifyEnds(t *testing.T) {
	t.Parallel()
	fs := newHeld()
	w := newHarness(t, fs)
	file := w.snap()
	fs.hold(".unpacked")
	if status, got := w.verifies(file); status != 202 {
		t.Fatalf("%d %s", status, got)
	}
	<-fs.begun
	stopped := make(chan bool)
	go func() { w.stop(); close(stopped) }()
	<-w.ending.Done()
	fs.goOn()
	<-stopped
	if running, last := w.snapshots.Checks(); running != nil || last == nil || last.Err != "context canceled" {
		t.Errorf("%+v, %+v", running, last)
	}
	if _, err := w.snapshots.Verify(filepath.Base(file)); err == nil || err.Error() != errNotReady.Error() {
		t.Errorf("after the end: %v", err)
	}
	if names, err := fs.List("data/snapshots"); err != nil || len(names) != 1 {
		t.Errorf("left: %q, %v", names, err)
	}
}
