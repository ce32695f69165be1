package engine

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// deaf is a journal that takes as many entries with records as left says and ignores every
// later one, as if the process had died.
type deaf struct {
	account.Journal
	left *atomic.Int64
}

func (j deaf) Append(e *wal.Entry) wal.Ticket {
	if len(e.Records) > 0 && j.left.Add(-1) < 0 {
		return j.Durable()
	}
	return j.Journal.Append(e)
}

// TestResumeUnderOtherFlags checks that a payout held by the last process is resumed by the
// next process, even if that process has other time limits.
func TestResumeUnderOtherFlags(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"the same":               func(*Config) {},
		"a longer orphan-after":  func(c *Config) { c.OrphanAfter = 2 * time.Hour },
		"a shorter timeout":      func(c *Config) { c.SchemeTimeout = time.Millisecond },
		"a shorter orphan-after": func(c *Config) { c.OrphanAfter = time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			kept := heldAndLost(t)
			config := crashConfig(kept)
			change(&config)
			e, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}()
			if open, err := inFlight(e); err != nil || len(open) > 1 {
				t.Fatalf("open %v, %v", open, err)
			}
			if err := comesToRest(e); err != nil {
				t.Error(err)
			}
		})
	}
}

// heldAndLost returns the disk of a process that held a payout, sent it, and died before it
// could record the outcome.
func heldAndLost(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	left := &atomic.Int64{}
	left.Store(1 << 30)
	config := crashConfig(disk)
	config.SettleDelay = 50 * time.Millisecond
	config.wrap = func(j account.Journal) account.Journal { return deaf{j, left} }
	e, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := populate(e)
	if err != nil {
		t.Fatal(err)
	}
	left.Store(1) // the journal takes the entry that holds the money, and no entry after it
	go func() {
		_, _ = e.Accounts.Do(ids[0], ledger.RequestPayout{
			Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: "settle-now@pix.test"},
		})
	}()
	for deadline := time.Now().Add(5 * time.Second); left.Load() >= 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the payout was never carried")
		}
	}
	kept := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return kept
}
