package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/restored"
	"pixd/cmd/journal"
	"pixd/cmd/snapshots"
	"pixd/snapshot"
	"pixd/wal"
)

// TestVerifySnapshotFindsFlippedBytes flips bytes at 200 random places of a snapshot.
func TestVerifySnapshotFindsFlippedBytes(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	whole := contents(t, fs, file)
	rng := rand.New(rand.NewPCG(5, 6))
	places := 200
	if testing.Short() {
		places = 40
	}
	for range places {
		at := rng.IntN(len(whole))
		b := bytes.Clone(whole)
		b[at] ^= byte(1 + rng.IntN(255))
		replace(t, fs, file, b)
		if _, err := journal.VerifySnapshot(journal.SnapshotOptions{File: file, FS: fs, TempDir: "tmp"}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("byte %d of %d: %v", at, len(whole), err)
		}
		if _, err := journal.RestoreSnapshot(journal.SnapshotOptions{File: file, FS: fs, DataDir: "new"}); err == nil {
			t.Errorf("byte %d of %d: restored", at, len(whole))
		}
	}
	for _, dir := range []string{"new", "tmp"} {
		if names, _ := fs.List(dir); len(names) != 0 {
			t.Errorf("left in %s: %q", dir, names)
		}
	}
	replace(t, fs, file, whole)
	if _, err := journal.VerifySnapshot(journal.SnapshotOptions{File: file, FS: fs, TempDir: t.TempDir()}); err != nil {
		t.Error(err)
	}
}

// TestVerifySnapshotFindsLies checks snapshots whose checksums are all right: the manifest says
// something else than the journal, or the journal's rows are not what its records make.
func TestVerifySnapshotFindsLies(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	s, err := snapshot.Open(fs, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unpack("copy", nil); err != nil {
		t.Fatal(err)
	}
	verdict := func(change func(*snapshot.Manifest)) error {
		m := *s.Manifest
		m.Files = nil
		m.Logs = slices.Clone(m.Logs)
		change(&m)
		made, err := snapshot.Create(fs, snapshot.Contents{Folder: "copy"}, "lies", &m, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = journal.VerifySnapshot(journal.SnapshotOptions{File: made, FS: fs, TempDir: t.TempDir()})
		return err
	}
	for want, change := range map[string]func(*snapshot.Manifest){
		"its balance is":            func(m *snapshot.Manifest) { m.Balance = m.Pending },
		"its pending is":            func(m *snapshot.Manifest) { m.Pending = m.Balance },
		"its med held is":           func(m *snapshot.Manifest) { m.MEDHeld = m.Balance },
		"its number of accounts is": func(m *snapshot.Manifest) { m.Accounts = 2 },
		"its position is":           func(m *snapshot.Manifest) { m.Logs[0].Position++ },
		"its time is":               func(m *snapshot.Manifest) { m.Logs[0].Time = m.Logs[0].Time.Add(time.Millisecond) },
		"its sum is":                func(m *snapshot.Manifest) { m.Logs[0].Sum = "0" },
		"2 journals":                func(m *snapshot.Manifest) { m.Logs = append(m.Logs, m.Logs[0]) },
	} {
		if err := verdict(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := verdict(func(*snapshot.Manifest) {}); err != nil {
		t.Fatal(err)
	}
	store, err := wal.Open(wal.Options{Dir: "copy/journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	var row []byte
	lo := []byte{'s'}
	if err := store.Scan(lo, []byte{'t'}, func(k, _ []byte) (bool, error) { row = slices.Clone(k); return false, nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.WriteRows(wal.Local, wal.Op{Kind: wal.OpDelete, Key: row}), store.Close()); err != nil {
		t.Fatal(err)
	}
	if err := verdict(func(*snapshot.Manifest) {}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a row is missing: %v", err)
	}
}

// TestSnapshotOnFullDisk checks that a snapshot which cannot be written leaves nothing, that the
// engine goes on, and that an alert says so.
func TestSnapshotOnFullDisk(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	var full atomic.Bool
	disk := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "snapshots") {
			return syscall.ENOSPC
		}
		return nil
	}))
	w := newHarness(t, disk)
	w.snap()
	full.Store(true)
	if status, got := w.operate("POST", "/admin/snapshots", ""); status != 202 {
		t.Fatal(status, got)
	}
	if last := w.finished(); last.Status != "failed" || last.Path != "" || !strings.Contains(last.Err, "no space left") || last.FinishedAt == nil {
		t.Errorf("%+v", last)
	}
	full.Store(false)
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
	names, err := fs.List("data/snapshots")
	if _, left := fs.Stat("data/checkpoint"); err != nil || len(names) != 1 || left == nil {
		t.Errorf("left %q, %v", names, err)
	}
	if _, got := w.operate("GET", "/admin/alerts", ""); !strings.Contains(got, snapshots.AlertFailed) {
		t.Errorf("alerts %s", got)
	}
	w.snap()
}

// TestSnapshotKeepsWhatCannotBeRemoved checks that a snapshot counts as made although an older one
// cannot be removed after it, and that the alert names both.
func TestSnapshotKeepsWhatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, ".snap") {
			return syscall.EACCES
		}
		return nil
	}))
	w := newHarness(t, disk, func(c *Config) { c.SnapshotKeep = 1 })
	w.snap()
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
	path := w.snap()
	if last := w.finished(); last.Status != "finished" || last.Path != path {
		t.Errorf("%+v", last)
	}
	if made, unmade := w.snapshots.Counts(); made != 2 || unmade != 0 {
		t.Errorf("%d made, %d not", made, unmade)
	}
	want := path + " was made, but old snapshots or the journal's copy could not be removed: "
	if _, got := w.operate("GET", "/admin/alerts", ""); !strings.Contains(got, want) {
		t.Errorf("alerts %s", got)
	}
}

// TestSnapshotPowerCut cuts the power before many writes of a snapshot under load. The engine
// that starts on what is left has every answer, clears up, and makes the next snapshot; and of a
// restore there is a whole marked folder, or none.
func TestSnapshotPowerCut(t *testing.T) {
	t.Parallel()
	seeds := uint64(24)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		if err := snapshotPowerCut(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func snapshotPowerCut(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	disk := vfs.NewCrashableMem()
	c := &clients{}
	type cut struct {
		kept *vfs.MemFS
		held []answered
	}
	cuts := make(chan cut, 2)
	w := &writes{}
	w.cut = func() {
		held := c.sofar()
		cuts <- cut{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}), held}
	}
	e, err := Open(crashConfig(errorfs.Wrap(disk, w)))
	if err != nil {
		return err
	}
	ids, err := populate(e)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	var load sync.WaitGroup
	for i := range 3 {
		load.Go(func() { c.drive(e, ids[i], rand.New(rand.NewPCG(seed, uint64(10+i))), &stop) })
	}
	w.at.Store(w.count.Load() + 1 + int64(rng.IntN(80)))
	if _, err := e.snapshots.Start(""); err != nil {
		return err
	}
	e.snapshots.Close()
	during := <-cuts // at the latest a write of the load
	stop.Store(true)
	load.Wait()
	_, last := e.snapshots.Runs()
	w.at.Store(w.count.Load() + 1 + int64(rng.IntN(30)))
	_, err = journal.RestoreSnapshot(journal.SnapshotOptions{File: last.Path, FS: errorfs.Wrap(disk, w), DataDir: "new"})
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	for _, at := range []cut{during, <-cuts} {
		if err := goesOn(at.kept, at.held); err != nil {
			return err
		}
	}
	return nil
}

// goesOn starts an engine on what a power cut has left, and makes a snapshot with it.
func goesOn(kept *vfs.MemFS, held []answered) error {
	if names, err := kept.List("new"); err == nil {
		config := crashConfig(kept)
		config.DataDir, config.SimDir = "new", "data/sim"
		if _, err := Open(config); !errors.As(err, new(*restored.Unaccepted)) {
			return fmt.Errorf("a restored folder with %q: %w", names, err)
		}
	}
	e, err := Open(crashConfig(kept))
	if err != nil {
		return err
	}
	var names []string
	for range 1000 { // no start waits until the folder of snapshots is cleared up
		if names, _ = kept.List("data/snapshots"); !slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".tmp") }) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".tmp") }) {
		return fmt.Errorf("left after a start: %q", names)
	}
	if _, err := e.snapshots.Start(""); err != nil {
		return err
	}
	e.snapshots.Close()
	_, last := e.snapshots.Runs()
	if err := e.Close(); err != nil || last.Err != "" {
		return errors.Join(err, errors.New(last.Err))
	}
	listed, err := snapshot.List(kept, "data/snapshots")
	if err != nil {
		return err
	}
	for _, l := range listed {
		if l.Err != nil {
			return l.Err
		}
		if _, err := journal.VerifySnapshot(journal.SnapshotOptions{File: l.Path, FS: kept}); err != nil {
			return err
		}
	}
	return judge(kept, held)
}

// smallDisk is a file system that has some bytes left.
type smallDisk struct {
	vfs.FS
	free uint64
}

// GetDiskUsage implements vfs.FS.
func (d smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free}, nil
}

// TestRestoreOnFullDisk fills the disk before many writes of a restore, and restores to one that
// is too small from the beginning: the error says so, and nothing is left.
func TestRestoreOnFullDisk(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	s, err := snapshot.Open(fs, file)
	if err != nil {
		t.Fatal(err)
	}
	small := smallDisk{fs, uint64(s.Manifest.Size()) - 1}
	_, err = journal.RestoreSnapshot(journal.SnapshotOptions{File: file, FS: small, DataDir: "new"})
	if err == nil || !strings.Contains(err.Error(), file+" needs ") || !strings.Contains(err.Error(), "new") {
		t.Errorf("one byte too few: %v", err)
	}
	before, err := fs.List("")
	if err != nil {
		t.Fatal(err)
	}
	done := false
	for at := 1; !done; at += 3 {
		n := 0
		full := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate {
				if n++; n >= at {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		// Each time another folder: Pebble leaves a lock in memory where it fails to open.
		_, err := journal.RestoreSnapshot(journal.SnapshotOptions{File: file, FS: full, DataDir: fmt.Sprint("new", at), TempDir: t.TempDir()})
		after, _ := fs.List("")
		switch {
		case n < at:
			done = true
			if err != nil || at < 20 {
				t.Errorf("with room for all %d writes: %v", n, err)
			}
		case err == nil || !strings.Contains(err.Error(), "no space left"):
			t.Errorf("write %d: %v", at, err)
		case !slices.Equal(before, after):
			t.Errorf("write %d: left %q, was %q", at, after, before)
		}
	}
}
