package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
)

// TestRoundsGoOn, TestRegistrarGoesOn and this file go through the loops of the background work.
// These cannot fail a round:
//
//   - keepClock compares two clocks, and appends an alert to the journal without waiting for it.
//   - load.watch reads counters and the processor time, which is 0 where the system does not tell.
//   - Trim sends messages to accounts. Passivate does too; an account that cannot be read then is
//     counted as left, and the next search reads it (TestUnreadAccount of package account).
//   - uses.run reads memory; its write fails only with the journal, which ends the engine.
//   - the audit has no loop: one that fails is an error to whoever asked for it, and the next
//     one begins anew (TestFailedRead).
//   - the watch of the disk beside a snapshot takes a disk that does not tell its space for one
//     with room, and looks again after diskEvery (TestFreeUnknownBesideSnapshot, below).

// failingRounds makes each round of some background work fail, at its first read.
type failingRounds struct {
	mu  sync.Mutex
	who []string // functions whose reads fail, as place names them
}

func (f *failingRounds) read() error {
	at := place()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.who {
		if strings.Contains(at, name) {
			return errRead
		}
	}
	return nil
}

func (f *failingRounds) set(who ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.who = who
}

// TestRoundsGoOnAfterReads makes the looks of the scanner and of the webhooks' dispatcher and the
// hourly drop of old alerts fail by reads, and checks that the next ones do the work that waited.
func TestRoundsGoOnAfterReads(t *testing.T) {
	fails, least := time.Hour+time.Minute, map[string]int{
		"due: waiting payouts not looked at": 1000, "webhook: deliveries not read": 1000, "old alerts not dropped": 1,
	}
	if testing.Short() { // too short for the hourly drop of old alerts
		fails, least = 2*time.Minute, map[string]int{"due: waiting payouts not looked at": 30, "webhook: deliveries not read": 30}
	}
	folder := halfDone(t)
	synctest.Test(t, func(t *testing.T) {
		var rounds failingRounds
		r := newReadRun(folder.CrashClone(vfs.CrashCloneCfg{}))
		rounds.set("due.(*Machine).Tick", "webhook.(*Machine).Tick", "(*alertBook).drop")
		r.config.readFault = rounds.read
		e, err := Open(r.config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		book := &e.Config.alerts.book
		go book.keep(ctx, slog.New(slog.NewTextHandler(&r.log, nil)))
		old := alertForm{Kind: "old", Message: "old"}.op(e.Clock.Now() - 2*pix.Millis(keptAlerts/time.Millisecond))
		if err := write(e.Store, shared, old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(fails)
		open, err := underWay(e)
		if err != nil || len(open) == 0 {
			t.Errorf("under way: %d, %v", len(open), err)
		}
		for text, want := range least {
			if n := strings.Count(r.log.String(), text); n < want {
				t.Errorf("%q %d times, want %d", text, n, want)
			}
		}
		rounds.set()
		time.Sleep(min(fails, time.Hour))
		if err := r.judge(e); err != nil {
			t.Error(err)
		}
		if _, there, err := e.Store.Get(old.Key); there != testing.Short() || err != nil {
			t.Errorf("the old alert is there: %v %v", there, err)
		}
	})
}

// unknownFree is a file system that does not say how much is free, and then that little is.
type unknownFree struct {
	fullBeside
	tells atomic.Bool // it says so again
}

// GetDiskUsage implements vfs.FS.
func (f *unknownFree) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	if !f.tells.Load() {
		return vfs.DiskUsage{}, errors.New("for the test")
	}
	return f.fullBeside.GetDiskUsage(path)
}

// TestFreeUnknownBesideSnapshot checks that a snapshot is made on although the data folder's disk
// does not say how much is free, and that it is given up when that disk is full the next time.
func TestFreeUnknownBesideSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &unknownFree{}
		fs.FS, fs.full = vfs.NewMem(), new(atomic.Bool)
		fs.full.Store(true)
		s := &snapshots{e: &Engine{Config: Config{DataDir: "data", FS: fs, MinFreeDisk: 1 << 30}}}
		ctx, giveUp := context.WithCancelCause(t.Context())
		go s.watchDisk(ctx, giveUp)
		time.Sleep(3 * diskEvery)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("given up: %v", context.Cause(ctx))
		}
		fs.tells.Store(true)
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if why := context.Cause(ctx); why == nil || !strings.Contains(why.Error(), "too little disk is free beside a snapshot") {
			t.Errorf("not given up: %v", why)
		}
		giveUp(nil)
	})
}
