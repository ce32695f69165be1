package account

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"pixd/actors/ledger"
	"pixd/wal"
)

// TestReadAsleep checks that a read of the head does not bring an account into memory, and
// finds the same head as the account's actor, also where records follow the head row.
func TestReadAsleep(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	for n := range 20 {
		w.fund(1, ledger.Amount(n+1))
		want := w.head(1)
		var got ledger.Account
		err := w.store.Look(1, func(v *wal.View) (err error) {
			got, err = headOf(1, v)
			return err
		})
		if err != nil || string(got.EncodeHead()) != string(want.EncodeHead()) || got.Seq != want.Seq || got.Time != want.Time {
			t.Fatalf("after %d credits: %+v, the actor has %+v (%v)", n+1, got, want, err)
		}
	}
	want := w.head(1)
	w.clock.Add(1000)
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	if got := w.head(1); got.Totals != want.Totals || got.Seq != want.Seq {
		t.Errorf("asleep %+v, awake %+v", got, want)
	}
	if w.entry(1).awake() {
		t.Error("the read has woken the account")
	}
	if got := wal.Stream(w.looked.Load()); got != 1 {
		t.Errorf("the read has waited for writes of account %v", got)
	}
	if a, err := w.Do(harnessAccounts+1, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("an unknown account: %+v, %v", a, err)
	}
	// An account without a record is opened by its first command, which is its actor's work.
	if got := w.head(2); got.Seq == 0 || !w.entry(2).awake() {
		t.Errorf("a new account: %+v", got)
	}
}

// head reads an account's head.
func (w *harness) head(id ledger.AccountID) *ledger.Account {
	w.t.Helper()
	a, err := w.Do(id, ledger.ReadAccount{})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Head
}

// TestReadsWhilePassivated checks that reads see every credit that was answered, and never an
// older balance than an earlier read, while the account comes into memory and leaves it.
func TestReadsWhilePassivated(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	const credits = 400
	var told atomic.Int64 // the balance that answers have told
	var stop atomic.Bool
	var work sync.WaitGroup
	work.Go(func() {
		for !stop.Load() {
			w.Passivate()
		}
	})
	work.Go(func() {
		for newest := ledger.Amount(0); !stop.Load(); {
			least := ledger.Amount(told.Load())
			got := w.head(1).Totals.Balance
			if got < newest || got < least || got > credits {
				t.Errorf("read %d after %d, with %d told", got, newest, least)
				return
			}
			newest = got
		}
	})
	for range credits {
		w.fund(1, 1)
		told.Add(1)
		w.clock.Add(10)
	}
	stop.Store(true)
	work.Wait()
}

// look is the store's Look; it notes the stream.
func (w *harness) look(stream wal.Stream, read func(*wal.View) error) error {
	w.looked.Store(uint64(stream))
	return w.store.Look(stream, read)
}
