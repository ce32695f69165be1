package wal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func TestReadOnly(t *testing.T) {
	fs, w := closedStore(t, Options{})
	before := listing(t, fs)
	s, _, err := w.judge(fs, len(w.entries), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, fs); !slices.Equal(before, after) {
		t.Errorf("files changed: %d before, %d after", len(before), len(after))
	}
	refuses(t, vfs.NewCrashableMem(), Options{ReadOnly: true})
}

// TestUnwritableFolder checks the error of Open on a folder that refuses every write, as a
// read-only mount does.
func TestUnwritableFolder(t *testing.T) {
	for _, created := range []bool{false, true} {
		fs := vfs.NewCrashableMem()
		if created {
			fs, _ = closedStore(t, Options{})
		}
		ro := onWrite(fs, func(op errorfs.Op) error {
			return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
		})
		_, err := Open(Options{Dir: harnessDir, FS: ro})
		if err == nil || !strings.Contains(err.Error(), "read-only file system") || strings.Contains(err.Error(), "in use") {
			t.Errorf("created=%t: %v", created, err)
		}
	}
}

// readOnlyMedium returns a file system on which every write fails as on a read-only mount.
func readOnlyMedium(fs FS) FS {
	return onWrite(fs, func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileClose {
			return nil
		}
		return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
	})
}

// TestReadOnlyMedium checks that a store on a read-only medium can be read, with its lock files
// and without them, and that nothing is tried to be written where it could be.
func TestReadOnlyMedium(t *testing.T) {
	for _, without := range [][]string{nil, {"/lock", "/" + storeName + "/LOCK"}} {
		fs, w := closedStore(t, Options{})
		for _, name := range without {
			if err := fs.Remove(harnessDir + name); err != nil {
				t.Fatal(err)
			}
		}
		before := everyFile(t, fs)
		for _, on := range []FS{fs, readOnlyMedium(fs)} {
			s, _, err := w.judge(on, len(w.entries), Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Verify(nil, nil); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if after := everyFile(t, fs); !slices.Equal(before, after) {
				t.Errorf("without %s: %d files before, %d after", without, len(before), len(after))
			}
		}
	}
}

// everyFile lists every file below the harness's folder with its content, lock files too.
func everyFile(t *testing.T, fs *vfs.MemFS) (all []string) {
	t.Helper()
	for _, dir := range []string{harnessDir, harnessDir + "/" + storeName} {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, n := range names {
			if n != storeName {
				all = append(all, fmt.Sprintf("%s/%s %x", dir, n, readAll(t, fs, dir+"/"+n)))
			}
		}
	}
	return all
}

const holdEnv = "WAL_TEST_HOLD"

// TestInUse checks InUse while another process has the store open.
func TestInUse(t *testing.T) {
	if dir := os.Getenv(holdEnv); dir != "" {
		s := mustOpen(t, Options{Dir: dir})
		fmt.Println("holding")
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = s.Close()
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestInUse$", "-test.v")
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for buf, seen := make([]byte, 256), ""; !strings.Contains(seen, "holding"); {
		n, err := out.Read(buf)
		if seen += string(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, seen)
		}
	}
	// A killed process leaves its number behind, and a reader does not write its own.
	if err := os.WriteFile(dir+"/owner", []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: dir})
	want := fmt.Sprintf("wal: open %s: in use by process %d", dir, cmd.Process.Pid)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for name, fs := range map[string]FS{"disk": nil, "read-only mount": readOnlyMedium(vfs.Default)} {
		if s, err := Open(Options{Dir: dir, FS: fs, ReadOnly: true}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v %v, want %s", name, s, err, want)
		}
	}
	if err := InUse(dir); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := InUse(dir); err != nil {
		t.Error(err)
	}
	s := mustOpen(t, Options{Dir: dir})
	_, err = Open(Options{Dir: dir})
	if want := fmt.Sprintf("in use by process %d", os.Getpid()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
