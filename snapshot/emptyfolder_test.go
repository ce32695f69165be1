package snapshot

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCrashIntoEmptyFolder restores to a folder that exists and is empty, as a mount point is, and cuts the power then:
// what was restored is there.
func TestCrashIntoEmptyFolder(t *testing.T) {
	disk := vfs.NewCrashableMem()
	someFiles().write(t, disk, "/data")
	if err := makeFolder(disk, "/new"); err != nil {
		t.Fatal(err)
	}
	path, err := Create(disk, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(disk, path)
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewTarget(disk, "/new")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unpack(target.Folder(), nil); err != nil {
		t.Fatal(err)
	}
	if err := target.Finish("journal"); err != nil {
		t.Fatal(err)
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{})
	_ = left.Remove("/new/" + restoring + ".lock") // which does no harm
	if err := someFiles().same(left, "/new"); err != nil {
		t.Error(err)
	}
}
