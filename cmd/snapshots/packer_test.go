package snapshots

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/goccy/go-json"

	"pixd/cmd/journal"
	"pixd/httpapi/admin"
)

// smallDisk is a file system with 1,000 free bytes.
type smallDisk struct{ vfs.FS }

// GetDiskUsage implements vfs.FS.
func (smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1000}, nil
}

// TestSnapshotStep checks that packing ends where the engine ends or the disk gets full.
func TestSnapshotStep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Maker{Options: Options{FS: smallDisk{vfs.NewMem()}, Dir: "snaps", MinFree: 1000, Ending: ctx}, run: &admin.SnapshotRun{}}
	tell := s.packing(ctx)
	step := func(done, total int64) error {
		return tell(journal.Packing{Stage: "packing", Done: done, Total: total})
	}
	if err := step(roomEvery, 2*roomEvery); err != nil || s.run.Done != roomEvery || s.run.Total != 2*roomEvery {
		t.Errorf("%+v, %v", s.run, err)
	}
	if err := tell(journal.Packing{Stage: "packing", Need: 1}); err == nil || !strings.Contains(err.Error(), "it may need 1 B") || s.run.Done != roomEvery {
		t.Errorf("a snapshot without room for one byte: %v, %+v", err, s.run)
	}
	s.MinFree--
	if err := tell(journal.Packing{Stage: "packing", Need: 1}); err != nil {
		t.Error(err)
	}
	s.MinFree += 2
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

// TestJobUnreadable checks that a process that packs refuses a job that is not whole.
func TestJobUnreadable(t *testing.T) {
	if err := workFor(strings.NewReader("hello\n"), io.Discard); err == nil {
		t.Error("a job that is no JSON was taken")
	}
	if err := workFor(strings.NewReader(`{"Folder":"x"}`), io.Discard); err == nil {
		t.Error("half a job was taken")
	}
	if err := workFor(strings.NewReader("{}\n"), io.Discard); err == nil {
		t.Error("a job that asks for nothing was taken")
	}
}

// TestFollow checks what the engine makes of the other process's reports.
func TestFollow(t *testing.T) {
	var seen []journal.Packing
	tell := func(p journal.Packing) error { seen = append(seen, p); return nil }
	path, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"+`{"Stage":"packing","Done":3,"Total":9}`+"\n"+`{"Path":"/x"}`+"\n"+`{"Err":"late"}`+"\n"), tell)
	if path != "/x" || err != nil || len(seen) != 2 || seen[1] != (journal.Packing{Stage: "packing", Done: 3, Total: 9}) {
		t.Errorf("%q, %v, %+v", path, err, seen)
	}
	if path, err := follow(strings.NewReader(`{"Err":"disk full"}`+"\n"), tell); path != "" || err == nil || err.Error() != "disk full" {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"), tell); path != "" || err != nil {
		t.Errorf("an end without a word: %q, %v", path, err)
	}
	stop := errors.New("stop")
	if _, err := follow(strings.NewReader(`{"Stage":"reading"}`+"\n"), func(journal.Packing) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of tell: %v", err)
	}
}

// TestFollowCheck checks what the engine makes of the reports of a process that verifies.
func TestFollowCheck(t *testing.T) {
	var seen []journal.Progress
	tell := func(p journal.Progress) { seen = append(seen, p) }
	totals, err := followCheck(strings.NewReader(`{"At":{"Stage":"files","Bytes":3,"OfBytes":9}}`+"\n"+`{"At":{"Stage":"records"}}`+"\n"+`{"Totals":{"position":7,"balance":1180591620717411303424}}`+"\n"+`{"Err":"late"}`+"\n"), tell)
	if err != nil || totals.Position != 7 || totals.Balance.String() != "1180591620717411303424" || len(seen) != 2 || seen[0] != (journal.Progress{Stage: "files", Bytes: 3, OfBytes: 9}) {
		t.Errorf("%+v, %v, %+v", totals, err, seen)
	}
	if totals, err := followCheck(strings.NewReader(`{"Err":"it is damaged"}`+"\n"), tell); totals != nil || err == nil || err.Error() != "it is damaged" {
		t.Errorf("%+v, %v", totals, err)
	}
	if totals, err := followCheck(strings.NewReader(`{"At":{"Stage":"files"}}`+"\n"), tell); totals != nil || err != nil {
		t.Errorf("an end without a word: %+v, %v", totals, err)
	}
	if _, err := followCheck(strings.NewReader("hello\n"), tell); err == nil || !strings.Contains(err.Error(), `the process that verifies reports "hello"`) {
		t.Error(err)
	}
}

// TestReportCheck checks that a process which verifies says how that ended.
func TestReportCheck(t *testing.T) {
	var out bytes.Buffer
	missing := filepath.Join(t.TempDir(), "pixd-20260131T120000Z-7.snap")
	if err := (&verifyJob{File: missing}).report(json.NewEncoder(&out)); err != nil {
		t.Fatal(err)
	}
	if totals, err := followCheck(&out, func(journal.Progress) {}); totals != nil || err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%+v, %v", totals, err)
	}
}
