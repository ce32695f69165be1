package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// restoredLoad is how long the load goes on behind the snapshot. A minute makes about as many operations as an hour
// of five a second.
var restoredLoad = flag.Duration("restored.load", 1500*time.Millisecond, "how long TestPairRestored goes on after the snapshot")

// TestPairRestored loses an engine's disk under load, restores a snapshot, kills the engine several times
// while it catches up with the simulator in its own process, and then has every client repeat everything it
// asked for: every payment has happened once, and the books agree.
func TestPairRestored(t *testing.T) {
	t.Parallel()
	p := openPair(t, true)
	s := p.engine.shop()
	engine, sim := p.engine, p.sim
	var sent, reported atomic.Int64
	load := func(long time.Duration, meanwhile func()) {
		var work sync.WaitGroup
		var over atomic.Bool
		stop := make(chan struct{})
		for range 4 {
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = mixed(engine, sim, s, sent.Add(1))
					}
				}
			})
		}
		work.Go(func() { // until the engine is lost, which the scheme does not notice
			for !over.Load() {
				if err := reports(sim, s, reported.Add(1)); err != nil {
					t.Error(err)
				}
				time.Sleep(40 * time.Millisecond)
			}
		})
		time.Sleep(long)
		meanwhile()
		over.Store(true)
		close(stop)
		work.Wait()
	}
	var file string
	load(700*time.Millisecond, func() { file = strings.TrimSuffix(engine.reported("snapshot", "create"), "\n") })
	inSnapshot := sent.Load()
	load(*restoredLoad, func() { engine.end(syscall.SIGKILL) })
	kept := filepath.Join(p.dir, filepath.Base(file))
	dir := filepath.Join(p.dir, "data")
	if err := os.Rename(file, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run(t, nil, "snapshot", "restore", kept, "--data-dir", dir); code != 0 {
		t.Fatal(out, errs)
	}
	for n := range 4 { // it is killed before, while and after it catches up
		one := launch(t, dir, "--listen", p.ports[0], "--admin-listen", p.ports[1], "--scheme", "http://"+p.ports[2], "--scheme-listen", p.ports[3])
		time.Sleep(time.Duration(40+60*n) * time.Millisecond)
		one.end(syscall.SIGKILL)
	}
	p.startEngine()
	if n := sent.Load(); n < inSnapshot+100 {
		t.Fatalf("only %d operations, %d before the snapshot", n, inSnapshot)
	}
	want := int64(1_000_000_000)
	t.Logf("%d operations, %d before the snapshot", sent.Load(), inSnapshot)
	for i := range sent.Load() {
		effect, err := mixed(p.engine, sim, s, i+1)
		if err != nil {
			t.Fatal(err)
		}
		want += effect
	}
	want += 500 * reported.Load()
	if got := settledDown(p.engine, s); got != want {
		t.Errorf("balance %d, want %d after %d operations, %d before the snapshot", got, want, sent.Load(), inSnapshot)
	}
	eventually(t, "every report is a case, and its payment went back once", func() bool {
		cases, refunded := agreesToAll(p.engine)
		return cases == reported.Load() && refunded == 500*cases
	})
	want -= 500 * reported.Load()
	if got := settledDown(p.engine, s); got != want {
		t.Errorf("balance %d, want %d after %d reports", got, want, reported.Load())
	}
	if report := p.engine.reported("audit"); !strings.Contains(report, "scheme's book  compared\ndifferences    0\n") {
		t.Error(report)
	}
	if code := p.engine.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, p.engine.words())
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("balance   %d\npending   0\n", want)) {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
