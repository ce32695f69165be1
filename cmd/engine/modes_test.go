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
	if err != nil || !seen[journal.Folder] || !seen["snapshots"] || !seen[TokenFile] {
		t.Errorf("%v: only %v", err, seen)
	}
}

// TestTokenFileIsNew checks that a token is not written into a file that others have open or can
// open: an empty one that stands in the data folder already, or a link.
func TestTokenFileIsNew(t *testing.T) {
	for name, made := range map[string]func(path, other string) error{
		"an empty file": func(path, _ string) error { return os.WriteFile(path, nil, 0o644) }, //nolint:gosec // what the test is about
		"a link":        func(path, other string) error { return os.Symlink(other, path) },
	} {
		dir := t.TempDir()
		path, other := filepath.Join(dir, TokenFile), filepath.Join(t.TempDir(), "other")
		if err := made(path, other); err != nil {
			t.Fatal(err)
		}
		before, err := os.Open(path)
		if err == nil {
			defer func() { _ = before.Close() }()
		}
		token, err := adminToken(&Config{DataDir: dir})
		if err != nil || token == "" {
			t.Fatalf("%s: %q %v", name, token, err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
		if _, err := os.Lstat(other); err == nil {
			t.Errorf("%s: it was followed", name)
		}
		if before != nil {
			if now, err := before.Stat(); err != nil || now.Size() != 0 {
				t.Errorf("%s: who had it open reads %d bytes (%v)", name, now.Size(), err)
			}
		}
		if text, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(text)) != token {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFoldersArePrivate checks that the data folders which an engine and a simulator make are for their
// owner alone.
func TestFoldersArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	engine, simulator := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "sim")
	if err := (&Engine{Config: Config{DataDir: engine}}).makeFolder(); err != nil {
		t.Fatal(err)
	}
	c := SimDefaults()
	c.DataDir, c.Listen, c.AdminToken, c.SchemeSecret = simulator, "127.0.0.1:0", strings.Repeat("t", 32), schemeWord
	c.Engine, c.Log = "http://127.0.0.1:1", slog.New(slog.DiscardHandler)
	s, err := ServeSim(c, Build{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{engine, simulator} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v (%v)", dir, info.Mode(), err)
		}
	}
}
