package engine

import (
	"os"
	"path/filepath"
	"testing"

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
	_, err := VerifySnapshot(SnapshotOptions{File: file, TempDir: temp, Progress: func(Progress) {
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
