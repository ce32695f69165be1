package engine

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"pixd/actors/pix"
	"pixd/cmd/serving"
	"pixd/wal/waltest"
)

// countdown is a context that is cancelled when it has been asked a number of times.
type countdown struct {
	context.Context
	left, asked atomic.Int64
}

func newCountdown(n int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(n)
	return c
}

func (c *countdown) Err() error {
	c.asked.Add(1)
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestStopDuringStart stops a start at every place where it looks, and checks that everything is
// closed, that the next start finds all data, and that the start looks once for each batch that
// it verifies, each record of the registry, and each open payment of the simulator.
func TestStopDuringStart(t *testing.T) {
	fs := vfs.NewCrashableMem()
	w := newHarness(t, fs, func(c *Config) { c.SettleDelay = time.Hour })
	id, _ := pix.ParseAccountID(w.ID)
	for n := range 20 {
		if err := w.Registry.SetActive(id, n%2 == 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a@x.example", "b@x.example", "c@x.example"} {
		w.payout(key, 100)
	}
	_, balance := w.balance()
	crashed := fs.CrashClone(vfs.CrashCloneCfg{}) // nothing is verified yet
	w.stop()
	before := goleak.IgnoreCurrent()
	var asked int64
	for n := int64(0); ; n++ {
		copied := crashed.CrashClone(vfs.CrashCloneCfg{})
		ctx := newCountdown(n)
		c := Defaults()
		c.DataDir, c.FS, c.AdminToken, c.Log, c.Starting = "data", copied, "token", w.Config.Log, ctx
		c.Listen, c.AdminListen, c.SettleDelay = waltest.FreePorts(t, 1, 1)[0], waltest.FreePorts(t, 1, 1)[0], time.Hour
		s, err := Serve(c, Build{})
		if err == nil {
			if asked = ctx.asked.Load(); s.Shutdown() != nil {
				t.Error("shutdown")
			}
			break
		}
		if !errors.Is(err, serving.ErrStopped) || err.Error() != serving.ErrStopped.Error() {
			t.Fatalf("stopped at place %d: %v", n, err)
		}
		for _, address := range []string{c.Listen, c.AdminListen} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatalf("stopped at place %d: %v", n, err)
			}
			_ = l.Close()
		}
		if n%10 == 0 {
			goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2")) // it wakes every 10 s to find that its server has ended
			again := serveHarness(t, copied, func(c *Config) { c.SettleDelay = time.Hour })
			again.ID, again.Key, again.Sec = w.ID, w.Key, w.Sec
			if status, got := again.balance(); status != 200 || got != balance {
				t.Fatalf("stopped at place %d: %d %s, want %s", n, status, got, balance)
			}
			again.stop()
		}
	}
	if asked < 50 {
		t.Errorf("the start looked %d times", asked)
	}
}
