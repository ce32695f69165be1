package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/spf13/cobra"

	"pixd/cmd/cluster"
	"pixd/cmd/engine"
)

// slowReadsVariable is the environment variable that makes the test binary run an engine; its
// value is the engine's data folder.
const slowReadsVariable = "PIXD_TEST_SLOW_READS"

// playSlowReads runs `pixd serve` on a disk that, after SIGUSR1, delays every read of the
// simulator's tables by a second.
func playSlowReads() {
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	slow := new(atomic.Bool)
	go func() { <-begin; slow.Store(true) }()
	disk := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slow.Load() && op.Kind == errorfs.OpFileReadAt && strings.Contains(op.Path, "/sim/") && strings.HasSuffix(op.Path, ".sst") {
			fmt.Fprintln(os.Stderr, "a slow read")
			time.Sleep(time.Second)
		}
		return nil
	})
	f := serveFlags{Config: engine.Defaults(), cluster: cluster.Defaults(), logFlags: logFlags{format: "text", level: "info"}}
	f.DataDir, f.Listen, f.AdminListen = os.Getenv(slowReadsVariable), "127.0.0.1:0", "127.0.0.1:0"
	f.OrphanAfter, f.FS = slowOrphan, errorfs.Wrap(vfs.Default, disk)
	err := f.understand()
	if err == nil {
		c := &cobra.Command{}
		c.SetContext(context.Background())
		err = f.run(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const slowOrphan = 6 * time.Second

// TestTerminatedUnderSlowReads checks that SIGTERM gives a clean exit while child actors that
// carry payouts read the simulator's book from a slow disk.
func TestTerminatedUnderSlowReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir, "--orphan-after", slowOrphan.String())
	s := p.shop()
	var work sync.WaitGroup
	for w := range 16 { // makes more payouts than fit into the blocks that the start reads
		work.Go(func() {
			for n := w; n < 1000; n += 16 {
				body := fmt.Sprintf(`{"amount":%d,"pix_key":"silent@pix.test","pix_key_type":"email"}`, 1000+n)
				if status, got, err := s.ask(p.merchant, "/pix/cash-out", body, fmt.Sprint("key-", n)); err != nil || status != http.StatusAccepted {
					t.Errorf("%d %s %v", status, got, err)
				}
			}
		})
	}
	work.Wait()
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, p.words())
	}
	p = &process{t: t, cmd: exec.Command(os.Args[0]), dir: dir, ready: make(chan struct{}), exited: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), slowReadsVariable+"="+dir, "PIXD_ADMIN_TOKEN="+token)
	p.begin().awaitReady()
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * slowOrphan); !strings.Contains(p.words(), "a slow read"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was read:\n%s", p.words())
		}
	}
	if code := p.end(syscall.SIGTERM); code != 0 || strings.Contains(p.words(), "panic") {
		t.Errorf("SIGTERM: exit %d\n%s", code, p.words())
	}
}
