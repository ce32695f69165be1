package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFlippedByteInLog flips bytes of the newest log after a simulated power failure. If a
// flip loses a batch that is not after the batch in the anchor, Open must refuse the store.
// Batches after the anchor may be lost without an error; docs/formats-wal.md describes
// this.
func TestFlippedByteInLog(t *testing.T) {
	for _, anchored := range []bool{true, false} {
		t.Run(fmt.Sprintf("anchored=%t", anchored), func(t *testing.T) {
			w, fs, position := flipStory(t, anchored)
			name := newestFile(t, fs, ".log")
			data := readAll(t, fs, name)
			lost, refused := flipSome(t, w, fs, name, data, position)
			t.Logf("%s, %d bytes: %d flips refused, %d lost batches after the anchor", name, len(data), refused, lost)
			if refused == 0 {
				t.Error("no flip was ever noticed: the test does not reach what it means to")
			}
			if anchored && lost > 0 {
				t.Error("everything was anchored, nothing may be lost in silence")
			}
		})
	}
}

// flipStory appends entries to a store and simulates a power failure. It returns the
// position that the anchor names.
func flipStory(t *testing.T, anchored bool) (*harness, *vfs.MemFS, uint64) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	opts := Options{Dir: harnessDir, FS: fs, AnchorEvery: time.Hour}
	s := mustOpen(t, opts)
	w := newHarness(99)
	if err := w.run(s, 200); err != nil {
		t.Fatal(err)
	}
	if anchored {
		if err := s.writeAnchor(s.durableHead()); err != nil {
			t.Fatal(err)
		}
	}
	position := s.anchored.Position
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return w, clone, position
}

// flipSome flips randomly chosen bytes of one file, one at a time, and checks the store
// after each flip. One of eight may be among the zeros at the file's end.
func flipSome(t *testing.T, w *harness, fs *vfs.MemFS, name string, data []byte, anchored uint64) (lost, refused int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	flips := 200
	if testing.Short() || raceEnabled {
		flips = 30
	}
	written := len(bytes.TrimRight(data, "\x00"))
	for i := range flips {
		at := rng.IntN(written)
		if i%8 == 0 {
			at = rng.IntN(len(data))
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{})
		bad := slices.Clone(data)
		bad[at] ^= 1 << rng.IntN(8)
		if err := writeFile(clone, name, bad); err != nil {
			t.Fatal(err)
		}
		s, _, err := w.judge(clone, len(w.entries), Options{AnchorEvery: time.Hour})
		switch {
		case err == nil:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(err.Error(), "is lost"):
			lost++
			if p := survived(t, clone); p < anchored {
				t.Fatalf("byte %d of %s: the journal ends at batch %d, was anchored at %d, and opened", at, name, p, anchored)
			}
		case strings.HasPrefix(err.Error(), "wal: "):
			refused++
		default:
			t.Fatalf("byte %d of %s: unclear: %v", at, name, err)
		}
	}
	return lost, refused
}

func survived(t *testing.T, fs FS) uint64 {
	t.Helper()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	p, _, _ := s.Head()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFlippedByteInTable flips bytes of the tables of a closed store, and checks that no
// flip loses an entry without an error of Open or Verify.
func TestFlippedByteInTable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	w := newHarness(98)
	if err := errors.Join(w.run(s, 300), s.Close()); err != nil {
		t.Fatal(err)
	}
	base := fs.CrashClone(vfs.CrashCloneCfg{})
	name := newestFile(t, base, ".sst")
	lost, refused := flipSome(t, w, base, name, readAll(t, base, name), 0)
	t.Logf("%d flips refused", refused)
	if lost > 0 || refused == 0 {
		t.Errorf("%d flips lost something in silence, %d were refused", lost, refused)
	}
}

func newestFile(t *testing.T, fs FS, suffix string) string {
	t.Helper()
	names, err := fs.List(harnessDir + "/" + storeName)
	if err != nil {
		t.Fatal(err)
	}
	best, size := "", int64(0)
	for _, n := range names {
		if !strings.HasSuffix(n, suffix) {
			continue
		}
		info, err := fs.Stat(harnessDir + "/" + storeName + "/" + n)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > size {
			best, size = harnessDir+"/"+storeName+"/"+n, info.Size()
		}
	}
	if best == "" {
		t.Fatalf("no file %s in %v", suffix, names)
	}
	return best
}

func readAll(t *testing.T, fs FS, name string) []byte {
	t.Helper()
	data, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
