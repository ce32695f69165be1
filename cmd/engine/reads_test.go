package engine

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	readsFrom = flag.Int("reads.from", 1, "the first read of a run to fail")
	readsStep = flag.Int("reads.step", 0, "and every so many after it; 0: two reads of each place in the code that reads.places counts")
	readsEach = flag.Int("reads.places", 0, "every so many places; 0: some")
	readsAt   = flag.Int("reads.at", 0, "fail only this one")
)

// readFault makes one read of the journal fail, once.
type readFault struct {
	at    int    // number of the read that fails, counted from 1; of site's reads, unless that is empty
	site  string // the place in the code whose read fails
	mu    sync.Mutex
	count int
	of    map[string]int // how many reads each place in the code has made
	hit   string         // the place of the read that failed
	when  int            // the number of that read
}

func (f *readFault) read() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.hit != "" || f.site == "" && f.at != 0 && f.count != f.at {
		return nil
	}
	site := place()
	if f.of == nil {
		f.of = map[string]int{}
	}
	if f.of[site]++; f.at == 0 || f.site != "" && (f.site != site || f.of[site] != f.at) {
		return nil
	}
	f.hit, f.when = site, f.count
	return errRead
}

// errRead is the error of a read that fails.
var errRead = fmt.Errorf("a read that the test lets fail: %w", syscall.EIO)

func (f *readFault) met() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// place names the place in the code that reads: the functions of package wal in the call, and
// the three that called them.
func place() string {
	var call [24]uintptr
	n := runtime.Callers(3, call[:])
	if name, known := places.Load(call); known {
		return name.(string)
	}
	var names []string
	frames := runtime.CallersFrames(call[:n])
	for others := 0; others < 3; {
		f, more := frames.Next()
		if name, ours := strings.CutPrefix(f.Function, "pixd/"); ours {
			names = append(names, name)
			if !strings.HasPrefix(name, "wal.") {
				others++
			}
		}
		if !more {
			break
		}
	}
	name := strings.Join(names, " < ")
	places.Store(call, name)
	return name
}

// places has the names of the places that are known, by the call.
var places sync.Map

// failRead makes one read fail in a run on a copy of the folder. reached reports whether the run
// had that read, refused whether the failure ended the start.
func failRead(t *testing.T, folder *vfs.MemFS, f *readFault) (reached, refused bool, err error) {
	synctest.Test(t, func(*testing.T) {
		r := newReadRun(folder.CrashClone(vfs.CrashCloneCfg{}))
		r.config.readFault = f.read
		err = r.live(func() bool { return f.met() != "" })
		reached, refused = f.met() != "", r.refused
	})
	return reached, refused, err
}

// TestFailedRead makes one read of the journal fail, in each run another one: during the start
// of an engine on a folder with work of every kind under way, and while it works. It checks that
// a start ends with an error, or the engine goes on; that nothing is lost, done twice or
// forgotten; and that the next start finds everything right.
func TestFailedRead(t *testing.T) {
	folder := halfDone(t)
	all := &readFault{}
	if _, _, err := failRead(t, folder, all); err != nil {
		t.Fatalf("no read failed, and: %v", err)
	}
	refused, n := 0, 0
	fail := func(f *readFault) bool {
		reached, ended, err := failRead(t, folder, f)
		if err != nil {
			t.Fatalf("read %d, by %s: %v\nrepeat: go test ./cmd/engine -run 'TestFailedRead$' -reads.at=%d -count=20", f.when, f.hit, err, f.when)
		}
		if reached {
			n++
		}
		if ended {
			refused++
		}
		return reached
	}
	switch {
	case *readsAt != 0:
		fail(&readFault{at: *readsAt})
		return
	case *readsStep != 0:
		for at := *readsFrom; fail(&readFault{at: at}); at += *readsStep {
			continue
		}
	default:
		for _, site := range somePlaces(all) {
			fail(&readFault{site: site, at: 1})
			if made := all.of[site]; made > 1 {
				fail(&readFault{site: site, at: 2 + rand.IntN(made-1)})
			}
		}
	}
	t.Logf("%d reads failed, of about %d at %d places; %d ended the start", n, all.count, len(all.of), refused)
	if n < 5 {
		t.Error("hardly any failure was met")
	}
}

// somePlaces returns the places of which this test lets reads fail.
func somePlaces(all *readFault) (some []string) {
	step := *readsEach
	switch {
	case step > 0:
	case testing.Short():
		step = 32
	default:
		step = 6
	}
	for i, site := range slices.Sorted(maps.Keys(all.of)) {
		if i%step == 0 {
			some = append(some, site)
		}
	}
	return some
}
