package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	simN    = flag.Int("sim.n", 300, "how many lives from fresh seeds")
	simFrom = flag.Uint64("sim.from", 0, "the first of the seeds; 0: fresh ones")
)

// TestLives lives many lives. A seed that fails is told with the command that
// repeats it, and belongs into testdata/kept.txt.
func TestLives(t *testing.T) {
	if *simSeed != "" {
		seed, err := strconv.ParseUint(*simSeed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		l, err := run(seed)
		t.Log("\n" + l.told.String())
		if err != nil {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(l.wrong, "\n"))
		}
		return
	}
	seeds := keptSeeds(t)
	from := *simFrom
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	for i := range *simN {
		seeds = append(seeds, from+uint64(i))
	}
	began := time.Now()
	failed := lives(seeds)
	took := time.Since(began)
	t.Logf("%d lives in %v, %.0f a second", len(seeds), took.Round(time.Millisecond), float64(len(seeds))/took.Seconds())
	slices.Sort(failed)
	for _, f := range failed[:min(len(failed), 5)] {
		t.Error(f)
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d lives failed", len(failed), len(seeds))
	}
}

// lives lives them on all processors, and says what was wrong.
func lives(seeds []uint64) (failed []string) {
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
				if _, err := run(seeds[i]); err != nil {
					mu.Lock()
					failed = append(failed, fmt.Sprintf("seed %d: %v\nrepeat: make sim SEED=%d", seeds[i], err, seeds[i]))
					mu.Unlock()
				}
			}
		})
	}
	work.Wait()
	return failed
}

// keptSeeds are those that have failed once.
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

// TestRepeats: a seed gives the same life, to the letter.
func TestRepeats(t *testing.T) {
	for seed := range uint64(10) {
		a, _ := run(seed)
		b, _ := run(seed)
		if a.told.String() != b.told.String() {
			t.Fatalf("seed %d lived two different lives", seed)
		}
	}
}
