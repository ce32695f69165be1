package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		token, err := TokenIn(dir)
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

// TestUnreadableToken checks that a file which cannot be read is not replaced: every operator's token would be void.
func TestUnreadableToken(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, TokenFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if token, err := TokenIn(dir); err == nil || token != "" {
		t.Errorf("%q (%v)", token, err)
	}
}
