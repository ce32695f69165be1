package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTarget restores to a folder that is missing, to one that is empty, and to one that an
// interrupted restore has left.
func TestTarget(t *testing.T) {
	for _, c := range []struct{ name, there, dir string }{
		{"missing", "", "/a/b/new"},
		{"empty", "/new/", "/new"},
		{"a new file system", "/new/lost+found/", "/new"},
		{"interrupted beside", "/new.restoring/journal/x", "/new"},
		{"interrupted within", "/new/.restoring/journal/x", "/new"},
	} {
		fsys := vfs.NewMem()
		s, err := Open(fsys, createOne(t, fsys))
		if err != nil {
			t.Fatal(err)
		}
		place(t, fsys, c.there)
		target, err := NewTarget(fsys, c.dir)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !Unfinished(fsys, c.dir) {
			t.Errorf("%s: a restore under way is not seen", c.name)
		}
		if err := s.Unpack(target.Folder(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Stat(c.dir + "/journal"); err == nil {
			t.Errorf("%s: in place before Finish", c.name)
		}
		if err := target.Finish("journal"); err != nil {
			t.Fatal(err)
		}
		if err := fsys.RemoveAll(c.dir + "/lost+found"); err != nil {
			t.Fatal(err)
		}
		if err := someFiles().same(fsys, c.dir); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if names, _ := fsys.List(fsys.PathDir(c.dir)); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "restoring") }) || Unfinished(fsys, c.dir) {
			t.Errorf("%s: left beside it %q", c.name, names)
		}
	}
}

// place makes a file, or a folder if the name ends with a slash.
func place(t *testing.T, fsys FS, name string) {
	t.Helper()
	if name == "" {
		return
	}
	if err := fsys.MkdirAll(fsys.PathDir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if folder, is := strings.CutSuffix(name, "/"); is {
		if err := fsys.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	overwrite(t, fsys, name, []byte("x"))
}

// TestTargetRefuses checks folders that are not empty; they stay as they are.
func TestTargetRefuses(t *testing.T) {
	for _, there := range []string{"/new/journal/anchor", "/new/notes.txt", "/new/.hidden"} {
		fsys := vfs.NewMem()
		place(t, fsys, there)
		if _, err := NewTarget(fsys, "/new"); err == nil || !strings.Contains(err.Error(), "snapshot: restore to /new: it is not empty: it has ") {
			t.Errorf("%s: %v", there, err)
		}
		names, _ := fsys.List("/new")
		if _, err := fsys.Stat(there); err != nil || len(names) != 1 {
			t.Errorf("%s: %v, left %q", there, err, names)
		}
	}
}

// TestTargetAborts checks that nothing is left, that an empty folder stays, and that two
// restores to one folder do not meet. It is on the disk, because locks in memory are others.
func TestTargetAborts(t *testing.T) {
	for _, existed := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "above", "new")
		if existed {
			place(t, Disk, dir+"/")
		}
		target, err := NewTarget(Disk, dir)
		if err != nil {
			t.Fatal(err)
		}
		someFiles().write(t, Disk, target.Folder())
		if free, err := Free(Disk, target.Folder()); err != nil || free == 0 {
			t.Errorf("free: %d, %v", free, err)
		}
		if err := target.Abort(); err != nil {
			t.Fatal(err)
		}
		names, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(names) != map[bool]int{false: 0, true: 1}[existed] {
			t.Errorf("existed %v: left %v, %v", existed, names, err)
		}
		if inside, _ := os.ReadDir(dir); len(inside) != 0 {
			t.Errorf("existed %v: left inside %v", existed, inside)
		}
	}
}

// TestTargetLocked checks that a second restore to the same folder is refused and leaves the
// first one's files.
func TestTargetLocked(t *testing.T) {
	fsys := vfs.NewMem()
	first, err := NewTarget(fsys, "/new")
	if err != nil {
		t.Fatal(err)
	}
	someFiles().write(t, fsys, first.Folder())
	if _, err := NewTarget(fsys, "/new"); err == nil || !strings.Contains(err.Error(), "another process restores to it") {
		t.Errorf("a second restore: %v", err)
	}
	if err := errors.Join(someFiles().same(fsys, first.Folder()), first.Abort()); err != nil {
		t.Fatal(err)
	}
	again, err := NewTarget(fsys, "/new")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Abort(); err != nil {
		t.Fatal(err)
	}
}
