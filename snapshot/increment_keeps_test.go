package snapshot

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestLastEpochOfUnusable checks that the epoch of an increment counts whose base is elsewhere: both may
// come back, and are older then than what was made meanwhile.
func TestLastEpochOfUnusable(t *testing.T) {
	fsys := vfs.NewMem()
	someFiles().write(t, fsys, "/data")
	early := upon(t, fsys, nil, "/data", manifest(0, 7))
	m := manifest(1, 8)
	m.Epoch = 3
	base := upon(t, fsys, nil, "/data", m)
	n := manifest(2, 9)
	n.Epoch = 4
	upon(t, fsys, base, "/data", n)
	if err := fsys.Remove(base.Path); err != nil {
		t.Fatal(err)
	}
	if epoch, err := LastEpoch(fsys, "/snaps"); err != nil || epoch != 4 {
		t.Errorf("epoch %d beside %s, %v", epoch, early.Path, err)
	}
}

// TestNewerFormatKeepsItsBases checks that what a snapshot of a newer format needs is kept, although nothing
// else of it is known.
func TestNewerFormatKeepsItsBases(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	m := manifest(3, 10)
	m.Format, m.Base, m.Epoch = 3, all[1].Manifest.Name(), 9
	m.Files = []File{{Name: "a", SHA256: "00", In: all[0].Manifest.Name()}}
	file, err := fsys.Create("/snaps/"+m.Name(), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(pack(fsys, "/data", m, nil, file, nil), file.Close()); err != nil {
		t.Fatal(err)
	}
	upon(t, fsys, nil, "/data", manifest(4, 11))
	if _, err := Open(fsys, "/snaps/"+m.Name()); err == nil || !strings.Contains(err.Error(), "a newer version of pixd made it: format 3") {
		t.Errorf("opened: %v", err)
	}
	if removed, err := Retain(fsys, "/snaps", "", 1, 0); err != nil || len(removed) != 1 || removed[0] != all[2].Path {
		t.Errorf("removed %q, %v", removed, err)
	}
	if epoch, err := LastEpoch(fsys, "/snaps"); err != nil || epoch != 9 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
}

// TestBaseGoneMeanwhile removes the base while an increment is made: nothing is made.
func TestBaseGoneMeanwhile(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	_, err := Create(fsys, Contents{Folder: "/later", Base: all[2], Room: func(int64) error { return fsys.Remove(all[0].Path) }}, "/snaps", manifest(3, 10), nil)
	if err == nil || !strings.Contains(err.Error(), "needs "+all[0].Manifest.Name()+", which is not beside it") {
		t.Errorf("%v", err)
	}
	if names, _ := fsys.List("/snaps"); len(names) != 2 {
		t.Errorf("left %q", names)
	}
}

// TestRoom checks that the most bytes that may be written are asked for before anything is, and that nothing is
// written without room.
func TestRoom(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	full := errors.New("full")
	for _, c := range []struct {
		base *Snapshot
		want int64
	}{{nil, 6 + 3*chunk + 17 + 200}, {all[0], 6 + 200}, {all[1], 0}} {
		asked := int64(-1)
		_, err := Create(fsys, Contents{Folder: "/later", Base: c.base, Room: func(most int64) error { asked = most; return full }}, "/snaps", manifest(5, 12), nil)
		if names, _ := fsys.List("/snaps"); !errors.Is(err, full) || asked != c.want || len(names) != 3 {
			t.Errorf("asked for %d bytes, want %d; %v, left %q", asked, c.want, err, names)
		}
	}
}

// failsOpen fails each opening of a file.
func failsOpen(fsys FS, path string) FS {
	return errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpen && op.Path == path {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}
		}
		return nil
	}))
}

// TestUnreadKeepsAll checks that nothing is removed or replaced while the file system does not give one of the
// snapshots: nobody knows what that one needs. An increment beside it says so.
func TestUnreadKeepsAll(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	latest := upon(t, fsys, nil, "/data", manifest(3, 10))
	failing := failsOpen(fsys, all[1].Path)
	if removed, err := Retain(failing, "/snaps", latest.Path, 1, 0); err == nil || !strings.Contains(err.Error(), "none is removed: "+all[1].Path) || len(removed) != 0 {
		t.Errorf("removed %q, %v", removed, err)
	}
	if path, err := Create(failing, Contents{Folder: "/later"}, "/snaps", manifest(3, 10), nil); err != nil || path == latest.Path {
		t.Errorf("%s was made, %v", path, err)
	}
	listed, err := List(failing, "/snaps")
	if err != nil || len(listed) != 5 {
		t.Fatal(len(listed), err)
	}
	bad := 0
	for _, l := range listed {
		if l.Err != nil {
			bad++
		}
	}
	if bad != 2 { // the one and the increment upon it
		t.Errorf("%d are not usable", bad)
	}
	if removed, err := Retain(fsys, "/snaps", latest.Path, 1, 0); err != nil || len(removed) != 3 {
		t.Errorf("later: removed %q, %v", removed, err)
	}
}

// TestRenamedBase checks that no other snapshot stands in for a base under its name.
func TestRenamedBase(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	if err := fsys.Rename(all[1].Path, all[0].Path); err != nil {
		t.Fatal(err)
	}
	last := all[2]
	if _, err := Open(fsys, last.Path); err == nil || !strings.Contains(err.Error(), "it was renamed") {
		t.Errorf("%v", err)
	}
	if got := left(t, fsys); got != "bad bad" {
		t.Errorf("listed %s", got)
	}
}

// TestSameSizeInBase checks that a file counts as the base's only with the same bytes and the same name.
func TestSameSizeInBase(t *testing.T) {
	fsys := vfs.NewMem()
	files{"journal/a": []byte("one"), "journal/b": []byte("two"), "journal/c": []byte("six")}.write(t, fsys, "/data")
	base := upon(t, fsys, nil, "/data", manifest(0, 7))
	later := files{"journal/a": []byte("six"), "journal/b": []byte("two"), "journal/d": []byte("six")}
	later.write(t, fsys, "/later")
	s := upon(t, fsys, base, "/later", manifest(1, 8))
	if own := s.Manifest.own(); len(own) != 2 || own[0].Name != "journal/a" || own[1].Name != "journal/d" {
		t.Errorf("own files %+v", own)
	}
	if err := errors.Join(s.Unpack("/new", nil), later.same(fsys, "/new")); err != nil {
		t.Error(err)
	}
	// Another snapshot of the base's name, whose file has the same size.
	files{"journal/a": []byte("one"), "journal/b": []byte("TWO"), "journal/c": []byte("six")}.write(t, fsys, "/other")
	if err := fsys.Remove(base.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(fsys, Contents{Folder: "/other"}, "/snaps", manifest(0, 7), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fsys, s.Path); err == nil || !strings.Contains(err.Error(), "needs journal/b of "+base.Manifest.Name()+", which that does not have") {
		t.Errorf("%v", err)
	}
}

// TestRemovedInOrder removes increments and bases in the middle of which the power is cut: no increment is
// left without what it needs, also where a clock that was set back gave an increment an earlier time.
func TestRemovedInOrder(t *testing.T) {
	fsys := vfs.NewMem()
	someFiles().write(t, fsys, "/data")
	full := upon(t, fsys, nil, "/data", manifest(0, 7))
	back := manifest(0, 7)
	back.CreatedAt = back.CreatedAt.Add(-time.Hour)
	upon(t, fsys, full, "/data", back)
	second := upon(t, fsys, full, "/data", manifest(1, 7))
	upon(t, fsys, second, "/data", manifest(2, 8))
	upon(t, fsys, nil, "/data", manifest(3, 9))
	watched := onWrite(fsys, func() error {
		if got := left(t, fsys); strings.Contains(got, "bad") {
			t.Errorf("in the middle of it: %s", got)
		}
		return nil
	})
	if removed, err := Retain(watched, "/snaps", "", 1, 0); err != nil || len(removed) != 4 || left(t, fsys) != "3" {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// TestRetainFollowsChains keeps an increment whose base is kept for it alone, and what that base needs in turn.
func TestRetainFollowsChains(t *testing.T) {
	fsys := vfs.NewMem()
	files{"journal/a": []byte("a")}.write(t, fsys, "/one")
	files{"journal/a": []byte("a"), "journal/b": []byte("b")}.write(t, fsys, "/two")
	files{"journal/b": []byte("b")}.write(t, fsys, "/three")
	one := upon(t, fsys, nil, "/one", manifest(0, 7))
	two := upon(t, fsys, one, "/two", manifest(1, 8))
	three := upon(t, fsys, two, "/three", manifest(2, 9))
	if needs := three.Manifest.Needs(); len(needs) != 1 || needs[0] != two.Manifest.Name() {
		t.Fatalf("needs %q", needs)
	}
	if removed, err := Retain(fsys, "/snaps", "", 1, 1); err != nil || len(removed) != 0 {
		t.Errorf("removed %q, %v", removed, err)
	}
}
