package simulation

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	simSeed = flag.String("sim.seed", "", "live this one life, and tell it")
	simN    = flag.Int("sim.n", 0, "how many lives from fresh seeds; 0: 300, or 30 under the race detector")
	simFrom = flag.Uint64("sim.from", 0, "the first of the seeds; 0: fresh ones, and those that were kept")
	simEnd  = flag.Bool("sim.first", false, "end at the first life that fails")
)

// TestLives runs many lives. It prints each seed that fails with the command that repeats
// it; such a seed belongs into testdata/kept.txt.
func TestLives(t *testing.T) {
	if *simSeed != "" {
		seed, err := strconv.ParseUint(*simSeed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		l, err := run(seed, true)
		t.Log("\n" + l.story.String())
		if err != nil {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(l.wrong, "\n"))
		}
		return
	}
	var seeds []uint64
	from := *simFrom
	if from == 0 {
		seeds, from = keptSeeds(t), uint64(time.Now().UnixNano())
	}
	n := *simN
	if n == 0 {
		n = 300
		if raceEnabled || testing.Short() {
			n = 30
		}
	}
	for i := range n {
		seeds = append(seeds, from+uint64(i))
	}
	began := time.Now()
	failed, _ := lives(seeds)
	took := time.Since(began)
	t.Logf("%d lives in %v, %.0f a second", len(seeds), took.Round(time.Millisecond), float64(len(seeds))/took.Seconds())
	slices.SortFunc(failed, func(a, b failure) int { return cmp.Compare(a.seed, b.seed) })
	for _, f := range failed[:min(len(failed), 5)] {
		t.Errorf("seed %d: %v\nrepeat: make sim SEED=%d", f.seed, f.err, f.seed)
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d lives failed", len(failed), len(seeds))
	}
}

// failure is a seed whose life failed a check, and the failed check.
type failure struct {
	seed uint64
	err  error
}

// lives runs the lives of all seeds on all processors. It returns the lives that failed and
// how often each event happened in all of them.
func lives(seeds []uint64) (failed []failure, seen map[string]int) {
	seen = map[string]int{}
	var mu sync.Mutex
	var work sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(seeds)) {
					return
				}
				l, err := run(seeds[i], false)
				mu.Lock()
				for what, n := range l.seen {
					seen[what] += n
				}
				mu.Unlock()
				if err != nil {
					mu.Lock()
					failed = append(failed, failure{seeds[i], err})
					mu.Unlock()
					if *simEnd { // all seeds before this one are done or running
						next.Store(int64(len(seeds)))
					}
				}
			}
		})
	}
	work.Wait()
	return failed, seen
}

// keptSeeds returns the seeds in testdata/kept.txt. The life of each of them failed once.
func keptSeeds(t *testing.T) (seeds []uint64) {
	b, err := os.ReadFile(filepath.Join("testdata", "kept.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || strings.HasPrefix(word, "#") {
			continue
		}
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatalf("kept.txt: %v", err)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// TestRepeats checks that two runs of one seed write exactly the same log.
func TestRepeats(t *testing.T) {
	for seed := range uint64(10) {
		a, _ := run(seed, true)
		b, _ := run(seed, true)
		if a.story.String() != b.story.String() {
			t.Fatalf("seed %d lived two different lives", seed)
		}
	}
}

// run runs the life of one seed and returns the first check that failed as an error.
func run(seed uint64, tells bool) (l *life, err error) {
	l = &life{}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	l = newLife(seed, tells)
	l.living = true
	l.live()
	l.living = false
	l.contained(l.heal)
	for i := range 3 {
		if len(l.wrong) == 0 {
			l.contained(l.rest)
		}
		if i < 2 && len(l.wrong) == 0 {
			l.contained(l.afterLateSettlement)
		}
	}
	if len(l.wrong) == 0 {
		l.contained(l.judge)
		l.orphans()
	}
	l.copies.atEnd(l)
	if len(l.wrong) == 0 {
		l.crash("the end")
		l.contained(l.judge)
	}
	if len(l.wrong) > 0 {
		return l, errors.New(l.wrong[0])
	}
	return l, nil
}
