package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/account"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/wal"
)

// loaded is an engine that clients drove until they had some answers.
func loaded(t *testing.T, config Config, seed uint64, answers int) (*Engine, *clients) {
	t.Helper()
	e, ids := openPopulated(t, config)
	c := &clients{}
	var stop atomic.Bool
	var load sync.WaitGroup
	for i := range 6 {
		load.Go(func() { c.drive(e, ids[i%len(ids)], rand.New(rand.NewPCG(seed, uint64(10+i))), &stop) })
	}
	for end := time.Now().Add(20 * time.Second); len(c.sofar()) < answers && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	load.Wait()
	return e, c
}

// TestCleanStop checks that after a clean stop the head row of each account includes its newest
// record, whatever the number of its records and what is in flight, so that no read after the
// start replays one.
func TestCleanStop(t *testing.T) {
	for seed := range uint64(3) {
		disk := vfs.NewCrashableMem()
		e, c := loaded(t, crashConfig(disk), seed, 150)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		// Read without an engine, which would go on with what is in flight at once.
		store, err := wal.Open(wal.Options{Dir: "data/" + journal.Folder, FS: disk, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for id := pix.AccountID(1); id <= crashAccounts; id++ {
			row, ok, err := store.Get(layout.HeadKey(id))
			at, _ := account.HeadRowAt(row)
			if newest, _, lastErr := store.Last(wal.Stream(id)); err != nil || lastErr != nil || !ok || newest < 10 || at != newest {
				t.Errorf("%v: the head row stands at %d of %d records (%v, %v)", id, at, newest, err, lastErr)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := judge(disk, c.sofar()); err != nil {
			t.Error(err)
		}
	}
}

// TestPowerCutWhileStopping cuts the power before a write of a clean stop, in each run another
// one, and checks an engine that is started on what the cut left.
func TestPowerCutWhileStopping(t *testing.T) {
	cuts := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 4))
		disk := vfs.NewCrashableMem()
		var kept *vfs.MemFS
		w := &writes{cut: func() { kept = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}) }}
		e, c := loaded(t, crashConfig(errorfs.Wrap(disk, w)), seed, 60)
		w.at.Store(w.count.Load() + 1 + int64(seed))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if kept == nil {
			break // the stop had fewer writes
		}
		cuts++
		if err := judge(kept, c.sofar()); err != nil {
			t.Error(fmt.Errorf("before write %d: %w", seed+1, err))
		}
	}
	if cuts < 5 {
		t.Errorf("only %d cuts", cuts)
	}
}
