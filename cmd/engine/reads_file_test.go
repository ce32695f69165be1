package engine

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/layout"
	"pixd/wal"
)

// fileReads makes one read of a file fail, once.
type fileReads struct {
	mu        sync.Mutex
	at, count int
	hit       *errorfs.Op
}

func (f *fileReads) String() string { return "failing reads" }

// MaybeError implements errorfs.Injector.
func (f *fileReads) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsRead {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count != f.at {
		return nil
	}
	f.hit = &op
	return errRead
}

func (f *fileReads) met() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit != nil
}

// TestFailedFileRead is TestFailedRead for the reads of files that a start makes before and beside
// those of the journal: of the anchor, of Pebble's manifest, logs and tables, and of the scheme's
// book. Nearly nothing is cached.
func TestFailedFileRead(t *testing.T) {
	folder := halfDone(t)
	for dir, once := range map[string][]byte{"data/journal": layout.SetOnce, "data/sim": nil} { // as they were written
		if err := intoTables(folder, dir, once); err != nil {
			t.Fatal(err)
		}
	}
	step := *readsStep
	switch {
	case step > 0:
	case testing.Short():
		step = 40
	default:
		step = 11
	}
	n, refused := 0, 0
	for at := *readsFrom; ; at += step {
		f := &fileReads{at: at}
		disk := folder.CrashClone(vfs.CrashCloneCfg{})
		ended, err := failStart(disk, f)
		if ended {
			refused++
		}
		if err == nil {
			disk = disk.CrashClone(vfs.CrashCloneCfg{}) // a start that was given up may hold its lock; the end of the process gives it back
			synctest.Test(t, func(*testing.T) { err = newReadRun(disk).live(func() bool { return false }) })
		}
		if err != nil {
			t.Fatalf("read %d, %+v: %v", at, f.hit, err)
		}
		if !f.met() {
			break
		}
		n++
	}
	t.Logf("%d reads failed; %d ended the start", n, refused)
	if n < 3 || refused < 3 {
		t.Error("hardly any failure was met")
	}
}

// intoTables moves what the logs of a store have into tables. Where Pebble gives up opening after
// it has replayed a log, a goroutine of its own may panic.
func intoTables(folder *vfs.MemFS, dir string, once []byte) error {
	s, err := wal.Open(wal.Options{Dir: dir, FS: folder, SetOnce: once})
	if err != nil {
		return err
	}
	return s.Close()
}

// failStart starts an engine that may meet a failing read, and closes it. ended tells whether the
// start or the engine ended with the error of that read. A start that is given up may leave
// goroutines behind, so this is in no bubble; the engine's clock goes on after halfDone's.
func failStart(disk *vfs.MemFS, f *fileReads) (ended bool, err error) {
	c := newReadRun(disk).config
	clocks := newClocks()
	clocks.wall.Store(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC).Sub(clocks.start).Milliseconds())
	c.Clocks, c.FS, c.cache, c.memTable = clocks.sources(), errorfs.Wrap(disk, f), 1, 1<<16
	e, err := Open(c)
	if err == nil {
		err = e.Close() // with an error where Pebble's background work met the read: that ends the journal
	}
	if err == nil {
		return false, nil
	}
	if !f.met() || !strings.Contains(err.Error(), syscall.EIO.Error()) { // of what Pebble calls fatal only the text is left
		return true, err
	}
	return true, nil
}
