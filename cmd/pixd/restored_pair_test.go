package main

import (
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

// TestPairRestored loses an engine's disk under load, restores a snapshot, kills the engine several times
// while it catches up with the simulator in its own process, and then has every client repeat everything it
// asked for: every payment has happened once, and the books agree.
func TestPairRestored(t *testing.T) {
	t.Parallel()
	p := openPair(t, true)
	s := p.engine.shop()
	engine, sim := p.engine, p.sim
	var sent atomic.Int64
	load := func(long time.Duration, meanwhile func()) {
		var work sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = once(engine, sim, s, sent.Add(1))
					}
				}
			})
		}
		time.Sleep(long)
		meanwhile()
		close(stop)
		work.Wait()
	}
	var file string
	load(700*time.Millisecond, func() { file = strings.TrimSuffix(engine.reported("snapshot", "create"), "\n") })
	inSnapshot := sent.Load()
	load(1500*time.Millisecond, func() { engine.end(syscall.SIGKILL) })
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
	for i := range sent.Load() {
		effect, err := once(p.engine, sim, s, i+1)
		if err != nil {
			t.Fatal(err)
		}
		want += effect
	}
	if got := settledDown(p.engine, s); got != want {
		t.Errorf("balance %d, want %d after %d operations, %d before the snapshot", got, want, sent.Load(), inSnapshot)
	}
	if reported := p.engine.reported("audit"); !strings.Contains(reported, "scheme's book  compared\ndifferences    0\n") {
		t.Error(reported)
	}
	if code := p.engine.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, p.engine.words())
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("balance   %d\npending   0\n", want)) {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
