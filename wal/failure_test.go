package wal

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// mustEnd are the operations after whose failure the store must stop, because data may be
// lost.
var mustEnd = map[errorfs.OpKind]bool{
	errorfs.OpFileWrite: true, errorfs.OpFileWriteAt: true, errorfs.OpFileSync: true,
	errorfs.OpFileSyncData: true, errorfs.OpFileSyncTo: true,
}

// TestFailedWrite makes one write operation fail, a later operation in each round. It
// checks that after the failure no entry is released, and that no entry that was released
// before is lost.
func TestFailedWrite(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled {
		step = 9
	}
	ended, last := 0, 0
	for k := 0; k < 4000; k += step {
		reached, failed := failWrite(t, int64(k))
		if !reached {
			break
		}
		last = k
		if failed {
			ended++
		}
		step += k / 150 // the first operations are tried one by one, later ones with growing steps
	}
	t.Logf("%d failures up to operation %d", ended, last)
	if ended < 10 {
		t.Fatalf("only %d failures were met", ended)
	}
}

func failWrite(t *testing.T, k int64) (reached, failed bool) {
	t.Helper()
	var armed atomic.Bool
	var count atomic.Int64
	var hit atomic.Pointer[errorfs.Op]
	fs := vfs.NewCrashableMem()
	opts := smallOptions()
	opts.Dir = harnessDir
	opts.FS = onWrite(fs, func(op errorfs.Op) error {
		if !armed.Load() || count.Add(1) != k+1 {
			return nil
		}
		hit.Store(&op)
		return errorfs.ErrInjected
	})
	called := make(chan error, 8)
	opts.OnFailure = func(err error) { called <- err }
	s := mustOpen(t, opts)
	w := newHarness(uint64(k))
	armed.Store(true)
	if err := w.run(s, 120); err != nil {
		t.Fatalf("op %d (%v): %v", k, hit.Load(), err)
	}
	if s.Err() == nil {
		if err := s.Close(); err == nil && hit.Load() != nil && mustEnd[hit.Load().Kind] {
			t.Fatalf("op %d %+v failed and nothing was said", k, *hit.Load())
		} else if err == nil {
			judgeBoth(t, w, fs, w.releasedCount())
			return hit.Load() != nil, false
		}
	}
	checkStopped(t, s, w, called, hit.Load())
	judgeBoth(t, w, fs, w.releasedCount())
	return true, true
}

// checkStopped checks that OnFailure is called once and that no entry is released
// afterwards.
func checkStopped(t *testing.T, s *Store, w *harness, called chan error, op *errorfs.Op) {
	t.Helper()
	select {
	case err := <-called:
		if !strings.HasPrefix(err.Error(), "wal: ") {
			t.Errorf("unclear: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("%+v failed, the store says %v, and OnFailure was not called", op, s.Err())
	}
	select { // a release that began before the store was marked as failed may still end
	case <-s.stopped:
	case <-time.After(20 * time.Millisecond): // the writer may also be blocked in Pebble for ever
	}
	before, submitted := w.releasedCount(), s.Submitted()
	w.next(s)
	if ticket := s.Append(&Entry{Out: []Out{harnessOut{w, len(w.entries) - 1}}}); ticket <= s.Durable() {
		t.Fatal("a ticket of what was never queued counts as durable")
	}
	time.Sleep(time.Millisecond)
	if after := w.releasedCount(); after != before {
		t.Fatalf("released %d entries after the failure", after-before)
	}
	if s.Submitted() != submitted {
		t.Fatal("something was queued after the failure")
	}
	if err := s.Close(); err == nil {
		t.Fatal("close after a failure said nothing")
	}
	if len(called) > 0 {
		t.Fatalf("OnFailure was called again: %v", <-called)
	}
}

// judgeBoth opens and checks the store that a power failure leaves: once with none of the
// unsynced data, once with all of it.
func judgeBoth(t *testing.T, w *harness, fs *vfs.MemFS, released int) {
	t.Helper()
	for _, percent := range []int{0, 100} {
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
		s, _, err := w.judge(clone, released, smallOptions())
		if err != nil {
			t.Fatalf("with %d%% of what was not synced: %v", percent, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
