package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
)

// slowReads is a disk that takes its time over every read of the tables in one
// folder, once it is told to.
type slowReads struct {
	folder string
	delay  time.Duration
	slow   atomic.Bool
	inHand atomic.Int64 // reads that are taking their time
}

func (s *slowReads) String() string { return "slow reads" }

// MaybeError implements errorfs.Injector.
func (s *slowReads) MaybeError(op errorfs.Op) error {
	if !s.slow.Load() || op.Kind != errorfs.OpFileReadAt || !strings.Contains(op.Path, s.folder) || !strings.HasSuffix(op.Path, ".sst") {
		return nil
	}
	s.inHand.Add(1)
	defer s.inHand.Add(-1)
	time.Sleep(s.delay)
	return nil
}

// TestCloseUnderSlowReads: an engine is closed while its accounts and their
// payouts' children read a slow disk. It waits for them, and ends without an error.
func TestCloseUnderSlowReads(t *testing.T) {
	for _, folder := range []string{"data/sim", "data/journal"} {
		for _, after := range []time.Duration{0, 20 * time.Millisecond, 120 * time.Millisecond} {
			t.Run(folder+" after "+after.String(), func(t *testing.T) {
				t.Parallel()
				slow := &slowReads{folder: folder, delay: 100 * time.Millisecond}
				disk, owed := owedWords(t)
				if err := closeUnder(disk, owed, slow, after); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// owedWords is the disk of an engine with payouts whose settlement the simulator
// owes, closed, so that all of it is in tables.
func owedWords(t *testing.T) (disk *vfs.MemFS, owed []answered) {
	t.Helper()
	disk = vfs.NewMem()
	config := crashConfig(disk)
	config.SettleDelay = time.Hour
	e, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := populate(e)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 60 {
		pay := ledger.RequestPayout{Amount: ledger.Amount(100 + n), Key: ledger.Key{Type: ledger.KeyEmail, Value: "a@example.com"}}
		id := ids[n%len(ids)]
		a, err := e.Accounts.Do(id, pay)
		if err != nil || a.Refusal != nil {
			t.Fatal(a.Refusal, err)
		}
		owed = append(owed, answered{account: id, tx: *a.Tx})
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return disk, owed
}

// closeUnder starts an engine, has it ask about all of them, and closes it some time
// after the first slow read of that has begun.
func closeUnder(disk wal.FS, owed []answered, slow *slowReads, after time.Duration) error {
	config := crashConfig(errorfs.Wrap(disk, slow))
	config.SettleDelay, config.OrphanAfter = time.Hour, time.Millisecond
	config.cache, config.memTable = 1, 256<<10 // nothing is kept: every read goes to the disk
	failed := make(chan error, 2)
	config.OnFailure = func(err error) { failed <- err }
	e, err := Open(config)
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond) // what is read at the start is over
	slow.slow.Store(true)
	for i := range owed {
		e.Accounts.Due(due.Task{Account: owed[i].account, ID: ledger.EntityID(owed[i].tx.ID)})
	}
	for deadline := time.Now().Add(5 * time.Second); slow.inHand.Load() == 0; {
		if time.Now().After(deadline) {
			return errors.Join(errors.New("nothing was read"), e.Close())
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(after)
	if err := e.Close(); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-time.After(2 * slow.delay): // nothing reads behind the close either
		return nil
	}
}

// stuck is a scheme that does not end when it is told to.
type stuck struct {
	scheme.Scheme
	in, out chan struct{}
}

func (s *stuck) Lookup(context.Context, scheme.Query) (ledger.Party, error) {
	close(s.in)
	<-s.out
	return ledger.Party{}, errors.New("too late")
}

// TestCloseOverAStuckChild: the end is an error where a payout's child does not come
// back in time, and the stores are given back all the same.
func TestCloseOverAStuckChild(t *testing.T) {
	disk := vfs.NewMem()
	config := crashConfig(disk)
	config.patience = 50 * time.Millisecond
	e, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := populate(e)
	if err != nil {
		t.Fatal(err)
	}
	s := &stuck{e.scheme.Scheme, make(chan struct{}), make(chan struct{})}
	e.scheme.Scheme = s
	go func() {
		_, _ = e.Accounts.Do(ids[0], ledger.RequestPayout{Amount: 5, Key: ledger.Key{Type: ledger.KeyEmail, Value: "a@example.com"}})
	}()
	<-s.in
	if err := e.Close(); err == nil || !strings.Contains(err.Error(), "do not come to rest") {
		t.Error(err)
	}
	close(s.out)
	if err := verifyOn(disk); err != nil {
		t.Error(err)
	}
}
