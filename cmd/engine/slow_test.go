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
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// slowReads delays every read of the tables in one folder while slow is set.
type slowReads struct {
	folder string
	delay  time.Duration
	slow   atomic.Bool
	inHand atomic.Int64 // number of reads that are being delayed now
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

// TestCloseUnderSlowReads checks that an engine which is closed while accounts and payouts'
// children read a slow disk waits for them, and ends without an error.
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

// owedWords returns the disk of a closed engine with payouts that the simulator has not
// settled yet. All rows are in tables.
func owedWords(t *testing.T) (disk *vfs.MemFS, owed []answered) {
	t.Helper()
	disk = vfs.NewMem()
	config := crashConfig(disk)
	config.SettleDelay = time.Hour
	e, ids := openPopulated(t, config)
	for n := range 60 {
		pay := ledger.RequestPayout{Amount: pix.Amount(100 + n), Key: pix.Key{Type: pix.KeyEmail, Value: "a@example.com"}}
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

// closeUnder starts an engine, lets it ask the scheme about all owed payouts, and closes it
// the given time after the first slow read has begun.
func closeUnder(disk wal.FS, owed []answered, slow *slowReads, after time.Duration) error {
	config := crashConfig(errorfs.Wrap(disk, slow))
	config.SettleDelay, config.OrphanAfter = time.Hour, time.Millisecond
	config.cache, config.memTable = 1, 256<<10 // nothing is cached: every read goes to the disk
	failed := make(chan error, 2)
	config.OnFailure = func(err error) { failed <- err }
	e, err := Open(config)
	if err != nil {
		return err
	}
	slow.slow.Store(true) // at once: the scanner's pass over all due rows begins with the start
	for i := range owed {
		e.Accounts.Due(due.Task{Account: owed[i].account, ID: layout.EntityID(owed[i].tx.ID)})
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
	case <-time.After(2 * slow.delay): // longer than a slow read takes: no read goes on after the close
		return nil
	}
}

// stuck is a scheme whose lookup, once it is armed, does not return when its context ends.
type stuck struct {
	scheme.Scheme
	armed   atomic.Bool
	in, out chan struct{}
}

func (s *stuck) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	if !s.armed.Load() {
		return s.Scheme.Lookup(ctx, q)
	}
	close(s.in)
	<-s.out
	return pix.Party{}, errors.New("too late")
}

// TestCloseOverAStuckChild checks that Close returns an error if a child actor that carries a
// payout does not end in time, and that the stores are closed all the same.
func TestCloseOverAStuckChild(t *testing.T) {
	disk := vfs.NewMem()
	config := crashConfig(disk)
	config.patience = 50 * time.Millisecond
	s := &stuck{in: make(chan struct{}), out: make(chan struct{})}
	config.wrapScheme = func(of scheme.Scheme) scheme.Scheme {
		s.Scheme = of
		return s
	}
	e, ids := openPopulated(t, config)
	s.armed.Store(true)
	go func() {
		_, _ = e.Accounts.Do(ids[0], ledger.RequestPayout{Amount: 5, Key: pix.Key{Type: pix.KeyEmail, Value: "a@example.com"}})
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
