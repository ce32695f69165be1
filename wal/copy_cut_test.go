package wal

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCopyOutlivesACut checks that a copy is on the disk once Copy returns.
func TestCopyOutlivesACut(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs, ReadOnly: true})
	_, _, want := s.Head()
	closeStore(t, s)
	if err := Copy(fs, harnessDir, "/copies/one", func(int64, int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	left, err := Open(Options{Dir: "/copies/one", FS: fs.CrashClone(vfs.CrashCloneCfg{}), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := left.Verify(nil, nil); err != nil {
		t.Error(err)
	}
	if _, _, got := left.Head(); got != want {
		t.Errorf("the sum is %x, was %x", got, want)
	}
	closeStore(t, left)
}

// TestFailedOwnerFileFreesTheFolder checks that a folder whose file with the owner cannot be written is not locked
// afterwards.
func TestFailedOwnerFileFreesTheFolder(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	full := onWrite(fs, func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, "/"+ownerName) {
			return errors.New("full")
		}
		return nil
	})
	if _, err := Open(Options{Dir: harnessDir, FS: full}); err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatal(err)
	}
	s, err := Open(Options{Dir: harnessDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}
