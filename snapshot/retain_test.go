package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// five makes five snapshots of the same size in /snaps, and a file that only has a snapshot's
// name.
func five(t *testing.T) (fsys FS, size int64) {
	t.Helper()
	fsys = vfs.NewMem()
	someFiles().write(t, fsys, "/data")
	for i := range 5 {
		path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", manifest(i, uint64(10+i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		info, err := fsys.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
	}
	overwrite(t, fsys, "/snaps/pixd-20260131T115959Z-1.snap", []byte("no snapshot"))
	overwrite(t, fsys, "/snaps/pixd-20260131T120009Z-9.snap.tmp", []byte("half"))
	overwrite(t, fsys, "/snaps/notes.txt", []byte("mine"))
	return fsys, size
}

// left names the seconds of the snapshots that are left, oldest first.
func left(t *testing.T, fsys FS) string {
	t.Helper()
	all, err := List(fsys, "/snaps")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range all {
		if l.Err == nil {
			names = append(names, fmt.Sprint(l.Manifest.CreatedAt.Second()))
		} else {
			names = append(names, "bad")
		}
	}
	return strings.Join(names, " ")
}

// TestRetain checks which snapshots are kept under both limits.
func TestRetain(t *testing.T) {
	for _, c := range []struct {
		keep int
		room int64 // in snapshots; -1: half a snapshot
		want string
	}{
		{0, 0, "bad 0 1 2 3 4"},
		{5, 5, "bad 0 1 2 3 4"},
		{3, 0, "bad 2 3 4"},
		{0, 2, "bad 3 4"},
		{4, 2, "bad 3 4"},
		{2, 4, "bad 3 4"},
		{1, 0, "bad 4"},
		{0, -1, "bad 4"},
	} {
		fsys, size := five(t)
		room := c.room * size
		if room < 0 {
			room = size / 2
		}
		removed, err := Retain(fsys, "/snaps", "", c.keep, room)
		if err != nil {
			t.Fatal(err)
		}
		if got := left(t, fsys); got != c.want || len(removed) != 5+1-len(strings.Fields(got)) {
			t.Errorf("keep %d, room for %d: left %s, want %s; removed %q", c.keep, c.room, got, c.want, removed)
		}
		for _, name := range []string{"/snaps/notes.txt", "/snaps/pixd-20260131T120009Z-9.snap.tmp"} {
			if _, err := fsys.Stat(name); err != nil {
				t.Errorf("keep %d: %v", c.keep, err)
			}
		}
	}
	if removed, err := Retain(vfs.NewMem(), "/none", "", 1, 1); err != nil || removed != nil {
		t.Errorf("a missing folder: %v, %v", removed, err)
	}
}

// TestNewest checks that the newest usable snapshot is found behind files that are none.
func TestNewest(t *testing.T) {
	fsys, _ := five(t)
	overwrite(t, fsys, "/snaps/pixd-20260131T120007Z-99.snap", []byte("no snapshot"))
	if at, ok, err := Newest(fsys, "/snaps"); err != nil || !ok || at.Second() != 4 {
		t.Errorf("%v, %v, %v", at, ok, err)
	}
	if _, ok, err := Newest(fsys, "/none"); err != nil || ok {
		t.Errorf("a missing folder: %v, %v", ok, err)
	}
}

// TestSweep checks that only unfinished snapshots are removed.
func TestSweep(t *testing.T) {
	fsys, _ := five(t)
	overwrite(t, fsys, "/snaps/other.tmp", nil)
	if err := Sweep(fsys, "/snaps"); err != nil {
		t.Fatal(err)
	}
	names, err := fsys.List("/snaps")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 8 || !slices.Contains(names, "other.tmp") || slices.Contains(names, "pixd-20260131T120009Z-9.snap.tmp") {
		t.Errorf("left %q", names)
	}
	if err := Sweep(fsys, "/none"); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestRetainedForGood checks that what Retain has removed does not come back with a power cut.
func TestRetainedForGood(t *testing.T) {
	disk := vfs.NewCrashableMem()
	someFiles().write(t, disk, "/data")
	for i := range 3 {
		if _, err := Create(disk, Contents{Folder: "/data"}, "/snaps", manifest(i, uint64(10+i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := Retain(disk, "/snaps", "", 1, 0); err != nil || len(removed) != 2 {
		t.Fatal(removed, err)
	}
	if got := left(t, disk.CrashClone(vfs.CrashCloneCfg{})); got != "2" {
		t.Errorf("after a power cut there are %s", got)
	}
}

// TestWalk checks that the files below a folder are found in order, with the size of all, those of folders within
// folders included.
func TestWalk(t *testing.T) {
	fsys := vfs.NewMem()
	for name, size := range map[string]int{"b": 1, "a/c": 10, "a/d/e": 100, "a/d/f": 1000, "z/y": 10_000} {
		if err := fsys.MkdirAll(fsys.PathDir("/data/"+name), 0o700); err != nil {
			t.Fatal(err)
		}
		overwrite(t, fsys, "/data/"+name, make([]byte, size))
	}
	names, size, err := walk(fsys, "/data", "")
	if want := []string{"a/c", "a/d/e", "a/d/f", "b", "z/y"}; err != nil || size != 11_111 || !slices.Equal(names, want) {
		t.Errorf("%v, %d bytes, %v", names, size, err)
	}
}

// TestPositionOfNothing checks that a manifest without a journal has no position.
func TestPositionOfNothing(t *testing.T) {
	if at := (&Manifest{}).Position(); at != 0 {
		t.Errorf("position %d", at)
	}
}
