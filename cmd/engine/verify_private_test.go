package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pixd/cmd/journal"
	"pixd/snapshot"
)

// TestVerifySnapshotAlone checks that the verification of a snapshot follows nothing that others
// have put into the folder for temporary files, that its own folder is for its owner alone, and
// that it leaves nothing there.
func TestVerifySnapshotAlone(t *testing.T) {
	t.Parallel()
	fs, from := snapshotOf(t)
	dir := t.TempDir()
	file := filepath.Join(dir, filepath.Base(from))
	if err := os.WriteFile(file, contents(t, fs, from), 0o600); err != nil {
		t.Fatal(err)
	}
	temp, victim := t.TempDir(), filepath.Join(dir, "victim")
	for _, name := range []string{".unpacked", ".unpacked.restoring", ".unpacked.restoring.lock"} {
		if err := os.Symlink(victim, filepath.Join(temp, filepath.Base(file)+name)); err != nil {
			t.Fatal(err)
		}
	}
	looked := false
	_, err := journal.VerifySnapshot(journal.SnapshotOptions{File: file, TempDir: temp, Progress: func(journal.Progress) {
		found, _ := filepath.Glob(filepath.Join(temp, "pixd-verify-*"))
		for _, name := range found {
			if info, err := os.Stat(name); err == nil {
				if looked = true; info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v", name, info.Mode())
				}
			}
		}
	}})
	if err != nil || !looked {
		t.Errorf("%v; the folder was seen: %v", err, looked)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("a link of somebody else was followed")
	}
	if names, _ := os.ReadDir(temp); len(names) != 3 {
		t.Errorf("left: %v", names)
	}
	if _, err := snapshot.Open(snapshot.Disk, file); err != nil {
		t.Error(err)
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	looks atomic.Int64
}

func (e *endsAfter) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestVerifySnapshotStopped ends the verification of a snapshot at each look at its context: it
// stops there, in each of its stages, and leaves nothing behind.
func TestVerifySnapshotStopped(t *testing.T) {
	t.Parallel()
	fs, from := snapshotOf(t)
	file := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.WriteFile(file, contents(t, fs, from), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := map[string]bool{}
	for looks := int64(0); ; looks++ {
		temp, stage := t.TempDir(), ""
		ctx := &endsAfter{Context: t.Context()}
		ctx.looks.Store(looks)
		_, err := journal.VerifySnapshot(journal.SnapshotOptions{File: file, TempDir: temp, Context: ctx, Progress: func(p journal.Progress) { stage = p.Stage }})
		if names, _ := os.ReadDir(temp); len(names) != 0 {
			t.Errorf("stopped after %d looks (%s), left: %v", looks, stage, names)
		}
		if err == nil {
			break
		}
		if stopped[stage] = true; !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d looks (%s): %v", looks, stage, err)
		}
	}
	for _, stage := range []string{"checksum", "files", "records", "rows", "tables"} {
		if !stopped[stage] {
			t.Errorf("never stopped in %s; stopped in %v", stage, stopped)
		}
	}
}
