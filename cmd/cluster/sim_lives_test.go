package cluster

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
	"testing/synctest"
	"time"
)

var (
	simSeed = flag.String("sim.seed", "", "live this one life, and tell it")
	simN    = flag.Int("sim.n", 0, "how many lives from fresh seeds; 0: 200, or 20 under the race detector")
	simFrom = flag.Uint64("sim.from", 0, "the first of the seeds; 0: fresh ones, and those that were kept")
	simEnd  = flag.Bool("sim.first", false, "end at the first life that fails")
)

// TestLives runs many lives. It prints each seed that fails with the command that repeats it; such a
// seed belongs into testdata/kept.txt.
func TestLives(t *testing.T) {
	if *simSeed != "" {
		seed, err := strconv.ParseUint(*simSeed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		l := run(t, seed, true)
		t.Log("\n" + l.story.String())
		if err := l.failed(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return
	}
	seeds := chosenSeeds(t)
	began := time.Now()
	failed, _ := lives(t, seeds)
	took := time.Since(began)
	t.Logf("%d lives in %v, %.0f a second", len(seeds), took.Round(time.Millisecond), float64(len(seeds))/took.Seconds())
	slices.SortFunc(failed, func(a, b failure) int { return cmp.Compare(a.seed, b.seed) })
	for _, f := range failed[:min(len(failed), 5)] {
		t.Errorf("seed %d: %v\nrepeat: make nodes SEED=%d", f.seed, f.err, f.seed)
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d lives failed", len(failed), len(seeds))
	}
}

func chosenSeeds(t *testing.T) (seeds []uint64) {
	from := *simFrom
	if from == 0 {
		seeds, from = keptSeeds(t), uint64(time.Now().UnixNano())
	}
	n := *simN
	if n == 0 {
		n = 200
		if raceEnabled || testing.Short() {
			n = 20
		}
	}
	for i := range n {
		seeds = append(seeds, from+uint64(i))
	}
	return seeds
}

// failure is a seed whose life failed a check, and the failed check.
type failure struct {
	seed uint64
	err  error
}

// lives runs the lives of all seeds on all processors. It returns the lives that failed and how often
// each event happened in all of them.
func lives(t *testing.T, seeds []uint64) (failed []failure, seen map[string]int) {
	seen = map[string]int{}
	template()
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var mu sync.Mutex
	var work sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(seeds)); i = next.Add(1) - 1 {
				l := run(t, seeds[i], false)
				mu.Lock()
				for what, n := range l.seen {
					seen[what] += n
				}
				if err := l.failed(); err != nil {
					failed = append(failed, failure{seeds[i], err})
					if *simEnd { // all seeds before this one are done or running
						next.Store(int64(len(seeds)))
					}
				}
				mu.Unlock()
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

// TestLivesRepeat checks that two runs of one seed tell the same story.
func TestLivesRepeat(t *testing.T) {
	for seed := range uint64(10) {
		a, b := run(t, seed, true), run(t, seed, true)
		if a.story.String() != b.story.String() {
			t.Fatalf("seed %d lived two different lives", seed)
		}
	}
}

// rareEvents must all happen in a normal run.
var rareEvents = []string{
	"write acknowledged", "read", "look", "payment submitted", "notice acknowledged", "takeover", "handover", "fenced",
	"crash that loses data", "crash that keeps data", "frozen", "frozen at the check", "frozen behind the check",
	"frozen before an append", "frozen behind an append", "frozen behind the door", "cut off", "held", "deaf", "mute", "late calls arrive", "trimmed",
	"refused at the door", "two nodes serve", "a watch was not believed",
}

// TestNothingIsRareInLives checks that lives meet what they are there for.
func TestNothingIsRareInLives(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("too few lives")
	}
	var seeds []uint64
	for i := range uint64(60) {
		seeds = append(seeds, i+1)
	}
	_, seen := lives(t, seeds)
	for _, what := range rareEvents {
		t.Logf("%-26s %d", what, seen[what])
		if seen[what] < 5 {
			t.Errorf("%s: %d times in %d lives", what, seen[what], len(seeds))
		}
	}
}

// run runs the life of one seed. A life is in a bubble of its own, whose clock stands still while
// anything in it can go on.
func run(t *testing.T, seed uint64, tells bool) (l *life) {
	first := template()
	synctest.Test(t, func(*testing.T) {
		l = newLife(seed, tells, first)
		defer func() {
			if p := recover(); p != nil {
				l.fail("panic: %v\n%s", p, debug.Stack())
			}
			l.close()
		}()
		l.live()
		l.heal()
		l.judge()
	})
	return l
}

func (l *life) failed() error {
	if len(l.wrong) == 0 {
		return nil
	}
	return errors.New(l.wrong[0])
}

// fail notes that a check has failed.
func (l *life) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.tell("WRONG: %s", text)
	l.wrong = append(l.wrong, text)
}
