package wal

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCopyLinksTables checks that a copy shares its tables with the store, and no other file, that the store
// is as it was, and that both can be opened.
func TestCopyLinksTables(t *testing.T) {
	from := filepath.Join(t.TempDir(), "a")
	to := filepath.Join(filepath.Dir(from), "b")
	open := func(dir string) *Store {
		return mustOpen(t, Options{Dir: dir, FS: vfs.Default, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	}
	s := open(from)
	changeAll(t, s, OpSet, "value")
	closeStore(t, s)
	var last, of int64
	if err := Copy(vfs.Default, from, to, func(done, total int64) error { last, of = done, total; return nil }); err != nil {
		t.Fatal(err)
	}
	if last != of || of == 0 {
		t.Errorf("%d of %d bytes", last, of)
	}
	met := map[string]bool{}
	err := filepath.WalkDir(to, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		copied, err := os.Stat(name)
		if err != nil {
			return err
		}
		own, err := os.Stat(from + strings.TrimPrefix(name, to))
		if err != nil || copied.Size() != own.Size() {
			t.Errorf("%s has %d bytes, was %+v (%v)", name, copied.Size(), own, err)
			return nil
		}
		if table := strings.HasSuffix(name, ".sst"); os.SameFile(copied, own) != table {
			t.Errorf("%s is shared: %t", name, !table)
		}
		met[filepath.Ext(name)], met[d.Name()] = true, true
		return nil
	})
	if err != nil || !met[".sst"] || !met[anchorName] {
		t.Errorf("met %v, %v", met, err)
	}
	for _, dir := range []string{from, to} {
		s := open(dir)
		if n, values := rowsOf(t, s); n != onceRows || !values["value"] {
			t.Errorf("%s: %d rows, %v", dir, n, values)
		}
		closeStore(t, s)
	}
}
