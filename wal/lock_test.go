package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an entry was taken")
			}
		}()
		s.Append(&Entry{Ops: []Op{{OpSet, rowKey(1, 0), nil}}})
	}()
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

const holdEnv, holdReadEnv = "WAL_TEST_HOLD", "WAL_TEST_HOLD_READ"

// TestHold is the other process of the tests of locks: it has a store open until its input ends.
func TestHold(t *testing.T) {
	o := Options{Dir: os.Getenv(holdEnv)}
	if o.Dir == "" {
		o = Options{Dir: os.Getenv(holdReadEnv), ReadOnly: true}
	}
	if o.Dir == "" {
		return // there is nothing to hold
	}
	s := mustOpen(t, o)
	fmt.Println("holding")
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = s.Close()
}

// heldElsewhere has another process hold the store, and returns its id and what ends it. env says how.
func heldElsewhere(t *testing.T, env, dir string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHold$", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+dir)
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
	return cmd.Process.Pid, func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// refusesFor checks that opening a store is refused because a process has it open.
func refusesFor(t *testing.T, pid int, o Options) {
	t.Helper()
	s, err := Open(o)
	if want := fmt.Sprintf("wal: open %s: in use by process %d", o.Dir, pid); err == nil || err.Error() != want {
		t.Errorf("read only %v: got %v %v, want %s", o.ReadOnly, s, err, want)
	}
}

// TestInUse checks InUse while another process has the store open.
func TestInUse(t *testing.T) {
	dir := t.TempDir()
	pid, end := heldElsewhere(t, holdEnv, dir)
	// A killed process leaves its number behind, and a reader does not write its own.
	if err := os.WriteFile(dir+"/owner", []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusesFor(t, pid, Options{Dir: dir})
	refusesFor(t, pid, Options{Dir: dir, ReadOnly: true})
	refusesFor(t, pid, Options{Dir: dir, FS: readOnlyMedium(vfs.Default), ReadOnly: true})
	want := fmt.Sprintf("wal: open %s: in use by process %d", dir, pid)
	if err := InUse(dir); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	end()
	if err := InUse(dir); err != nil {
		t.Error(err)
	}
	s := mustOpen(t, Options{Dir: dir})
	for range 2 { // a refused look leaves this process its lock
		refusesFor(t, os.Getpid(), Options{Dir: dir})
		refusesFor(t, os.Getpid(), Options{Dir: dir, ReadOnly: true})
		if err := InUse(dir); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprint("process ", os.Getpid())) {
			t.Errorf("in use by this process: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := InUse(dir); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// TestReadersShare checks that several processes may read a store at once, that none may write it
// meanwhile, and that a reader's lock lasts until it closes the store.
func TestReadersShare(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	pid, end := heldElsewhere(t, holdReadEnv, dir)
	if err := InUse(dir); err != nil {
		t.Errorf("nobody writes it: %v", err)
	}
	s := mustOpen(t, Options{Dir: dir, ReadOnly: true})
	refusesFor(t, os.Getpid(), Options{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refusesFor(t, pid, Options{Dir: dir})
	end()
	if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadersChangeNoFile checks that neither a reader nor InUse changes any file on the disk, nor the
// time of its last change.
func TestReadersChangeNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1_700_000_000, 0)
	list := func() (all []string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				all = append(all, fmt.Sprint(path, info.Size(), info.ModTime().Equal(old)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, name := range []string{"", lockName, anchorName, storeName} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	before := list()
	s := mustOpen(t, Options{Dir: dir, ReadOnly: true})
	if err := errors.Join(s.Close(), InUse(dir)); err != nil {
		t.Fatal(err)
	}
	if after := list(); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}
