//go:build unix

package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	if err != nil || !seen[journalFolder] || !seen["snapshots"] || !seen[TokenFile] {
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
