package snapshot

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/klauspost/compress/zstd"
)

// TestRoundTrip checks that a snapshot has the folder's files and the manifest, and counts its
// steps up to the total.
func TestRoundTrip(t *testing.T) {
	fsys := vfs.NewMem()
	someFiles().write(t, fsys, "/data")
	var last, all int64
	path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps/deep", manifest(0, 7), func(done, total int64) error {
		if done < last || done > total {
			t.Errorf("%d after %d of %d", done, last, total)
		}
		last, all = done, total
		return nil
	})
	if err != nil || path != "/snaps/deep/pixd-20260131T120000Z-7.snap" || last != all || all == 0 {
		t.Fatal(path, last, all, err)
	}
	s, err := Open(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest(0, 7)
	got := *s.Manifest
	got.Files = nil
	if !reflect.DeepEqual(&got, want) || s.Manifest.Size() != 3*chunk+17+6+600 || len(s.Manifest.Files) != 4 {
		t.Errorf("manifest %+v", s.Manifest)
	}
	steps := 0
	count := func(_, _ int64) error { steps++; return nil }
	if err := errors.Join(s.Check(count), s.Unpack("/new", count)); err != nil || steps < 6 {
		t.Fatal(steps, err)
	}
	if err := someFiles().same(fsys, "/new"); err != nil {
		t.Error(err)
	}
	if left, _ := fsys.List("/snaps/deep"); len(left) != 1 {
		t.Errorf("beside the snapshot: %q", left)
	}
}

// TestPlainTools checks that the file is what zstd and tar read, that its last bytes are the
// SHA-256 of all before them, and that only its owner may read it.
func TestPlainTools(t *testing.T) {
	dir := t.TempDir()
	someFiles().write(t, Disk, dir+"/data")
	path, err := Create(Disk, Contents{Folder: dir + "/data"}, dir+"/snaps", manifest(0, 7), nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		t.Errorf("the file ends with %x, the SHA-256 before it is %x", sum, want)
	}
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	archive := tar.NewReader(z)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if _, err := io.Copy(io.Discard, z); err != nil {
		t.Errorf("behind the archive: %v", err)
	}
	if got := strings.Join(names, " "); got != "manifest.json journal/anchor journal/lock journal/store/000001.sst journal/store/deep/x" {
		t.Errorf("the archive has %s", got)
	}
	s, err := Open(Disk, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unpack(filepath.Join(dir, "new"), nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new/journal/anchor")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("an unpacked file: %v, %v", info, err)
	}
}

// TestFlippedBytes flips bytes all over a snapshot: Open or Check finds each.
func TestFlippedBytes(t *testing.T) {
	fsys := vfs.NewMem()
	path := createOne(t, fsys)
	whole, err := readFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	places := []int{0, 1, 4, 5, 100, len(whole) - 1, len(whole) - 32, len(whole) - 33, len(whole) - 40, len(whole) - 41}
	for i := 0; i < len(whole); i += 1 + len(whole)/200 {
		places = append(places, i)
	}
	for _, i := range places {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		overwrite(t, fsys, path, b)
		if s, err := Open(fsys, path); err == nil && s.Check(nil) == nil {
			t.Errorf("a flipped bit of byte %d is not found", i)
		}
	}
}

// TestTruncated cuts a snapshot at many lengths: Open refuses each without reading further.
func TestTruncated(t *testing.T) {
	fsys := vfs.NewMem()
	path := createOne(t, fsys)
	whole, err := readFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 39, 40, 41, 1000, len(whole) / 2, len(whole) - 40, len(whole) - 1} {
		overwrite(t, fsys, path, whole[:n])
		if _, err := Open(fsys, path); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	overwrite(t, fsys, path, append(bytes.Clone(whole), whole[len(whole)-40:]...))
	if s, err := Open(fsys, path); err == nil && s.Check(nil) == nil {
		t.Error("bytes behind the end are not found")
	}
}

// TestRefused checks files that are no snapshots of this version.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *Manifest)
		want   string
	}{
		{"newer", func(m *Manifest) { m.Format = 3 }, "a newer version of pixd made it: format 3, this version reads up to 2"},
		{"a path out of the folder", func(m *Manifest) { m.Files[0].Name = "../x" }, `the manifest names a file "../x"`},
		{"an absolute path", func(m *Manifest) { m.Files[0].Name = "/etc/x" }, `the manifest names a file "/etc/x"`},
		{"the folder itself", func(m *Manifest) { m.Files[0].Name = "." }, `the manifest names a file "."`},
		{"a name twice", func(m *Manifest) { m.Files[1].Name = m.Files[0].Name }, `the manifest names a file "journal/anchor"`},
		{"a negative size", func(m *Manifest) { m.Files[0].Size = -1 }, "of -1 bytes"},
		{"no journal", func(m *Manifest) { m.Logs = nil }, "the manifest is not complete"},
		{"no balance", func(m *Manifest) { m.Balance = nil }, "the manifest is not complete"},
	} {
		fsys := vfs.NewMem()
		path := changed(t, fsys, c.change)
		if _, err := Open(fsys, path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	fsys := vfs.NewMem()
	path := createOne(t, fsys)
	if err := fsys.Rename(path, "/snaps/pixd-20260131T120000Z-8.snap"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fsys, "/snaps/pixd-20260131T120000Z-8.snap"); err == nil || !strings.Contains(err.Error(), "it was renamed: by its manifest it is pixd-20260131T120000Z-7.snap") {
		t.Errorf("renamed: %v", err)
	}
	if _, err := Open(fsys, "/snaps"); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(fsys, "/none.snap"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	b, err := manifest(0, 7).encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(b); err != nil {
		t.Error(err)
	}
	if _, err := decodeManifest(bytes.Replace(b, []byte(`{`), []byte(`{"surprise":2,`), 1)); err == nil || !strings.Contains(err.Error(), "surprise") {
		t.Errorf("a manifest with an unknown field: %v", err)
	}
}

// changed makes a snapshot whose manifest was changed after the files were listed.
func changed(t *testing.T, fsys FS, change func(*Manifest)) string {
	t.Helper()
	someFiles().write(t, fsys, "/data")
	m := manifest(0, 7)
	if err := m.list(fsys, Contents{Folder: "/data"}, nil); err != nil {
		t.Fatal(err)
	}
	whole := *m
	whole.Files = append([]File(nil), m.Files...)
	change(&whole)
	path := "/snaps/" + m.Name()
	if err := fsys.MkdirAll("/snaps", 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(pack(fsys, "/data", &whole, m.Files, file, nil), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnpackRefuses checks snapshots whose manifest names other files than there are.
func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *Manifest)
		want   string
	}{
		{"another checksum", func(m *Manifest) { m.Files[2].SHA256 = m.Files[0].SHA256 }, "the SHA-256 of journal/store/000001.sst is"},
		{"another size", func(m *Manifest) { m.Files[0].Size++ }, `"journal/anchor" of 6 bytes is where "journal/anchor" of 7 bytes should be`},
		{"another name", func(m *Manifest) { m.Files[0].Name = "journal/x" }, `"journal/anchor" of 6 bytes is where "journal/x" of 6 bytes should be`},
		{"a file less", func(m *Manifest) { m.Files = m.Files[:3] }, "there are files that its manifest does not name"},
		{"a file more", func(m *Manifest) { m.Files = append(m.Files, File{Name: "z"}) }, "EOF"},
	} {
		fsys := vfs.NewMem()
		s, err := Open(fsys, changed(t, fsys, c.change))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if err := s.Unpack("/new", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSyncedOften checks that a snapshot is synced after each few MiB.
func TestSyncedOften(t *testing.T) {
	disk := vfs.NewMem()
	large := make([]byte, 5*syncEvery)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range large {
		large[i] = byte(rng.Uint32())
	}
	files{"journal/large": large}.write(t, disk, "/data")
	syncs := 0
	counting := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			syncs++
		}
		return nil
	}))
	if _, err := Create(counting, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil); err != nil || syncs < 4 {
		t.Errorf("%d syncs, %v", syncs, err)
	}
}

// TestStepEnds checks that an error of the step ends each function, and that Create leaves
// nothing.
func TestStepEnds(t *testing.T) {
	fsys := vfs.NewMem()
	s, err := Open(fsys, createOne(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	for after := range 8 {
		left := after
		stop := func(_, _ int64) error {
			if left--; left < 0 {
				return enough
			}
			return nil
		}
		if _, err := Create(fsys, Contents{Folder: "/data"}, "/other", manifest(1, 8), stop); !errors.Is(err, enough) {
			t.Errorf("Create after %d steps: %v", after, err)
		}
		if names, _ := fsys.List("/other"); len(names) != 0 {
			t.Errorf("Create leaves %q after %d steps", names, after)
		}
	}
	stop := func(_, _ int64) error { return enough }
	if err := s.Check(stop); !errors.Is(err, enough) {
		t.Errorf("Check: %v", err)
	}
	if err := s.Unpack("/new", stop); !errors.Is(err, enough) {
		t.Errorf("Unpack: %v", err)
	}
}
