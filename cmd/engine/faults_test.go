package engine

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

var (
	faultsFrom = flag.Int64("faults.from", 1, "the first operation of a load to fail")
	faultsStep = flag.Int64("faults.step", 0, "and every so many after it; 0: some")
	faultsAt   = flag.Int64("faults.at", 0, "fail only this one")
)

// failing makes one write, sync or other operation that changes the disk fail, once.
type failing struct {
	count atomic.Int64
	at    atomic.Int64 // number of the operation that fails, counted from 1; 0: none fails
	cause error
	hit   atomic.Pointer[errorfs.Op]
}

func (f *failing) String() string { return "failing disk" }

// MaybeError implements errorfs.Injector.
func (f *failing) MaybeError(op errorfs.Op) error {
	at := f.at.Load()
	if at == 0 || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || f.count.Add(1) != at {
		return nil
	}
	f.hit.Store(&op)
	return f.cause
}

// mustEnd are the operations whose failure loses data unless the engine stops.
var mustEnd = map[errorfs.OpKind]bool{
	errorfs.OpFileWrite: true, errorfs.OpFileWriteAt: true, errorfs.OpFileSync: true,
	errorfs.OpFileSyncData: true, errorfs.OpFileSyncTo: true,
}

// faultAnswers is the number of answers after which the load ends if no operation fails.
const faultAnswers = 150

// faulty is one run: an engine under load, one failed operation, and a second engine, started
// on the disk that the failure left.
type faulty struct {
	disk   *vfs.MemFS
	inject *failing
	failed chan error
	engine *Engine
	c      clients
}

func (f *faulty) live(seed uint64, wrap func(account.Journal) account.Journal) error {
	config := crashConfig(errorfs.Wrap(f.disk, f.inject))
	config.OnFailure = func(err error) { f.failed <- err }
	config.wrap = wrap
	var err error
	if f.engine, err = Open(config); err != nil {
		return err
	}
	ids, err := populate(f.engine)
	if err != nil {
		return err
	}
	f.inject.at.Store(int64(seed))
	var stop atomic.Bool
	var load sync.WaitGroup
	for i := range 6 {
		load.Go(func() {
			f.c.drive(f.engine, ids[i%len(ids)], rand.New(rand.NewPCG(seed, uint64(10+i))), &stop)
		})
	}
	for len(f.c.sofar()) < faultAnswers && len(f.failed) == 0 {
		time.Sleep(200 * time.Microsecond)
	}
	stop.Store(true)
	over := make(chan struct{})
	go func() { load.Wait(); close(over) }()
	select {
	case <-over:
	case why := <-f.failed: // clients may wait for answers that never come, so the run goes on without them
		f.failed <- why
	}
	return nil
}

// end closes an engine that still works, or checks that an engine that has stopped gives no
// answers. It reports whether the engine had stopped.
func (f *faulty) end() (stopped bool, err error) {
	if len(f.failed) == 0 {
		if err = f.engine.Close(); err == nil {
			if hit := f.inject.hit.Load(); hit != nil && mustEnd[hit.Kind] {
				return false, fmt.Errorf("%+v failed, and nothing was said", *hit)
			}
			return false, nil
		}
		if !errors.Is(err, f.inject.cause) {
			return true, fmt.Errorf("close: %w", err)
		}
		return true, nil
	}
	return true, f.silent()
}

// silent checks that an engine whose journal has failed answers no request. If the
// simulator's book failed instead, the journal still works, and nothing is checked.
func (f *faulty) silent() error {
	f.engine.cancel()
	if f.engine.Store.Err() == nil {
		return nil
	}
	answered := make(chan error, 1)
	go func() {
		_, err := f.engine.Accounts.Do(1, ledger.Credit{Kind: pix.TxInternal, Amount: 50})
		answered <- err
	}()
	select {
	case err := <-answered:
		return errors.New(fmt.Sprint("answered after the failure: ", err))
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}

// failOnce makes the n-th operation of a load fail. reached reports whether the load had n
// operations, stopped whether the failure ended the engine.
func failOnce(n int64, cause error, wrap func(account.Journal) account.Journal) (reached, stopped bool, err error) {
	f := &faulty{disk: vfs.NewCrashableMem(), inject: &failing{cause: cause}, failed: make(chan error, 8)}
	if err = f.live(uint64(n), wrap); err != nil {
		return false, false, err
	}
	if stopped, err = f.end(); err != nil {
		return true, stopped, err
	}
	held := f.c.sofar() // collected before the clone, because a journal that has not failed still writes
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	kept := f.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
	return f.inject.hit.Load() != nil, stopped, judge(kept, held)
}

// TestFailedDisk makes one operation that changes the disk fail, in each run another one. It
// checks that the engine stops, that nothing more is answered, and that an engine started on
// the same disk has every answer that was given.
func TestFailedDisk(t *testing.T) {
	step := *faultsStep
	switch {
	case step > 0:
	case testing.Short():
		step = 67
	default:
		step = 13
	}
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		ended := 0
		n := *faultsFrom
		if *faultsAt != 0 {
			n, step = *faultsAt, 1<<40
		}
		for ; ; n += step {
			reached, stopped, err := failOnce(n, cause, nil)
			if err != nil {
				t.Fatalf("operation %d, %v: %v\nrepeat: go test ./cmd/engine -run 'TestFailedDisk$' -faults.at=%d -count=20", n, cause, err, n)
			}
			if !reached {
				break
			}
			if stopped {
				ended++
			}
		}
		t.Logf("%v: %d failures ended the engine, up to operation %d", cause, ended, n)
		if ended < 2 && *faultsAt == 0 {
			t.Error("hardly any failure was met")
		}
	}
}

// TestFailedDiskFindsMutations checks that TestFailedDisk finds an engine that answers
// before durability.
func TestFailedDiskFindsMutations(t *testing.T) {
	for n := int64(1); n <= 40; n++ {
		if _, _, err := failOnce(n, syscall.EIO, func(j account.Journal) account.Journal { return early{j} }); err != nil {
			t.Logf("operation %d: %v", n, err)
			return
		}
	}
	t.Fatal("an engine that answers before durability was not found out")
}
