package engine

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/cmd/journal"
	"pixd/wal"
)

// snap makes a snapshot through the operator API and returns its path.
func (w *harness) snap() string {
	w.t.Helper()
	return w.snapUpon("")
}

// snapUpon makes an increment upon a base; empty: a full snapshot.
func (w *harness) snapUpon(base string) string {
	w.t.Helper()
	if _, err := w.snapshots.Start(base); err != nil { // a request to the operator API would be on record in the journal
		w.t.Fatal(err)
	}
	return w.finished().Path
}

// run is the making of a snapshot in the API's answer.
type run struct {
	Status     string
	Path       string
	Err        string  `json:"error"`
	FinishedAt *string `json:"finished_at"`
}

// finished waits until no snapshot is being made, and returns the last one.
func (w *harness) finished() (last run) {
	w.t.Helper()
	w.becomes("the snapshot finished", 20*time.Second, func() bool {
		var l struct{ Running, Last *run }
		_, got := w.operate("GET", "/admin/snapshots", "")
		if err := json.Unmarshal([]byte(got), &l); err != nil {
			w.t.Fatal(got, err)
		}
		if l.Last != nil {
			last = *l.Last
		}
		return l.Running == nil
	})
	return last
}

// TestSnapshotUnderLoad takes snapshots while clients pay. Each has every answer that was given
// before it began, and an engine on it comes to rest with books that verify.
func TestSnapshotUnderLoad(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		fs := vfs.NewMem()
		c := &clients{}
		slow := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.Contains(op.Path, "checkpoint") { // so that clients are answered meanwhile
				time.Sleep(time.Millisecond)
			}
			return nil
		}))
		e, err := Open(crashConfig(slow))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := populate(e)
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var load sync.WaitGroup
		for i := range 6 {
			load.Go(func() { c.drive(e, ids[i%len(ids)], rand.New(rand.NewPCG(seed, uint64(i))), &stop) })
		}
		for try := 0; len(c.sofar()) < 20 && try < 2000; try++ {
			time.Sleep(time.Millisecond)
		}
		held := c.sofar()
		if _, err := e.snapshots.Start(""); err != nil {
			t.Fatal(err)
		}
		if _, err := e.snapshots.Start(""); err == nil || !strings.Contains(err.Error(), "a snapshot is under way") {
			t.Errorf("a second snapshot meanwhile: %v", err)
		}
		e.snapshots.Close()
		made := c.sofar()
		stop.Store(true)
		load.Wait()
		_, last := e.snapshots.Runs()
		if err := e.Close(); err != nil || last.Err != "" {
			t.Fatal(err, last.Err)
		}
		if len(held) == 0 || len(made) == len(held) {
			t.Errorf("%d answers before the snapshot and %d after it: there was no load", len(held), len(made))
		}
		v := restoredAt(t, fs, last.Path, "new")
		isBeginning(t, fs, "new/journal", "data/journal", v.Found.Records)
		accept := crashConfig(fs)
		from("new")(&accept)
		if e, err = Open(accept); err != nil {
			t.Fatal(err)
		}
		for i := range held {
			if err := held[i].stands(e); err != nil {
				t.Errorf("seed %d: answer %d of %d: %v", seed, i, len(held), err)
			}
		}
		if err := e.Close(); err != nil || v.Found.Accounts != crashAccounts {
			t.Fatal(v, err)
		}
		if _, err := journal.Verify(journal.VerifyOptions{DataDir: "new", FS: fs}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// isBeginning checks that the first n records of a journal are the restored one's, all of them,
// and that its batches are the first ones.
func isBeginning(t *testing.T, fs vfs.FS, restored, whole string, n uint64) {
	t.Helper()
	read := func(dir string) map[string]string {
		s, err := wal.Open(wal.Options{Dir: dir, FS: fs, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		all := everything(t, s)
		maps.DeleteFunc(all, func(k, _ string) bool { return k[0] != 'R' && k[0] != 'B' })
		return all
	}
	first, all, records := read(restored), read(whole), uint64(0)
	for k, v := range first {
		if k[0] == 'R' {
			records++
		} else if mark := string(wal.BatchKey(uint64(len(first)) - n)); k == mark {
			continue // the batch of the restored mark
		}
		if all[k] != v {
			t.Errorf("%x is %x, was %x", k, v, all[k])
		}
	}
	if records != n || n == 0 || len(first) >= len(all) {
		t.Errorf("%d records of %d keys, want %d; the whole journal has %d", records, len(first), n, len(all))
	}
}

// snapshotOf makes an engine with a few payments and returns its file system and a snapshot.
func snapshotOf(t *testing.T) (*vfs.MemFS, string) {
	t.Helper()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
	w.receives(5000, "")
	file := w.snap()
	w.stop()
	return fs, file
}

func contents(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func replace(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotSchedule checks that the engine makes snapshots by itself, counted from the newest
// one, and keeps as many as it should.
func TestSnapshotSchedule(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	settings := func(c *Config) { c.SnapshotEvery, c.SnapshotKeep, c.SnapshotDir = time.Second, 2, "elsewhere" }
	w := newHarness(t, fs, settings)
	w.becomes("three snapshots made", 10*time.Second, func() bool {
		made, _ := w.snapshots.Counts()
		return made >= 3
	})
	all, err := w.snapshots.List()
	if err != nil || len(all) != 2 || all[0].File < all[1].File {
		t.Errorf("%+v, %v", all, err)
	}
	for _, want := range []string{"\npixd_snapshots_total{result=\"finished\"} ", "\npixd_snapshots_total{result=\"failed\"} 0\n", "\npixd_snapshot_newest_seconds 1.", "\npixd_journal_epoch 0\n"} {
		if _, got := w.operate("GET", "/metrics", ""); !strings.Contains(got, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	w.stop()
}

// TestSnapshotRefused checks a snapshot that would cross the free-disk mark.
func TestSnapshotRefused(t *testing.T) {
	t.Parallel()
	w := newHarness(t, nil, func(c *Config) { c.DataDir, c.MinFreeDisk = t.TempDir(), 1<<62 })
	status, got := w.operate("POST", "/admin/snapshots", "")
	if status != 503 || !strings.Contains(got, "too little disk is free for a snapshot") {
		t.Errorf("%d %s", status, got)
	}
	if status, got := w.operate("POST", "/admin/snapshots", `{"name":"x"}`); status != 400 || !strings.Contains(got, "name") {
		t.Errorf("a body with a field: %d %s", status, got)
	}
	w.stop()
	if _, err := w.snapshots.Start(""); err == nil || err.Error() != errNotReady.Error() {
		t.Errorf("after the end: %v", err)
	}
}
