package wal

import (
	"errors"
	"fmt"
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

// TestBrokenOffCopyCannotBeOpened ends a copy after each of its files but the last: what is there is no store.
func TestBrokenOffCopyCannotBeOpened(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	enough := errors.New("enough")
	for files := 1; ; files++ {
		to, copied := fmt.Sprint("/copies/", files), 0
		err := Copy(fs, harnessDir, to, func(done, total int64) error {
			if copied++; copied == files && done < total {
				return enough
			}
			return nil
		})
		if err == nil {
			if files < 4 {
				t.Errorf("a store of %d files", files)
			}
			return
		}
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		if s, err := Open(Options{Dir: to, FS: fs, ReadOnly: true}); err == nil {
			t.Errorf("%d files of a store are opened", files)
			closeStore(t, s)
		}
	}
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
