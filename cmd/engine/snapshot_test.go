package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	"pixd/snapshot"
	"pixd/wal"
)

// snap makes a snapshot through the operator API and returns its path.
func (w *harness) snap() string {
	w.t.Helper()
	status, got := w.operate("POST", "/admin/snapshots", "")
	if status != 202 || !strings.Contains(got, `"status":"running"`) {
		w.t.Fatalf("%d %s", status, got)
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

// everything is each key of a journal with its value, without the verified mark, which is of
// one machine.
func everything(t *testing.T, s *wal.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Scan(nil, nil, func(k, v []byte) (bool, error) {
		all[string(k)] = string(v)
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	delete(all, "!wal/verified")
	return all
}

// restoredAt restores a snapshot to a folder of the file system.
func restoredAt(t *testing.T, fs snapshot.FS, file, dir string) *VerifiedSnapshot {
	t.Helper()
	v, err := RestoreSnapshot(SnapshotOptions{File: file, DataDir: dir, FS: fs, Now: time.Now(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// from starts an engine on a restored folder, with the book of the simulator of before.
func from(dir string) func(*Config) {
	return func(c *Config) { c.DataDir, c.SimDir, c.AcceptRestoredGap = dir, "data/sim", true }
}

// TestRestoreIsTheOriginal takes a snapshot, goes on with more payments, and restores: the
// restored journal has every key and value that the original had, and no other. An engine on it
// shows the same accounts, lists and answers as the original did, and carries on.
func TestRestoreIsTheOriginal(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	w.hooks(r.URL+"/a", allKinds)
	p := w.receives(100_000, "")
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-7"}`)
	w.becoming(w.paidOut(`{"amount":700,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	w.paidOut(`{"amount":900,"pix_key":"silent@pix.test"}`)
	w.ends(w.taken(`"amount":100,`, p.ID).TransactionID, "settled")
	w.reports(p, 5000)
	status, answer, _ := w.post("/pix/cash-in", `{"amount":100}`, "Idempotency-Key", "charge-1")
	if status != 200 {
		t.Fatal(status, answer)
	}
	w.becomes("all delivered", 5*time.Second, func() bool { return len(r.all("/a")) >= 7 && w.webhooks.Measure().Running == 0 })
	settled(t, w.Store)
	pages := []string{"/balance", "/transactions", "/transactions?status=processing", "/statement", "/med", "/webhooks", "/transactions/" + p.ID}
	before := w.shown(pages)
	want := everything(t, w.Store)
	file := w.snap()
	w.paidOut(`{"amount":300,"pix_key":"settle-now@pix.test"}`)
	w.receives(5, "")
	w.stop()

	v := restoredAt(t, fs, file, "new")
	if v.Found.Balance.Sign() <= 0 || v.Found.Balance.Cmp(v.Manifest.Balance) != 0 || v.Found.Pending.Sign() <= 0 || v.Found.MEDHeld.Int64() != 5000 {
		t.Errorf("%+v", v)
	}
	copied, err := wal.Open(wal.Options{Dir: "new/journal", FS: fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	got := everything(t, copied)
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	if _, marked := got["!"+restored.MetaMark]; !marked {
		t.Error("the restored journal is not marked")
	}
	delete(got, "!"+restored.MetaMark)
	maps.DeleteFunc(got, func(k, _ string) bool {
		return k[0] == 'B' && want[k] == "" && k == string(wal.BatchKey(v.Found.Position+1))
	}) // the mark's own batch
	if !maps.Equal(got, want) {
		for k := range got {
			if got[k] != want[k] {
				t.Errorf("restored %q: %x, was %x", k, got[k], want[k])
			}
		}
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}

	again := w.at(serveHarness(t, fs, insecure, from("new")))
	if now := again.shown(pages); !slices.Equal(now, before) {
		for i := range now {
			if now[i] != before[i] {
				t.Errorf("%s: %s, was %s", pages[i], now[i], before[i])
			}
		}
	}
	if status, got, _ := again.post("/pix/cash-in", `{"amount":100}`, "Idempotency-Key", "charge-1"); status != 200 || got != answer {
		t.Errorf("the answer under a key: %d %s, was %s", status, got, answer)
	}
	again.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-8"}`)
}

// shown is what the merchant API answers to each path.
func (w *harness) shown(paths []string) (all []string) {
	for _, path := range paths {
		status, got := w.get(path)
		if status != 200 {
			w.t.Errorf("%s: %d %s", path, status, got)
		}
		all = append(all, got)
	}
	return all
}

// TestSnapshotUnderLoad takes snapshots while clients pay. Each has every answer that was given
// before it began, and an engine on it comes to rest with books that verify.
func TestSnapshotUnderLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		fs := vfs.NewMem()
		c := &clients{}
		e, err := Open(crashConfig(fs))
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
		time.Sleep(20 * time.Millisecond)
		held := c.sofar()
		if _, err := e.snapshots.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.snapshots.Start(); !errors.Is(err, errSnapshotRuns) {
			t.Errorf("a second snapshot meanwhile: %v", err)
		}
		e.snapshots.work.Wait()
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
		if _, err := verify(wal.Options{Dir: "new/journal", FS: fs, ReadOnly: true}, VerifyOptions{}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
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

// TestVerifySnapshotFindsFlippedBytes flips bytes at 200 random places of a snapshot.
func TestVerifySnapshotFindsFlippedBytes(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	whole := contents(t, fs, file)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		at := rng.IntN(len(whole))
		b := bytes.Clone(whole)
		b[at] ^= byte(1 + rng.IntN(255))
		replace(t, fs, file, b)
		if _, err := VerifySnapshot(SnapshotOptions{File: file, FS: fs, TempDir: "tmp"}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("byte %d of %d: %v", at, len(whole), err)
		}
		if _, err := RestoreSnapshot(SnapshotOptions{File: file, FS: fs, DataDir: "new"}); err == nil {
			t.Errorf("byte %d of %d: restored", at, len(whole))
		}
	}
	for _, dir := range []string{"new", "tmp"} {
		if names, _ := fs.List(dir); len(names) != 0 {
			t.Errorf("left in %s: %q", dir, names)
		}
	}
	replace(t, fs, file, whole)
	if _, err := VerifySnapshot(SnapshotOptions{File: file, FS: fs, TempDir: t.TempDir()}); err != nil {
		t.Error(err)
	}
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
		made, err := snapshot.Create(fs, "copy", "lies", &m, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = VerifySnapshot(SnapshotOptions{File: made, FS: fs, TempDir: t.TempDir()})
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
	if err := errors.Join(write(store, local, wal.Op{Kind: wal.OpDelete, Key: row}), store.Close()); err != nil {
		t.Fatal(err)
	}
	if err := verdict(func(*snapshot.Manifest) {}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a row is missing: %v", err)
	}
}

func unaccepted(err error) bool { return errors.As(err, new(*restored.Unaccepted)) }

// TestRestoredIsRefused checks that a restored folder is served only once the gap is accepted,
// which raises the epoch each time, and that it is then served without being asked again.
func TestRestoredIsRefused(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	dir := "new"
	for times := uint64(1); times <= 2; times++ {
		restoredAt(t, fs, file, dir)
		config := crashConfig(fs)
		config.DataDir, config.SimDir = dir, "data/sim"
		for range 2 {
			if _, err := Open(config); !unaccepted(err) || !strings.Contains(err.Error(), "--accept-restored-gap") || !strings.Contains(err.Error(), dir) {
				t.Fatalf("without the gap accepted: %v", err)
			}
		}
		config.AcceptRestoredGap = true
		for range 2 { // the second start accepts nothing more
			e, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := restored.Epoch(e.Store); n != times || err != nil {
				t.Errorf("epoch %d, want %d; %v", n, times, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			config.AcceptRestoredGap = false
		}
		w := serveHarness(t, fs, func(c *Config) { c.DataDir, c.SimDir = dir, "data/sim" })
		file = w.snap()
		w.stop()
		dir += "er"
	}
	if snapshot.Unfinished(fs, "new") {
		t.Error("a finished restore counts as unfinished")
	}
	if err := fs.MkdirAll("half.restoring", 0o700); err != nil {
		t.Fatal(err)
	}
	config := crashConfig(fs)
	config.DataDir = "half"
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("an interrupted restore: %v", err)
	}
}

// TestRestoredHoldsDeliveries checks that webhooks which wait in a snapshot are not sent until
// an operator retries them, one or all, and that later events are sent at once.
func TestRestoredHoldsDeliveries(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	r.status.Store(500)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	for range 4 {
		w.receives(1000, "")
	}
	w.becomes("tried once", 5*time.Second, func() bool {
		all := w.deliveries(h.ID, "?status=pending")
		return len(all) == 4 && !slices.ContainsFunc(all, func(d delivered) bool { return len(d.Attempts) == 0 })
	})
	file := w.snap()
	w.stop()
	r.status.Store(200)
	tried := len(r.all("/a"))
	restoredAt(t, fs, file, "new")
	again := w.at(serveHarness(t, fs, insecure, from("new")))
	come := func(n int) {
		t.Helper()
		again.becomes(fmt.Sprintf("%d webhooks sent", n), 5*time.Second, func() bool { return len(r.all("/a")) >= tried+n })
	}
	again.receives(2000, "")
	come(1)
	time.Sleep(100 * time.Millisecond)
	if n := len(r.all("/a")); n != tried+1 {
		t.Fatalf("%d webhooks after the restore, want the new one", n-tried)
	}
	var l struct {
		Data []struct {
			ID   string
			Held bool
			Next *string `json:"next_attempt_at"`
		}
	}
	_, got := again.operate("GET", "/admin/webhook-deliveries?status=pending", "")
	if err := json.Unmarshal([]byte(got), &l); err != nil || len(l.Data) != 4 {
		t.Fatal(got, err)
	}
	for _, d := range l.Data {
		if !d.Held || d.Next != nil {
			t.Errorf("%+v", d)
		}
	}
	if status, got := again.operate("POST", "/admin/webhook-deliveries/"+l.Data[0].ID+"/retry", ""); status != 202 {
		t.Fatal(status, got)
	}
	come(2)
	if status, got := again.operate("POST", "/admin/webhooks/"+h.ID+"/retry", ""); status != 202 || !strings.Contains(got, `"retried":3`) {
		t.Fatal(status, got)
	}
	come(5)
	again.becomes("all delivered", 5*time.Second, func() bool { return len(again.deliveries(h.ID, "?status=delivered")) == 5 })
	again.stop()
	if _, err := verify(wal.Options{Dir: "new/journal", FS: fs, ReadOnly: true}, VerifyOptions{}); err != nil {
		t.Error(err)
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
		w.snapshots.mu.Lock()
		defer w.snapshots.mu.Unlock()
		return w.snapshots.made >= 3
	})
	all, err := w.snapshots.List()
	if err != nil || len(all) != 2 || all[0].File < all[1].File {
		t.Errorf("%+v, %v", all, err)
	}
	w.stop()
	every := &snapshots{e: &Engine{Config: Config{FS: fs, SnapshotDir: "elsewhere", SnapshotEvery: time.Hour}}}
	listed, err := snapshot.List(fs, "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	newest := listed[len(listed)-1].Manifest.CreatedAt
	for after, want := range map[time.Duration]time.Duration{
		0: time.Hour, 10 * time.Minute: 50 * time.Minute, 2 * time.Hour: 0, -time.Hour: time.Hour, // a clock that was set back does not delay it further
	} {
		if got := every.untilNext(newest.Add(after)); got != want {
			t.Errorf("%v after the newest one: %v, want %v", after, got, want)
		}
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
	if _, left := fs.Stat("data/" + checkpointFolder); err != nil || len(names) != 1 || left == nil {
		t.Errorf("left %q, %v", names, err)
	}
	if _, got := w.operate("GET", "/admin/alerts", ""); !strings.Contains(got, alertSnapshot) {
		t.Errorf("alerts %s", got)
	}
	w.snap()
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
	if _, err := w.snapshots.Start(); !errors.Is(err, errNotReady) {
		t.Errorf("after the end: %v", err)
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
	var kept *vfs.MemFS
	var held []answered
	w := &writes{}
	w.cut = func() {
		held = c.sofar()
		kept = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
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
	w.at.Store(w.count.Load() + 1 + int64(rng.IntN(120)))
	if _, err := e.snapshots.Start(); err != nil {
		return err
	}
	e.snapshots.work.Wait()
	stop.Store(true)
	load.Wait()
	_, last := e.snapshots.Runs()
	w.at.Store(w.count.Load() + 1 + int64(rng.IntN(60)))
	restore := SnapshotOptions{File: last.Path, FS: errorfs.Wrap(disk, w), DataDir: "new"}
	first := kept
	_, unrestored := RestoreSnapshot(restore)
	if err := errors.Join(e.Close(), unrestored); err != nil {
		return err
	}
	for _, left := range []*vfs.MemFS{first, kept} {
		if left == nil {
			return errors.New("the power was not cut")
		}
		if err := goesOn(left, held); err != nil {
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
		if _, err := Open(config); !unaccepted(err) {
			return fmt.Errorf("a restored folder with %q: %w", names, err)
		}
	}
	e, err := Open(crashConfig(kept))
	if err != nil {
		return err
	}
	names, _ := kept.List("data/snapshots")
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".tmp") }) {
		return fmt.Errorf("left after a start: %q", names)
	}
	if _, err := e.snapshots.Start(); err != nil {
		return err
	}
	e.snapshots.work.Wait()
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
		if _, err := VerifySnapshot(SnapshotOptions{File: l.Path, FS: kept}); err != nil {
			return err
		}
	}
	return judge(kept, nil)
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
	_, err = RestoreSnapshot(SnapshotOptions{File: file, FS: small, DataDir: "new"})
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
		_, err := RestoreSnapshot(SnapshotOptions{File: file, FS: full, DataDir: fmt.Sprint("new", at), TempDir: t.TempDir()})
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
