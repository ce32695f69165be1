package snapshot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCrash cuts the power before each write of a snapshot and of a restore. What is left has
// a whole snapshot under a snapshot's name, or none; and a whole folder in place, or none. The
// work is then done again.
func TestCrash(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	disk := vfs.NewCrashableMem()
	someFiles().write(t, disk, "/data")
	writes, cuts := 0, []*vfs.MemFS{}
	cutting := onWrite(disk, func() error {
		writes++
		cuts = append(cuts, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng}))
		return nil
	})
	if err := createAndRestore(cutting); err != nil {
		t.Fatal(err)
	}
	made, restored := 0, 0
	for i, left := range cuts {
		m, r, err := judge(left)
		if err != nil {
			t.Fatalf("power cut before write %d of %d: %v", i, writes, err)
		}
		made, restored = made+m, restored+r
		if err := createAndRestore(left); err != nil {
			t.Fatalf("after a power cut before write %d of %d: %v", i, writes, err)
		}
		if names, err := left.List("/snaps"); err != nil || len(names) != 1 {
			t.Fatalf("after a power cut before write %d of %d and a second try: %q, %v", i, writes, names, err)
		}
	}
	final := disk.CrashClone(vfs.CrashCloneCfg{})
	if m, r, err := judge(final); err != nil || m != 1 || r != 1 {
		t.Errorf("a power cut after the end: %d snapshots, %d restored, %v", m, r, err)
	}
	if writes < 20 || made == 0 || made == len(cuts) {
		t.Errorf("%d writes, %d cuts had a snapshot and %d a restored folder", writes, made, restored)
	}
}

// createAndRestore makes a snapshot of /data and restores it to /new, as a program does that
// starts again after a crash: what is in place already stays.
func createAndRestore(fsys FS) error {
	if err := Sweep(fsys, "/snaps"); err != nil {
		return err
	}
	path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil)
	if err != nil {
		return err
	}
	if _, err := fsys.Stat("/new"); err == nil {
		return nil
	}
	s, err := Open(fsys, path)
	if err != nil {
		return err
	}
	target, err := NewTarget(fsys, "/new")
	if err != nil {
		return err
	}
	if err := s.Unpack(target.Folder(), nil); err != nil {
		return errors.Join(err, target.Abort())
	}
	return target.Finish("journal")
}

// judge checks what a crash has left, and counts whole snapshots and restored folders.
func judge(fsys FS) (made, restored int, err error) {
	all, err := List(fsys, "/snaps")
	if err != nil {
		return 0, 0, err
	}
	for _, l := range all {
		if l.Err != nil {
			return 0, 0, l.Err
		}
		if err := l.Check(nil); err != nil {
			return 0, 0, err
		}
	}
	if _, err := fsys.Stat("/new"); err == nil {
		if err := someFiles().same(fsys, "/new"); err != nil {
			return 0, 0, fmt.Errorf("the folder in place: %w", err)
		}
		restored = 1
	}
	return len(all), restored, nil
}

// TestFullDisk fills the disk before each write: the error says so, and nothing of the snapshot,
// or of the restored folder, is left.
func TestFullDisk(t *testing.T) {
	for at := 1; ; at++ {
		disk := vfs.NewMem()
		someFiles().write(t, disk, "/data")
		n := 0
		full := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind { // removing needs no space
			case errorfs.OpCreate, errorfs.OpMkdirAll, errorfs.OpFileWrite, errorfs.OpFileSync:
				if n++; n >= at {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		err := createAndRestore(full)
		if n < at {
			if at < 20 {
				t.Errorf("only %d writes", at)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("write %d to a full disk: %v", at, err)
		}
		made, restored, err := judge(disk)
		if err != nil {
			t.Errorf("write %d to a full disk: %v", at, err)
		}
		names, _ := disk.List("/snaps")
		above, _ := disk.List("/")
		if len(names) != made || len(above) > 2+restored {
			t.Errorf("write %d to a full disk: left %q and %q", at, names, above)
		}
	}
}
