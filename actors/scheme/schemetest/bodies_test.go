package schemetest

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fasthttp/router"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/httpapi/control"
	simapi "pixd/httpapi/sim"
)

// TestContract runs the contract against simulators on a file system that keeps everything, and
// on a file system that loses unsynced data at each restart.
func TestContract(t *testing.T) {
	t.Run("closed and opened again", func(t *testing.T) {
		t.Parallel()
		testContract(t, func(t *testing.T) body { return closing(t, vfs.NewMem()) })
	})
	t.Run("power cut", func(t *testing.T) {
		t.Parallel()
		testContract(t, func(t *testing.T) body { return crashing(t, vfs.NewCrashableMem()) })
	})
}

// TestContractOverHTTP runs the contract against a simulator that is called over HTTP, with other
// messages beside each call, so that calls and notices travel in groups.
func TestContractOverHTTP(t *testing.T) {
	t.Parallel()
	s := sides{calls: new(atomic.Int64), notices: new(atomic.Int64)}
	t.Cleanup(func() {
		if calls, notices := s.calls.Load(), s.notices.Load(); calls < 20 || notices == 0 {
			t.Errorf("%d groups of calls, %d of notices", calls, notices)
		}
	})
	testContract(t, func(t *testing.T) body { return remote(t, vfs.NewMem(), s) })
}

// TestContractWithoutGroups runs the contract where both sides are of a version that takes single
// messages alone.
func TestContractWithoutGroups(t *testing.T) {
	t.Parallel()
	testContract(t, func(t *testing.T) body { return remote(t, vfs.NewMem(), sides{old: true}) })
}

// TestContractOfProcess runs the contract against a real `pixd sim`. Where a story needs a
// restart, the process is killed and another one started.
func TestContractOfProcess(t *testing.T) {
	t.Parallel()
	testContract(t, func(t *testing.T) body { return apart(t, t.TempDir()) })
}

// TestAcknowledgedIsDone checks that a notice which was acknowledged is not sent again by the
// next process.
func TestAcknowledgedIsDone(t *testing.T) {
	b := closing(t, vfs.NewMem())
	acked, reported := make(chan struct{}), atomic.Int64{}
	if err := b.Start(func(_ scheme.Notice, done func(error)) { done(nil); close(acked) }); err != nil {
		t.Fatal(err)
	}
	b.submit(t, payment(b, "ana@example.com"))
	<-acked
	next := b.Again(t)
	if err := next.Start(func(_ scheme.Notice, done func(error)) { reported.Add(1); done(nil) }); err != nil {
		t.Fatal(err)
	}
	pause(50 * time.Millisecond)
	if n := reported.Load(); n != 0 {
		t.Errorf("reported again %d times", n)
	}
}

func now() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

var drawn atomic.Uint64

func draw() (b [10]byte) {
	n := drawn.Add(1)
	for i := range 8 {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// openSim opens a simulator on the book in fs. The function that it returns closes the simulator,
// once.
func openSim(t *testing.T, fs *vfs.MemFS) (*sim.Sim, func()) {
	t.Helper()
	s, err := sim.Open(sim.Options{
		Dir: "sim", FS: fs, SettleDelay: 30 * time.Millisecond, Now: now, Entropy: draw, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	end := once(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return s, end
}

// once returns a function that calls end the first time.
func once(end func()) func() {
	ended := false
	return func() {
		if !ended {
			ended = true
			end()
		}
	}
}

// bodyOf returns a body whose customers are a simulator's.
func bodyOf(s *sim.Sim) body {
	return body{
		Scheme: s, Now: now, Start: s.Start,
		Pay: func(t *testing.T, k pix.Key, amount pix.Amount, at pix.Millis) string {
			t.Helper()
			paid, _, err := s.Pay(t.Context(), sim.Payment{Key: k.Value, Amount: amount, At: at})
			if err != nil {
				t.Fatal(err)
			}
			return paid
		},
		Payable: func(t *testing.T, k pix.Key) bool {
			t.Helper()
			_, _, err := s.Pay(t.Context(), sim.Payment{Key: k.Value, Amount: 1})
			if err != nil && !errors.Is(err, sim.ErrUnknownKey) {
				t.Fatal(err)
			}
			return err == nil
		},
	}
}

func closing(t *testing.T, fs *vfs.MemFS) body {
	s, end := openSim(t, fs)
	b := bodyOf(s)
	b.Again = func(t *testing.T) body { end(); return closing(t, fs) }
	return b
}

func crashing(t *testing.T, fs *vfs.MemFS) body {
	s, _ := openSim(t, fs)
	b := bodyOf(s)
	b.Again = func(t *testing.T) body {
		return crashing(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 2))}))
	}
	return b
}

// sides says what engine and scheme can do.
type sides struct {
	old            bool          // they take single messages alone
	calls, notices *atomic.Int64 // the groups that came; nil: they are not counted
}

// remote returns a simulator on the book in fs, served over HTTP, and a provider that calls it.
func remote(t *testing.T, fs *vfs.MemFS, how sides) body {
	s, closeSim := openSim(t, fs)
	r := router.New()
	control.Strict(r)
	simapi.Provide(r, s, provider.NewGuard(secret(t), provider.ToScheme, now, nil), quiet)
	o := callOptions(t, serve(t, watched(r.Handler, how.old, how.calls)))
	o.BookPage = 2 // the contract's books have more accounts
	p, err := provider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var notifier *provider.Notifier
	end := once(func() {
		p.Close()
		if notifier != nil {
			notifier.Close()
		}
		closeSim()
	})
	t.Cleanup(end)
	b := bodyOf(s)
	b.Scheme = crowd{p}
	b.Start = func(f scheme.Feed) (err error) {
		engine := watched(noticeHandler(t, alone(f)), how.old, how.notices)
		if notifier, err = provider.NewNotifier(callOptions(t, serve(t, engine))); err != nil {
			return err
		}
		return s.Start(crowded(notifier.Take))
	}
	b.Again = func(t *testing.T) body { end(); return remote(t, fs, how) }
	return b
}
