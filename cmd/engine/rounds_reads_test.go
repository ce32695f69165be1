package engine

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/alerts"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
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
//     with room, and looks again after DiskEvery (TestFreeUnknownBesideSnapshot of cmd/snapshots).

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
		"due: what waits not looked at": 1000, "webhook: deliveries not read": 1000, "old alerts not dropped": 1,
	}
	if testing.Short() { // too short for the hourly drop of old alerts
		fails, least = 2*time.Minute, map[string]int{"due: what waits not looked at": 30, "webhook: deliveries not read": 30}
	}
	folder := halfDone(t)
	synctest.Test(t, func(t *testing.T) {
		var rounds failingRounds
		r := newReadRun(folder.CrashClone(vfs.CrashCloneCfg{}))
		rounds.set("actors/due.(*", "webhook.(*Machine).Tick", "(*Alerts).Drop")
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
		old := e.Config.alerts.Row(0, ledger.Alert{Kind: "old", Message: "old"}, e.Clock.Now()-2*pix.Millis(alerts.Kept/time.Millisecond))
		if err := e.Store.WriteRows(wal.Shared, old); err != nil {
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
