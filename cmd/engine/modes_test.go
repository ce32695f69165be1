package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFilesArePrivate checks that nobody but the owner can read what an engine keeps, also in a
// data folder that others may look into: each file has mode 0600, or lies in a folder of mode
// 0700.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the folder that others may look into
		t.Fatal(err)
	}
	w := newHarness(t, nil, func(c *Config) { c.DataDir = dir })
	c := w.Config
	c.AdminToken = ""
	if _, err := adminToken(&c); err != nil {
		t.Fatal(err)
	}
	w.snap()
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		seen[e.Name()] = true
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %o", path, mode)
		}
		if e.IsDir() && filepath.Base(path) != "snapshots" {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || !seen[journalFolder] || !seen["snapshots"] || !seen[TokenFile] {
		t.Errorf("%v: only %v", err, seen)
	}
}
