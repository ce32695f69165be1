package wal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// closedStore makes a store of some batches on a new file system and closes it.
func closedStore(t *testing.T, opts Options) (*vfs.MemFS, *harness) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	opts.Dir, opts.FS = harnessDir, fs
	s := mustOpen(t, opts)
	w := newHarness(5)
	if err := errors.Join(w.run(s, 50), s.Close()); err != nil {
		t.Fatal(err)
	}
	return fs, w
}

// refuses checks that Open returns an error that contains all words, and leaves the files
// as they were.
func refuses(t *testing.T, fs *vfs.MemFS, opts Options, words ...string) {
	t.Helper()
	opts.Dir, opts.FS = harnessDir, fs
	before := listing(t, fs)
	s, err := Open(opts)
	if err == nil {
		t.Fatalf("opened; Head %v", s.durableHead())
	}
	for _, word := range append(words, "wal: open "+harnessDir+": ") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
	if after := listing(t, fs); !slices.Equal(before, after) {
		t.Errorf("files changed: %d before, %d after", len(before), len(after))
	}
}

// listing lists every file of the store with its content.
func listing(t *testing.T, fs *vfs.MemFS) (all []string) {
	t.Helper()
	for _, dir := range []string{harnessDir, harnessDir + "/" + storeName} {
		names, err := fs.List(dir)
		if err != nil {
			continue
		}
		slices.Sort(names)
		for _, n := range names {
			path := dir + "/" + n
			if n == "lock" || n == "LOCK" || n == "owner" || n == storeName {
				continue
			}
			all = append(all, fmt.Sprintf("%s %x", path, readAll(t, fs, path)))
		}
	}
	return all
}

func TestMissingAnchorRefused(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	if err := fs.Remove(harnessDir + "/anchor"); err != nil {
		t.Fatal(err)
	}
	refuses(t, fs, Options{}, `"anchor" is missing`)
}

func TestDamagedAnchorRefused(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	if err := writeFile(fs, harnessDir+"/anchor", make([]byte, slotGap+slotLen)); err != nil {
		t.Fatal(err)
	}
	refuses(t, fs, Options{}, `"anchor" is damaged in both slots`)
}

// TestTornAnchorSlot checks that Open uses the anchor's older slot where the newer one is
// torn.
func TestTornAnchorSlot(t *testing.T) {
	fs, w := closedStore(t, Options{AnchorEvery: time.Hour})
	newest, _, err := readAnchor(fs, harnessDir)
	if err != nil {
		t.Fatal(err)
	}
	data := readAll(t, fs, harnessDir+"/anchor")
	data[slotGap*(newest.generation%2)+20] ^= 1
	if err := writeFile(fs, harnessDir+"/anchor", data); err != nil {
		t.Fatal(err)
	}
	older, ok, err := readAnchor(fs, harnessDir)
	if err != nil || !ok || older.generation != newest.generation-1 {
		t.Fatalf("%+v %t %v after %+v", older, ok, err, newest)
	}
	s, _, err := w.judge(fs, len(w.entries), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again, _, _ := readAnchor(fs, harnessDir); again.at != newest.at {
		t.Errorf("the anchor stands at %+v, stood at %+v", again.at, newest.at)
	}
}

// TestShorterJournalRefused checks that Open refuses an older state of the journal together
// with a newer anchor.
func TestShorterJournalRefused(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	w := newHarness(5)
	if err := w.run(s, 20); err != nil {
		t.Fatal(err)
	}
	older := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := errors.Join(w.run(s, 20), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(older, harnessDir+"/anchor", readAll(t, fs, harnessDir+"/anchor")); err != nil {
		t.Fatal(err)
	}
	refuses(t, older, Options{}, "the journal ends at batch", "its anchor says that it reached")
	refuses(t, older, Options{ReadOnly: true}, "the journal ends at batch")
	refuses(t, older, Options{Doubtful: true}, "the journal ends at batch")
	doubtful(t, older, "the journal ends at batch", 20)
}

// doubtful checks that Open with Doubtful opens a store whose batches cannot be verified, says
// why they cannot, and lets the records be read that are left.
func doubtful(t *testing.T, fs *vfs.MemFS, why string, atLeast uint64) {
	t.Helper()
	before := listing(t, fs)
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs, ReadOnly: true, Doubtful: true})
	if err := s.Doubt(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v does not say %q", err, why)
	}
	read := uint64(0)
	r, err := s.Verify(func(Record) error { read++; return nil }, nil)
	if read < atLeast || read != r.Records {
		t.Errorf("%d records were read: %+v, %v", read, r, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := listing(t, fs); !slices.Equal(before, after) {
		t.Errorf("files changed: %d before, %d after", len(before), len(after))
	}
}

// TestDoubtful checks that a store whose newest batch is damaged can be read up to the damage,
// and that there is no doubt about a whole store.
func TestDoubtful(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs, ReadOnly: true, Doubtful: true})
	newest, _, _ := s.Head()
	if err := errors.Join(s.Doubt(), s.Close()); err != nil {
		t.Error(err)
	}
	spoil(t, fs, func(db *pebble.DB) error {
		v, _, err := get(source{from: db}, BatchKey(newest))
		if err != nil {
			return err
		}
		v[len(v)-1] ^= 1
		return errors.Join(db.Set(BatchKey(newest), v, pebble.Sync), db.Delete(metaKey(markName), pebble.Sync))
	})
	refuses(t, fs, Options{ReadOnly: true}, fmt.Sprintf("batch %d", newest))
	doubtful(t, fs, fmt.Sprintf("batch %d", newest), 10)
}

// TestOtherJournalRefused checks that Open refuses a store together with another store's
// anchor.
func TestOtherJournalRefused(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	other := vfs.NewCrashableMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: other})
	w := newHarness(77)
	if err := errors.Join(w.run(s, 200), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(other, harnessDir+"/anchor", readAll(t, fs, harnessDir+"/anchor")); err != nil {
		t.Fatal(err)
	}
	refuses(t, other, Options{}, "has the sum", "its anchor says")
}

func TestHardSettings(t *testing.T) {
	fs, _ := closedStore(t, Options{Hard: map[string]string{"ispb": "12345678"}})
	refuses(t, fs, Options{Hard: map[string]string{"ispb": "87654321"}}, `"ispb"`, `"12345678"`, `"87654321"`)
	refuses(t, fs, Options{Hard: map[string]string{"ispb": "12345678", "x": "y"}}, `"x" is not in the store`, `"y"`)
	for _, hard := range []map[string]string{nil, {"ispb": "12345678"}} {
		s := mustOpen(t, Options{Dir: harnessDir, FS: fs, Hard: hard})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// spoil changes one key of a closed store directly in Pebble.
func spoil(t *testing.T, fs FS, change func(*pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open(harnessDir+"/"+storeName, Options{FS: fs}.withDefaults().pebbleOptions(newFailure(), &flushNotes{}))
	if err == nil {
		err = errors.Join(change(db), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ofFormat sets the format of a closed store.
func ofFormat(t *testing.T, fs FS, format string) {
	t.Helper()
	spoil(t, fs, func(db *pebble.DB) error {
		return db.Set(metaKey(hardPrefix+settingFormat), []byte(format), pebble.Sync)
	})
}

func TestNewerFormatRefused(t *testing.T) {
	fs, _ := closedStore(t, Options{})
	ofFormat(t, fs, "11")
	refuses(t, fs, Options{}, "written by a newer version", "format 11")
	for _, format := range []string{"0", "-1", "x", ""} {
		ofFormat(t, fs, format)
		refuses(t, fs, Options{}, `"format"`)
	}
}

// TestFormatRaised checks that a store of an earlier format is opened, that an opening which does
// not write leaves its format, and that one which does makes it this version's for good.
func TestFormatRaised(t *testing.T) {
	for _, earlier := range []string{"1", "2", "3", "4", "5", "7"} {
		formatRaised(t, earlier)
	}
}

func formatRaised(t *testing.T, earlier string) {
	t.Helper()
	fs, _ := closedStore(t, Options{})
	ofFormat(t, fs, earlier)
	for _, c := range []struct {
		readOnly bool
		want     string
	}{{true, earlier}, {false, "9"}, {true, "9"}} {
		s, err := Open(Options{Dir: harnessDir, FS: fs, ReadOnly: c.readOnly, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok, err := s.HardSetting(settingFormat); got != c.want || !ok || err != nil {
			t.Errorf("read-only %v: format %q (%v)", c.readOnly, got, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpoiledKeys checks that Open or Verify finds changes of keys and values which only
// the chain of checksums can detect.
func TestSpoiledKeys(t *testing.T) {
	row := func(db *pebble.DB, key []byte) []byte {
		v, closer, err := db.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = closer.Close() }()
		return slices.Clone(v)
	}
	superfluous := []string{"a record too many", "a record too many in a segment", "a record twice", "a place row too many", "a place row after the last", "a place row between"}
	for name, change := range map[string]func(db *pebble.DB) error{
		"a record changed": func(db *pebble.DB) error {
			v := row(db, keyOf(db, 1, 2))
			v[recordHead] ^= 1
			return db.Set(keyOf(db, 1, 2), v, pebble.Sync)
		},
		"the newest batch row's time changed": func(db *pebble.DB) error {
			it, err := db.NewIter(&pebble.IterOptions{LowerBound: BatchKey(0), UpperBound: []byte{batchPrefix + 1}})
			if err != nil {
				return err
			}
			it.Last()
			k, v := slices.Clone(it.Key()), slices.Clone(it.Value())
			v[8]++
			return errors.Join(db.Set(k, v, pebble.Sync), it.Close())
		},
		"a record gone": func(db *pebble.DB) error { return db.Delete(keyOf(db, 1, 2), pebble.Sync) },
		"a stream's newest record gone": func(db *pebble.DB) error {
			it, err := db.NewIter(&pebble.IterOptions{LowerBound: keyOf(db, 1, 1), UpperBound: keyOf(db, 1, 1<<62)})
			if err != nil {
				return err
			}
			it.Last()
			return errors.Join(db.Delete(slices.Clone(it.Key()), pebble.Sync), it.Close())
		},
		"a record too many": func(db *pebble.DB) error {
			return db.Set(RecordKey(900, 1), Seal(0, Record{Stream: 900, Seq: 1}).Value, pebble.Sync)
		},
		"a record too many in a segment": func(db *pebble.DB) error {
			return db.Set(place{segment: 1}.key(900, 1), Seal(0, Record{Stream: 900, Seq: 1}).Value, pebble.Sync)
		},
		"a record twice": func(db *pebble.DB) error {
			return db.Set(place{segment: 7}.key(1, 2), row(db, keyOf(db, 1, 2)), pebble.Sync)
		},
		"a place row gone":           func(db *pebble.DB) error { return db.Delete(placeKey(1, 1), pebble.Sync) },
		"a place row changed":        func(db *pebble.DB) error { return db.Set(placeKey(1, 1), []byte{0, 0, 0, 2}, pebble.Sync) },
		"a place row cut":            func(db *pebble.DB) error { return db.Set(placeKey(1, 1), []byte{1}, pebble.Sync) },
		"a place row too many":       func(db *pebble.DB) error { return db.Set(placeKey(900, 1), []byte{0, 0, 0, 1}, pebble.Sync) },
		"a place row after the last": func(db *pebble.DB) error { return db.Set(placeKey(1, 1<<40), []byte{0, 0, 0, 1}, pebble.Sync) },
		"a place row between":        func(db *pebble.DB) error { return db.Set(placeKey(1, 2), []byte{0, 0, 0, 1}, pebble.Sync) },
		"a batch row gone":           func(db *pebble.DB) error { return db.Delete(BatchKey(3), pebble.Sync) },
		"a batch row changed":        func(db *pebble.DB) error { return db.Set(BatchKey(3), row(db, BatchKey(4)), pebble.Sync) },
	} {
		t.Run(name, func(t *testing.T) {
			fs, _ := closedStore(t, Options{})
			spoil(t, fs, change)
			// Open does not verify batches before the verified mark again, so Verify must
			// find the change.
			s, err := Open(Options{Dir: harnessDir, FS: fs})
			if err == nil {
				_, err = s.Verify(nil, nil)
				if cerr := s.Close(); cerr != nil {
					t.Fatal(cerr)
				}
			}
			var d *Damage
			if !errors.As(err, &d) {
				t.Errorf("Verify says %v", err)
			}
			spoil(t, fs, func(db *pebble.DB) error { return db.Delete(metaKey(markName), pebble.Sync) })
			if !slices.Contains(superfluous, name) { // found only by Verify
				refuses(t, fs, Options{}, "wal: ")
			}
		})
	}
}

// TestManifestBeforeMarker checks that the folder is synced after Pebble's manifest is
// created and before the marker file that names the manifest is created.
func TestManifestBeforeMarker(t *testing.T) {
	var ops []errorfs.Op // the operations that are compared do not overlap, so reading needs no lock
	var mu sync.Mutex
	fs := onWrite(vfs.NewMem(), func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, op)
		return nil
	})
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	synced, markers := true, 0
	for _, op := range ops {
		switch {
		case op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "MANIFEST-") && !strings.Contains(op.Path, "marker."):
			synced = false
		case op.Kind == errorfs.OpFileSync && strings.HasSuffix(op.Path, "/"+storeName):
			synced = true
		case op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "marker.manifest"):
			markers++
			if !synced {
				t.Errorf("%s was made while its manifest's name was not synced", op.Path)
			}
		}
	}
	if markers == 0 {
		t.Error("no marker was made")
	}
}
