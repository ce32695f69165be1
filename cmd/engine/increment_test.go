package engine

import (
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/snapshot"
)

// tablesRead notes which of a journal's tables are read from one end to the other, as they are for a
// checksum or to be packed, and not block by block.
type tablesRead struct {
	mu    sync.Mutex
	names map[string]bool
}

// MaybeError implements errorfs.Injector.
func (r *tablesRead) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileRead && strings.Contains(op.Path, "checkpoint/") && path.Ext(op.Path) == ".sst" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.names[path.Base(op.Path)] = true
	}
	return nil
}

// String implements fmt.Stringer.
func (r *tablesRead) String() string { return "tables read" }

// newNames begins to note anew and returns what was noted.
func (r *tablesRead) newNames() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.names
	r.names = map[string]bool{}
	return was
}

// TestIncrementsUnderLoad makes increments, each upon the one before, while clients pay, and between,
// while the journal's memtables become tables. Each verifies, and tables that are in the base are not read again:
// the engine knows their checksums. Opening a copy makes tables whose names the engine gives to others
// afterwards; those are read each time.
func TestIncrementsUnderLoad(t *testing.T) {
	t.Parallel()
	fs, read := vfs.NewMem(), &tablesRead{names: map[string]bool{}}
	c := &clients{}
	e, ids := withSmallTables(t, errorfs.Wrap(fs, read))
	m := &increments{t: t, e: e, fs: fs, read: read}
	for round := range uint64(3) {
		var stop atomic.Bool
		var load sync.WaitGroup
		for i := range 6 {
			load.Go(func() { c.drive(e, ids[i%len(ids)], rand.New(rand.NewPCG(round, uint64(i))), &stop) })
		}
		for more, try := len(c.sofar())+100, 0; len(c.sofar()) < more && try < 3000; try++ {
			time.Sleep(time.Millisecond)
		}
		m.make()
		stop.Store(true)
		load.Wait()
		m.make()
		m.make() // at rest it has what the one before has
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if m.taken < 3 {
		t.Errorf("only %d tables were taken from a base without being read", m.taken)
	}
	for _, s := range m.made {
		if _, err := journal.VerifySnapshot(journal.SnapshotOptions{File: s.Path, FS: fs}); err != nil {
			t.Fatal(err)
		}
	}
	if first, last := m.made[0].Manifest, m.made[len(m.made)-1].Manifest; last.Position() < first.Position()+30 {
		t.Errorf("positions %d to %d: there was no load", first.Position(), last.Position())
	}
	v := restoredAt(t, fs, m.made[len(m.made)-3].Path, "new") // one that was made under load
	isBeginning(t, fs, "new/journal", "data/journal", v.Found.Records)
}

// withSmallTables opens an engine with accounts, whose memtables become tables soon.
func withSmallTables(t *testing.T, fs vfs.FS) (*Engine, []pix.AccountID) {
	t.Helper()
	config := crashConfig(fs)
	config.memTable = 64 << 10
	e, ids := openPopulated(t, config)
	return e, ids
}

// increments makes snapshots of an engine, each upon the one before.
type increments struct {
	t     *testing.T
	e     *Engine
	fs    snapshot.FS
	read  *tablesRead
	made  []*snapshot.Snapshot
	taken int // tables that were in a base and not read
}

// make makes the next one and checks what it took from its base.
func (m *increments) make() {
	m.t.Helper()
	m.read.newNames()
	if _, err := m.e.snapshots.Start("auto"); err != nil {
		m.t.Fatal(err)
	}
	run, last := m.e.snapshots.Runs()
	for ; run != nil; run, last = m.e.snapshots.Runs() {
		time.Sleep(time.Millisecond)
	}
	if last.Err != "" {
		m.t.Fatalf("snapshot %d: %s", len(m.made), last.Err)
	}
	s, err := snapshot.Open(m.fs, last.Path)
	if err != nil {
		m.t.Fatal(err)
	}
	base := ""
	if n := len(m.made); n > 0 {
		base = path.Base(m.made[n-1].Path)
	}
	if last.Base != base || s.Manifest.Base != base {
		m.t.Errorf("snapshot %d: base %q in the answer and %q in the file, want %q", len(m.made), last.Base, s.Manifest.Base, base)
	}
	names := m.read.newNames()
	for _, f := range s.Manifest.Files {
		if f.In != "" && path.Ext(f.Name) == ".sst" && !names[path.Base(f.Name)] {
			m.taken++
		}
	}
	m.made = append(m.made, s)
}

// roomyDisk is a file system that has as much free as a test says.
type roomyDisk struct {
	vfs.FS
	free *atomic.Uint64
}

// GetDiskUsage implements vfs.FS.
func (d roomyDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load()}, nil
}

// TestIncrementRoom checks that an increment is made where there is room for it and none for a full
// snapshot, and that neither is begun where the free-disk mark would be crossed.
func TestIncrementRoom(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	free.Store(1 << 40)
	fs, c := vfs.NewMem(), &clients{}
	e, ids := withSmallTables(t, roomyDisk{fs, &free})
	var stop atomic.Bool
	var load sync.WaitGroup
	load.Go(func() { c.drive(e, ids[0], rand.New(rand.NewPCG(1, 2)), &stop) })
	for try := 0; len(c.sofar()) < 600 && try < 5000; try++ {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	load.Wait()
	m := &increments{t: t, e: e, fs: fs, read: &tablesRead{names: map[string]bool{}}}
	m.make()
	room := func(bytes uint64) { free.Store(e.Config.minFree() + bytes) }
	room(e.Store.DiskUsage() - 1)
	if _, err := e.snapshots.Start(""); err == nil || !strings.Contains(err.Error(), "too little disk is free for a snapshot: it may need ") {
		t.Errorf("a full one: %v", err)
	}
	m.make()
	if _, err := e.Accounts.Do(ids[0], ledger.Credit{Kind: pix.TxInternal, Amount: 1}); err != nil { // an increment of nothing needs no room
		t.Fatal(err)
	}
	room(1)
	if _, err := e.snapshots.Start("auto"); err != nil {
		t.Fatal(err)
	}
	e.snapshots.Close()
	_, last := e.snapshots.Runs()
	if !strings.Contains(last.Err, "too little disk is free for a snapshot: it may need ") {
		t.Errorf("an increment without room: %q", last.Err)
	}
	if names, err := fs.List("data/snapshots"); err != nil || len(names) != 2 {
		t.Errorf("left %q, %v", names, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
