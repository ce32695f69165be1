package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// files are the files of a small folder, by their paths.
type files map[string][]byte

// someFiles returns files of several sizes: an empty one, small ones, one in a folder of a
// folder, and one of several chunks that does not compress.
func someFiles() files {
	large := make([]byte, 3*chunk+17)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range large {
		large[i] = byte(rng.Uint32())
	}
	return files{
		"journal/anchor": []byte("anchor"), "journal/lock": nil, "journal/store/000001.sst": large,
		"journal/store/deep/x": bytes.Repeat([]byte("again "), 100),
	}
}

func (f files) write(t testing.TB, fsys FS, folder string) {
	t.Helper()
	for name, b := range f {
		path := fsys.PathJoin(folder, name)
		if err := fsys.MkdirAll(fsys.PathDir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(bytes.Clone(b)); err != nil { // under the race detector a file in memory changes what it is given
			t.Fatal(err)
		}
		if err := errors.Join(file.Sync(), file.Close(), syncFolder(fsys, fsys.PathDir(path))); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{folder, fsys.PathDir(folder)} {
		if err := syncFolder(fsys, dir); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns all files below a folder.
func read(fsys FS, folder string) (files, error) {
	names, _, err := walk(fsys, folder, "")
	if err != nil {
		return nil, err
	}
	all := files{}
	for _, name := range names {
		if all[name], err = readFile(fsys, fsys.PathJoin(folder, name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readFile(fsys FS, name string) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(file)
	return b, errors.Join(err, file.Close())
}

// same returns an error where the files below a folder are not f.
func (f files) same(fsys FS, folder string) error {
	got, err := read(fsys, folder)
	if err != nil {
		return err
	}
	for name := range got {
		if _, ok := f[name]; !ok {
			return fmt.Errorf("%s is too many", name)
		}
	}
	for name, b := range f {
		if g, ok := got[name]; !ok || !bytes.Equal(g, b) {
			return fmt.Errorf("%s has %d bytes (there: %v), want %d", name, len(g), ok, len(b))
		}
	}
	return nil
}

// manifest returns a manifest without files.
func manifest(second int, position uint64) *Manifest {
	at := time.Date(2026, 1, 31, 12, 0, second, 0, time.UTC)
	return &Manifest{
		Format: Format, CreatedAt: at, Engine: "1.2.3", Accounts: 2,
		Logs:    []Log{{Position: position, Time: at.Add(-time.Minute), Sum: "00112233aabbccdd"}},
		Balance: new(big.Int).Lsh(big.NewInt(1), 70), Pending: big.NewInt(12), MEDHeld: big.NewInt(0), SimDir: "/var/lib/pixd/sim",
	}
}

// create makes a snapshot of someFiles in /snaps and returns its path.
func createOne(t testing.TB, fsys FS) string {
	t.Helper()
	someFiles().write(t, fsys, "/data")
	path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// overwrite replaces a file's bytes.
func overwrite(t *testing.T, fsys FS, name string, b []byte) {
	t.Helper()
	file, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(bytes.Clone(b)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// onWrite calls before ahead of each write, sync, creation, renaming and removal.
func onWrite(fsys FS, before func() error) FS {
	return errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return before()
		}
		return nil
	}))
}
