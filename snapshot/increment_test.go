package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// upon makes an increment of a folder in /snaps and opens it.
func upon(t *testing.T, fsys FS, base *Snapshot, folder string, m *Manifest) *Snapshot {
	t.Helper()
	path, err := Create(fsys, Contents{Folder: folder, Base: base}, "/snaps", m, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// laterFiles are someFiles after some time: a file has changed without changing its size, one is new, one is gone.
func laterFiles() files {
	later := someFiles()
	delete(later, "journal/store/deep/x")
	later["journal/anchor"] = []byte("ANCHOR")
	later["journal/store/000002.sst"] = bytes.Repeat([]byte("new "), 50)
	return later
}

// chain makes a snapshot of someFiles, an increment of laterFiles upon it, and one of those and a further
// file upon that.
func chain(t *testing.T, fsys FS) (all []*Snapshot, last files) {
	t.Helper()
	full, err := Open(fsys, createOne(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	laterFiles().write(t, fsys, "/later")
	last = laterFiles()
	last["journal/store/000003.sst"] = []byte("three")
	last.write(t, fsys, "/last")
	second := upon(t, fsys, full, "/later", manifest(1, 8))
	return []*Snapshot{full, second, upon(t, fsys, second, "/last", manifest(2, 9))}, last
}

// TestIncrement checks what increments have, what they need, and that each is unpacked as the folder was.
func TestIncrement(t *testing.T) {
	fsys := vfs.NewMem()
	all, last := chain(t, fsys)
	full, second, third := all[0], all[1], all[2]
	name := func(s *Snapshot) string { return s.Manifest.Name() }
	for _, c := range []struct {
		s        *Snapshot
		format   int
		base     string
		needs    []string
		own      string
		unpacked files
	}{
		{full, 1, "", nil, "journal/anchor journal/lock journal/store/000001.sst journal/store/deep/x", someFiles()},
		{second, 2, name(full), []string{name(full)}, "journal/anchor journal/store/000002.sst", laterFiles()},
		{third, 2, name(second), []string{name(full), name(second)}, "journal/store/000003.sst", last},
	} {
		m := c.s.Manifest
		var own []string
		for _, f := range m.own() {
			own = append(own, f.Name)
		}
		if m.Format != c.format || m.Base != c.base || !slices.Equal(m.Needs(), c.needs) || strings.Join(own, " ") != c.own {
			t.Errorf("%s: format %d, base %q, needs %q, own %q", c.s.Path, m.Format, m.Base, m.Needs(), own)
		}
		var done, total int64
		to := "/unpacked/" + m.Name()
		if err := errors.Join(c.s.Check(nil), c.s.Unpack(to, func(d, of int64) error { done, total = d, of; return nil })); err != nil {
			t.Fatal(err)
		}
		if err := c.unpacked.same(fsys, to); err != nil || done != total || total != m.Size() {
			t.Errorf("%s: %d of %d, %v", c.s.Path, done, total, err)
		}
	}
	if second.Size > full.Size/10 || third.Size > full.Size/10 {
		t.Errorf("sizes %d, %d and %d", full.Size, second.Size, third.Size)
	}
	if m := third.Manifest; m.in(name(full))[0].Name != "journal/lock" || m.in(name(second))[1].Name != "journal/store/000002.sst" {
		t.Errorf("%+v", m.Files)
	}
}

// TestIncrementSteps checks that progress never falls and ends at its total, and that no base but one in the
// folder of the snapshots will do.
func TestIncrementSteps(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	var last, total int64
	path, err := Create(fsys, Contents{Folder: "/later", Base: all[0]}, "/snaps", manifest(3, 10), func(done, of int64) error {
		if done < last || done > of {
			t.Errorf("%d after %d of %d", done, last, of)
		}
		last, total = done, of
		return nil
	})
	if err != nil || last != total || total == 0 {
		t.Errorf("%s: %d of %d, %v", path, last, total, err)
	}
	if _, err := Create(fsys, Contents{Folder: "/later", Base: all[0]}, "/elsewhere", manifest(3, 10), nil); err == nil || !strings.Contains(err.Error(), "is not in the folder") {
		t.Errorf("a base elsewhere: %v", err)
	}
	if left, _ := fsys.List("/elsewhere"); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// TestSums checks that a file whose checksum is known is read only to be packed, and that a checksum of other
// bytes is found then.
func TestSums(t *testing.T) {
	fsys := vfs.NewMem()
	full, err := Open(fsys, createOne(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, f := range full.Manifest.Files {
		known[f.Name] = f.SHA256
	}
	opened := map[string]int{}
	counting := errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpen && strings.HasPrefix(op.Path, "/data/") {
			opened[op.Path]++
		}
		return nil
	}))
	const large = "journal/store/000001.sst"
	for _, c := range []struct {
		what string
		c    Contents
		want int
	}{
		{"nothing is known", Contents{Folder: "/data"}, 2},
		{"the sums are known", Contents{Folder: "/data", Sums: known}, 1},
		{"the base has it", Contents{Folder: "/data", Base: full}, 1},
		{"the sums are known and the base has it", Contents{Folder: "/data", Sums: known, Base: full}, 0},
	} {
		clear(opened)
		path, err := Create(counting, c.c, "/snaps", manifest(1, 8), nil)
		if err != nil || opened["/data/"+large] != c.want {
			t.Errorf("%s: opened %d times, %v", c.what, opened["/data/"+large], err)
		}
		s, err := Open(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		to := "/unpacked/" + strings.ReplaceAll(c.what, " ", "-")
		if err := errors.Join(s.Unpack(to, nil), someFiles().same(fsys, to)); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if _, err := Create(fsys, Contents{Folder: "/data", Sums: map[string]string{large: known["journal/anchor"]}}, "/snaps", manifest(2, 9), nil); err == nil ||
		!strings.Contains(err.Error(), large+" has changed: its SHA-256 was") {
		t.Errorf("the sum of another file: %v", err)
	}
}

// TestIncrementRefused checks increments without what they need, and with manifests that no increment has.
func TestIncrementRefused(t *testing.T) {
	none := vfs.NewMem()
	chain(t, none)
	if err := none.Remove("/snaps/pixd-20260131T120001Z-8.snap"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(none, "/snaps/pixd-20260131T120002Z-9.snap")
	if err == nil || !strings.Contains(err.Error(), "it is an increment and needs pixd-20260131T120001Z-8.snap, which is not beside it") {
		t.Errorf("a base is missing: %v", err)
	}
	half := vfs.NewMem()
	chain(t, half)
	overwrite(t, half, "/snaps/pixd-20260131T120000Z-7.snap", []byte("half"))
	_, err = Open(half, "/snaps/pixd-20260131T120002Z-9.snap")
	if err == nil || !strings.Contains(err.Error(), "it is an increment and needs pixd-20260131T120000Z-7.snap: it is no snapshot") {
		t.Errorf("a base is no snapshot: %v", err)
	}
	other := vfs.NewMem()
	chain(t, other)
	changed := someFiles()
	changed["journal/store/000001.sst"] = []byte("of another journal")
	changed.write(t, other, "/other")
	if err := other.Remove("/snaps/pixd-20260131T120000Z-7.snap"); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, Contents{Folder: "/other"}, "/snaps", manifest(0, 7), nil); err != nil {
		t.Fatal(err)
	}
	_, err = Open(other, "/snaps/pixd-20260131T120002Z-9.snap")
	if err == nil || !strings.Contains(err.Error(), "needs journal/store/000001.sst of pixd-20260131T120000Z-7.snap, which that does not have") {
		t.Errorf("another snapshot has the base's name: %v", err)
	}
	const base = "pixd-20260131T110000Z-5.snap"
	for name, change := range map[string]func(m *Manifest){
		"a full one with a base":       func(m *Manifest) { m.Base = base },
		"an increment without a base":  func(m *Manifest) { m.Format = FormatIncrement },
		"a full one that takes a file": func(m *Manifest) { m.Files[0].In = base },
		"a base that is a path":        func(m *Manifest) { m.Format, m.Base = FormatIncrement, "../"+base },
		"a file of a path":             func(m *Manifest) { m.Format, m.Base, m.Files[0].In = FormatIncrement, base, "/etc/"+base },
		"a file of itself":             func(m *Manifest) { m.Format, m.Base, m.Files[0].In = FormatIncrement, base, m.Name() },
		"itself as its base":           func(m *Manifest) { m.Format, m.Base = FormatIncrement, m.Name() },
	} {
		m := manifest(0, 7)
		m.Files = []File{{Name: "a", SHA256: "00"}}
		change(m)
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(b); err == nil || !strings.Contains(err.Error(), "the manifest has the format") && !strings.Contains(err.Error(), "the manifest takes files from") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIncrementOfDamaged flips bytes all over a base: the increment is unpacked as it should be, or refused, with
// the base's name.
func TestIncrementOfDamaged(t *testing.T) {
	fsys := vfs.NewMem()
	all, last := chain(t, fsys)
	path := all[0].Path
	whole, err := readFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := 0; i < len(whole); i += 1 + len(whole)/60 {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		overwrite(t, fsys, path, b)
		s, err := Open(fsys, all[2].Path)
		if err == nil {
			err = errors.Join(s.Check(nil), s.Unpack("/new", nil))
		}
		if err == nil {
			err = last.same(fsys, "/new")
		} else if refused++; strings.Contains(err.Error(), "pixd-20260131T120000Z-7.snap") {
			err = nil
		}
		if err != nil {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := fsys.RemoveAll("/new"); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 50 {
		t.Errorf("%d refused", refused)
	}
}

// TestListIncrements checks that an increment without what it needs comes before the usable snapshots,
// and one whose base lacks something of its own does not matter to others.
func TestListIncrements(t *testing.T) {
	fsys := vfs.NewMem()
	all, _ := chain(t, fsys)
	fourth := upon(t, fsys, all[2], "/later", manifest(3, 10)) // needs the first two and the third
	if got := left(t, fsys); got != "0 1 2 3" {
		t.Errorf("listed %s", got)
	}
	if !slices.Equal(fourth.Manifest.Needs(), []string{all[0].Manifest.Name(), all[1].Manifest.Name(), all[2].Manifest.Name()}) {
		t.Errorf("needs %q", fourth.Manifest.Needs())
	}
	if err := fsys.Remove(all[1].Path); err != nil {
		t.Fatal(err)
	}
	if got := left(t, fsys); got != "bad bad 0" {
		t.Errorf("listed %s", got)
	}
	if at, ok, err := Newest(fsys, "/snaps"); err != nil || !ok || at.Second() != 0 {
		t.Errorf("newest %v, %v, %v", at, ok, err)
	}
	removed, err := Retain(fsys, "/snaps", "", 1, 1)
	if err != nil || len(removed) != 0 {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// TestRetainIncrements checks that what is kept keeps what it needs, and that nothing else is kept.
func TestRetainIncrements(t *testing.T) {
	// Each snapshot is upon the one of the second that bases has at its place; -1: it is full.
	for _, c := range []struct {
		bases []int
		keep  int
		room  int64
		made  int
		want  string
	}{
		{[]int{-1, 0, 1, 2}, 1, 0, 3, "0 1 2 3"},
		{[]int{-1, 0, 1, -1, 3}, 2, 0, 4, "3 4"},
		{[]int{-1, 0, 1, -1, 3}, 3, 0, 4, "0 1 2 3 4"},
		{[]int{-1, 0, 0, 0}, 1, 0, 3, "0 3"},
		{[]int{-1, 0, 0, 0}, 2, 0, 3, "0 2 3"},
		{[]int{-1, -1, 0, -1}, 1, 0, 3, "3"},
		{[]int{-1, -1, 0, -1}, 2, 0, 3, "0 2 3"},
		{[]int{-1, 0, -1, -1}, 1, 0, 1, "0 1 3"},
		{[]int{-1, 0, 1, 2}, 0, 1, 3, "0 1 2 3"},
		{[]int{-1, 0, 1, -1}, 0, 1, 3, "3"},
		{[]int{-1, 0, 1, 2}, 0, 0, 3, "0 1 2 3"},
	} {
		fsys := vfs.NewMem()
		var made []*Snapshot
		for i, b := range c.bases {
			// Each has a file of its own and all those before it, so that each needs all before it up to the full one.
			files{"journal/" + string(rune('a'+i)): []byte{byte(i)}}.write(t, fsys, "/data")
			var base *Snapshot
			if b >= 0 {
				base = made[b]
			}
			made = append(made, upon(t, fsys, base, "/data", manifest(i, uint64(10+i))))
		}
		var gone []string
		removed, err := Retain(fsys, "/snaps", made[c.made].Path, c.keep, c.room)
		for _, s := range made {
			if _, err := fsys.Stat(s.Path); errors.Is(err, fs.ErrNotExist) {
				gone = append(gone, s.Path)
			}
		}
		slices.Sort(removed)
		if got := left(t, fsys); err != nil || got != c.want || !reflect.DeepEqual(gone, removed) {
			t.Errorf("%v, keep %d, room %d: left %q, want %q; removed %q, gone %q, %v", c.bases, c.keep, c.room, got, c.want, removed, gone, err)
		}
	}
}

// TestSameSecond makes snapshots at the same second and position: none takes the place of one that another
// needs, or that it needs itself, and one that nobody needs is replaced.
func TestSameSecond(t *testing.T) {
	fsys := vfs.NewMem()
	full, err := Open(fsys, createOne(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	laterFiles().write(t, fsys, "/later")
	m := manifest(0, 7)
	first := upon(t, fsys, full, "/later", m)
	if m.CreatedAt.Second() != 1 || first.Manifest.Name() != m.Name() || !strings.HasSuffix(first.Path, "20260131T120001Z-7.snap") {
		t.Errorf("the first increment is %s", first.Path)
	}
	if again := upon(t, fsys, nil, "/later", manifest(0, 7)); again.Manifest.CreatedAt.Second() != 1 || again.Manifest.Base != "" {
		t.Errorf("a full one in the same second is %s", again.Path) // nobody needs the first increment
	}
	second := upon(t, fsys, full, "/later", manifest(0, 7))
	third := upon(t, fsys, second, "/later", manifest(0, 7))
	if got := left(t, fsys); got != "0 1 2" || third.Manifest.CreatedAt.Second() != 2 {
		t.Errorf("left %s", got)
	}
	if err := errors.Join(third.Unpack("/new", nil), laterFiles().same(fsys, "/new"), full.Unpack("/old", nil), someFiles().same(fsys, "/old")); err != nil {
		t.Error(err)
	}
}

// TestCrashIncrement cuts the power before each write of an increment and of the retention after it. What
// is listed then is usable, and the base is there.
func TestCrashIncrement(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	disk := vfs.NewCrashableMem()
	base := createOne(t, disk)
	laterFiles().write(t, disk, "/later")
	if _, err := Create(disk, Contents{Folder: "/later"}, "/snaps", oldest(), nil); err != nil {
		t.Fatal(err)
	}
	work := func(fsys FS) (string, error) {
		if err := Sweep(fsys, "/snaps"); err != nil {
			return "", err
		}
		full, err := Open(fsys, base)
		if err != nil {
			return "", err
		}
		path, err := Create(fsys, Contents{Folder: "/later", Base: full}, "/snaps", manifest(1, 8), nil)
		if err == nil {
			_, err = Retain(fsys, "/snaps", path, 1, 0)
		}
		return path, err
	}
	var cuts []*vfs.MemFS
	if _, err := work(onWrite(disk, func() error {
		cuts = append(cuts, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng}))
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	made := 0
	for i, cut := range cuts {
		all, err := List(cut, "/snaps")
		if err != nil || len(all) == 0 {
			t.Fatal(i, err)
		}
		for _, l := range all {
			if err := errors.Join(l.Err, l.Check(nil)); err != nil {
				t.Errorf("cut %d: %v", i, err)
			}
			if l.Manifest.Base != "" {
				made++
				if err := errors.Join(l.Unpack("/new", nil), laterFiles().same(cut, "/new")); err != nil {
					t.Errorf("cut %d: %v", i, err)
				}
			}
		}
		if _, err := work(cut); err != nil {
			t.Errorf("cut %d, a second try: %v", i, err)
		}
		if got := left(t, cut); got != "0 1" {
			t.Errorf("cut %d: a second try leaves %s", i, got)
		}
	}
	if len(cuts) < 8 || made == 0 {
		t.Errorf("%d cuts, %d with the increment", len(cuts), made)
	}
}

// oldest is the manifest of a snapshot from before all others.
func oldest() *Manifest {
	m := manifest(0, 1)
	m.CreatedAt = m.CreatedAt.Add(-time.Hour)
	return m
}
