package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCreateNew checks that a new file is its owner's alone, and that nothing is created through a
// link, or in place of a file, that somebody else has put at the name.
func TestCreateNew(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(at("file"), at("link")), os.Symlink(at("missing"), at("loose link"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link", "loose link"} {
		if err := createNew(at(name)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("at a %s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(at("file")); err != nil || string(text) != "kept" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if _, err := os.Stat(at("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made through a link: %v", err)
	}
	if err := createNew(at("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(at("new")); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestCreatePrivateReplaces checks that a private file takes the place of a link of its name, and not of what
// the link leads to.
func TestCreatePrivateReplaces(t *testing.T) {
	dir := t.TempDir()
	victim, name := filepath.Join(dir, "victim"), filepath.Join(dir, "name")
	if err := os.WriteFile(victim, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, name); err != nil {
		t.Fatal(err)
	}
	file, err := createPrivate(Disk, name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write([]byte("secret"))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(victim)
	info, lerr := os.Lstat(name)
	if errors.Join(err, lerr) != nil || string(text) != "kept" || info.Mode() != 0o600 {
		t.Errorf("the other file has %q, the new one the mode %v: %v", text, info.Mode(), errors.Join(err, lerr))
	}
}
