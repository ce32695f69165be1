//go:build unix

package engine

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pixd/cmd/journal"
	"pixd/cmd/serving"
	"pixd/cmd/simulator"
)

// TestFilesArePrivate checks that nobody but the owner can read what an engine keeps, also in a
// data folder that others may look into: each file has mode 0600, or lies in a folder of mode
// 0700. The process's umask takes nothing away.
func TestFilesArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
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
	if err != nil || !seen[journal.Folder] || !seen["snapshots"] || !seen[serving.TokenFile] {
		t.Errorf("%v: only %v", err, seen)
	}
}

// TestFoldersArePrivate checks that the data folders which an engine and a simulator make are for their
// owner alone.
func TestFoldersArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	engine, sim := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "sim")
	if err := (&Engine{Config: Config{DataDir: engine}}).makeFolder(); err != nil {
		t.Fatal(err)
	}
	c := simulator.Defaults()
	c.DataDir, c.Listen, c.AdminToken, c.SchemeSecret = sim, "127.0.0.1:0", strings.Repeat("t", 32), schemeWord
	c.Engine, c.Log = "http://127.0.0.1:1", slog.New(slog.DiscardHandler)
	s, err := simulator.Serve(c, Build{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{engine, sim} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v (%v)", dir, info.Mode(), err)
		}
	}
}
