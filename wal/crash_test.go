package wal

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var crashSeed = flag.Uint64("crash.seed", 0, "run only this seed of the crash test")

// TestCrash simulates power failures before randomly chosen writes, also while the store is
// being created, opened and closed, and checks the store that each of them leaves. Then the
// test goes on with one of these stores.
func TestCrash(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() || raceEnabled {
		seeds = 6
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		if *crashSeed != 0 && seed != *crashSeed {
			continue
		}
		if err := crashStory(seed, smallOptions()); err != nil {
			t.Fatalf("seed %d: %v\nrepeat: go test ./wal -run 'TestCrash$' -crash.seed=%d -count=20", seed, err, seed)
		}
	}
}

// TestCrashFindsMutations checks that the crash test fails for a store that releases
// entries before they are synced.
func TestCrashFindsMutations(t *testing.T) {
	opts := smallOptions()
	opts.sync = pebble.NoSync
	opts.AnchorEvery = time.Hour // otherwise the comparison with the anchor would find the error before the crash test does
	for seed := uint64(1); seed <= 40; seed++ {
		if err := crashStory(seed, opts); err != nil {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Fatal("a store that releases before the sync passed the crash test")
}

// cut is a simulated power failure: what the disk had, and how many entries had been
// released before.
type cut struct {
	fs       *vfs.MemFS
	released int
}

func crashStory(seed uint64, opts Options) error {
	w := newHarness(seed)
	fs := vfs.NewCrashableMem()
	for generation := range 3 {
		cuts, err := crashRun(w, fs, opts)
		if err != nil {
			return fmt.Errorf("generation %d: %w", generation, err)
		}
		next := w.rng.IntN(len(cuts))
		for i, c := range cuts {
			s, _, err := w.judge(c.fs, c.released, smallOptions())
			if err != nil {
				return fmt.Errorf("generation %d, cut %d of %d: %w", generation, i, len(cuts), err)
			}
			if err := s.Close(); err != nil {
				return err
			}
		}
		// The test goes on with the disk of the chosen cut: a store that was opened after
		// one power failure must survive the next one.
		fs = cuts[next].fs
		s, alive, err := w.judge(fs, cuts[next].released, smallOptions())
		if err != nil {
			return fmt.Errorf("generation %d, opened again: %w", generation, err)
		}
		if err := w.restart(s, alive); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// crashRun opens the store, appends entries and closes it, and collects simulated power
// failures on the way.
func crashRun(w *harness, fs *vfs.MemFS, opts Options) ([]cut, error) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 2))
	var cuts []cut
	power := func(errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(25) == 0 && len(cuts) < 24 {
			c := cut{released: w.releasedCount()} // counted before the disk is copied: these entries must be on the copy
			c.fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng})
			cuts = append(cuts, c)
		}
		return nil
	}
	opts.Dir, opts.FS = harnessDir, onWrite(fs, power)
	s, err := Open(opts)
	if err != nil {
		return nil, err
	}
	if err := w.run(s, 60+w.rng.IntN(100)); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return append(cuts, cut{fs.CrashClone(vfs.CrashCloneCfg{}), w.releasedCount()}), nil
}
