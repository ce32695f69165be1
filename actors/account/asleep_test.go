package account

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestReadAsleep checks that a read of the head does not bring an account into memory, and
// finds the same head as the account's actor, also where records follow the head row.
func TestReadAsleep(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	for n := range 20 {
		w.fund(1, pix.Amount(n+1))
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

// awake tells whether the account is in memory.
func (e *entry) awake() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pid != nil
}

// head reads an account's head.
func (w *harness) head(id pix.AccountID) *ledger.Account {
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
	for _, idle := range []time.Duration{1, 3 * time.Millisecond} { // the second one lets some reads bring the account into memory
		t.Run(idle.String(), func(t *testing.T) { readsWhilePassivated(t, newHarness(t, Limits{IdleAfter: idle})) })
	}
}

func readsWhilePassivated(t *testing.T, w *harness) {
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
		for newest := pix.Amount(0); !stop.Load(); {
			least := pix.Amount(told.Load())
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
	w.looks.Add(1)
	return w.store.Look(stream, read)
}

// tailReads counts the records that accounts read while they are restored.
type tailReads struct {
	wal.Tail
	records atomic.Int64
}

func (r *tailReads) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return r.Tail.Read(stream, from, prev, func(w wal.Record) error {
		r.records.Add(1)
		return fn(w)
	})
}

// restarted is a second host over the harness's store, as after a crash: no account of the first
// one had its head row written.
func (w *harness) restarted(limits Limits) (*Host, *tailReads) {
	o := w.options(limits)
	r := &tailReads{Tail: w.store}
	o.Tail = r
	d := NewHost(o)
	w.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return d, r
}

// TestReadAgainAndAgain checks that an account which is read again and again replays the records
// after its head row for the first two reads alone, however many these are, and shows the newest
// balance.
func TestReadAgainAndAgain(t *testing.T) {
	for credits := 1; credits <= 9; credits++ {
		t.Run(fmt.Sprint(credits), func(t *testing.T) { readAgain(t, credits) })
	}
}

func readAgain(t *testing.T, credits int) {
	w := newHarness(t, Limits{})
	for range credits {
		w.fund(1, 5)
	}
	at, newest := w.headRow(1)
	d, tail := w.restarted(Limits{SchemeTimeout: time.Second})
	for n := range 50 {
		a, err := d.Do(1, ledger.ReadAccount{})
		if err != nil || a.Head.Totals.Balance != pix.Amount(5*credits) {
			t.Fatalf("read %d: %+v (%v)", n, a.Head, err)
		}
	}
	if looks, read := w.looks.Load(), tail.records.Load(); looks != 1 || read != int64(newest-at) {
		t.Errorf("%d records after the head row: 50 reads looked %d times, and replayed %d for memory", newest-at, looks, read)
	}
}

// TestReadRarely checks that accounts which are read once, or once in a while, are not brought
// into memory.
func TestReadRarely(t *testing.T) {
	w := newHarness(t, Limits{})
	for id := pix.AccountID(1); id <= harnessAccounts; id++ {
		w.fund(id, 5)
	}
	d, tail := w.restarted(Limits{IdleAfter: time.Minute, SchemeTimeout: time.Second})
	for range 3 {
		for id := pix.AccountID(1); id <= harnessAccounts; id++ {
			if _, err := d.Do(id, ledger.ReadAccount{}); err != nil {
				t.Fatal(err)
			}
			if d.entry(id).awake() {
				t.Errorf("%v is in memory", id)
			}
		}
		w.clock.Add(60_000)
	}
	if looks := w.looks.Load(); looks != 3*harnessAccounts || tail.records.Load() != 0 {
		t.Errorf("%d looks, %d records", looks, tail.records.Load())
	}
}
