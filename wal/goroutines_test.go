package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// counted is an entry that writes its own ticket, n, into a row. Only one goroutine appends
// such entries, so it knows the next ticket.
func counted(n uint64, out ...Out) *Entry {
	return &Entry{Stream: 1, Ops: []Op{{OpSet, []byte("newest"), binary.BigEndian.AppendUint64(nil, n)}}, Out: out}
}

// newestIn returns the ticket in the row that counted entries write; 0: no such row exists
// yet.
func newestIn(t *testing.T, v *View) uint64 {
	t.Helper()
	b, ok, err := v.Get([]byte("newest"))
	if err != nil {
		t.Error(err)
	}
	if !ok {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// TestViewShowsWhatItsTicketCovers checks that a view shows no entry after its ticket, even
// if entries are committed while the view is being opened. The test opens many views at
// once, so that they wait for each other inside Pebble and commits happen between taking
// the snapshot and reading the ticket.
func TestViewShowsWhatItsTicketCovers(t *testing.T) {
	s := memStore(t, Options{})
	var stop atomic.Bool
	var work sync.WaitGroup
	commits, each := 0, 2000
	if raceEnabled {
		each = 200
	}
	work.Go(func() {
		for n := uint64(1); !stop.Load(); n++ {
			done := make(chanOut, 1)
			s.Append(counted(n, done))
			if err := <-done; err != nil {
				t.Error(err)
			}
			commits++
		}
	})
	var views sync.WaitGroup
	for range 64 {
		views.Go(func() {
			for range each {
				v := s.View()
				if shown := newestIn(t, v); shown > uint64(v.Ticket()) {
					t.Errorf("a view of ticket %d shows entry %d", v.Ticket(), shown)
				}
				if v.Close() != nil || t.Failed() {
					break
				}
			}
		})
	}
	views.Wait()
	stop.Store(true)
	work.Wait()
	if commits < 20 {
		t.Errorf("only %d commits", commits)
	}
}

// syncGate is a file system in which syncs wait while mu is locked for writing.
type syncGate struct {
	FS
	mu      sync.RWMutex
	waiting atomic.Int64
}

func newSyncGate(fs FS) *syncGate {
	g := &syncGate{}
	g.FS = onWrite(fs, func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			g.waiting.Add(1)
			defer g.waiting.Add(-1)
			g.mu.RLock()
			defer g.mu.RUnlock()
		}
		return nil
	})
	return g
}

func (g *syncGate) shut() { g.mu.Lock() }
func (g *syncGate) open() { g.mu.Unlock() }

// await waits until holds returns true, for 10 s at most.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}

// TestShownBeforeSync checks that a commit is visible before it is synced, that the ticket
// of a view which shows the commit includes it, and that an entry without content appended
// after that view is released only after the sync.
func TestShownBeforeSync(t *testing.T) {
	gate := newSyncGate(vfs.NewMem())
	s := memStore(t, Options{FS: gate, AnchorEvery: time.Hour})
	first, second, parked := make(chanOut, 1), make(chanOut, 1), make(chanOut, 1)
	s.Append(counted(1, first))
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	gate.shut()
	ticket := s.Append(counted(2, second))
	var shown *View
	await(t, "the commit is shown", func() bool {
		shown = s.View()
		if newestIn(t, shown) == 2 {
			return true
		}
		return shown.Close() != nil
	})
	defer func() { _ = shown.Close() }()
	if s.Durable() >= ticket || shown.Ticket() < ticket {
		t.Errorf("before the sync: durable %d, the view's ticket %d, the entry's %d", s.Durable(), shown.Ticket(), ticket)
	}
	s.Append(&Entry{Out: []Out{parked}})
	await(t, "the sync", func() bool { return gate.waiting.Load() > 0 })
	select {
	case err := <-second:
		t.Errorf("released before the sync: %v", err)
	case err := <-parked:
		t.Errorf("who parked behind the view was released before the sync: %v", err)
	default:
	}
	gate.open()
	if err := errors.Join(<-second, <-parked); err != nil || s.Durable() < shown.Ticket() {
		t.Errorf("after the sync: %v, durable %d, the view's ticket %d", err, s.Durable(), shown.Ticket())
	}
}

// released has the numbers of the released and the refused entries, in the order of their
// release, and the store's Durable at each release.
type released struct {
	mu      sync.Mutex
	order   []int
	refused []int
	durable []Ticket
}

type releasedOut struct {
	*released
	store *Store
	n     int
}

// Release implements Out.
func (o releasedOut) Release(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.refused = append(o.refused, o.n)
		return
	}
	o.order = append(o.order, o.n)
	o.durable = append(o.durable, o.store.Durable())
}

// load starts goroutines that append each entries to a stream of their own, among them
// entries with rows alone and entries with neither records nor rows. A goroutine stops
// early when goesOn returns false. load returns every entry's ticket.
func (r *released) load(s *Store, goroutines, each int, goesOn func(i int) bool) map[int]Ticket {
	tickets := map[int]Ticket{}
	var mu sync.Mutex
	var work sync.WaitGroup
	for g := range goroutines {
		work.Go(func() {
			var at tail
			for i := 0; i < each && goesOn(i); i++ {
				n := g*each + i
				e := &Entry{Stream: Stream(g + 1), Expect: at.seq, Out: []Out{releasedOut{r, s, n}}}
				switch i % 4 {
				case 0, 1:
					e.Records = sealedRun(e.Stream, &at, 1, 20)
				case 2:
					e.Ops = []Op{{OpSet, rowKey(n, 0), nil}}
				}
				ticket := s.Append(e)
				mu.Lock()
				tickets[n] = ticket
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return tickets
}

// count returns the number of releases so far.
func (r *released) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.order)
}

// TestReleasedAsSubmitted checks that the entries of all goroutines and streams are
// released in the order of submission, and only once they are durable.
func TestReleasedAsSubmitted(t *testing.T) {
	const goroutines, each = 8, 500
	s := memStore(t, Options{AnchorEvery: time.Millisecond})
	var r released
	tickets := r.load(s, goroutines, each, func(int) bool { return true })
	last := make(chanOut, 1)
	s.Append(&Entry{Out: []Out{last}})
	if err := <-last; err != nil {
		t.Fatal(err)
	}
	if len(r.order) != goroutines*each {
		t.Fatalf("%d of %d released", len(r.order), goroutines*each)
	}
	for i, n := range r.order {
		if tickets[n] != Ticket(i+1) || r.durable[i] < tickets[n] {
			t.Fatalf("ticket %d was released as number %d, when %d was durable", tickets[n], i+1, r.durable[i])
		}
	}
}

// TestFailsUnderLoad checks that after a failed write no entry is released, although
// goroutines go on appending, and that every entry released before is on disk.
func TestFailsUnderLoad(t *testing.T) {
	for seed := range uint64(12) {
		disk := vfs.NewCrashableMem()
		var armed atomic.Bool
		var left atomic.Int64
		left.Store(int64(2 + 5*seed))
		store := mustOpen(t, Options{
			Dir: harnessDir, AnchorEvery: time.Hour, OnFailure: func(error) {},
			FS: onWrite(disk, func(errorfs.Op) error {
				if armed.Load() && left.Add(-1) < 0 {
					return errorfs.ErrInjected
				}
				return nil
			}),
		})
		armed.Store(true)
		var r released
		var before atomic.Int64 // 1 + the number of releases when the failure was first seen
		var after atomic.Int64  // number of entries that were appended after the failure was first seen
		tickets := r.load(store, 4, 1<<20, func(int) bool {
			if store.Err() == nil {
				return true
			}
			before.CompareAndSwap(0, int64(r.count())+1)
			return after.Add(1) < 200
		})
		durable, submitted := store.Durable(), store.Submitted()
		if ticket := store.Append(counted(1)); ticket <= submitted || store.Submitted() != submitted {
			t.Errorf("seed %d: something was queued after the failure, as %d", seed, ticket)
		}
		if n := int64(r.count()) - (before.Load() - 1); n > 1 { // one release may have been in progress when the failure was seen
			t.Errorf("seed %d: %d were released after the failure", seed, n)
		}
		kept := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed%3) * 50, RNG: rand.New(rand.NewPCG(seed, 1))})
		if err := onDisk(kept, r.order, tickets, durable); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if r.count() == 0 && seed > 2 {
			t.Errorf("seed %d: nothing was released before the failure", seed)
		}
	}
}

// onDisk checks that those released entries that have rows alone are on disk.
func onDisk(fs FS, order []int, tickets map[int]Ticket, durable Ticket) error {
	s, err := Open(Options{Dir: harnessDir, FS: fs})
	if err != nil {
		return err
	}
	for _, n := range order {
		if tickets[n] > durable {
			err = errors.Join(err, fmt.Errorf("ticket %d was released, and %d is durable", tickets[n], durable))
		}
		if n%4 != 2 {
			continue
		}
		if _, ok, got := s.Get(rowKey(n, 0)); !ok {
			err = errors.Join(err, fmt.Errorf("ticket %d was released and is not there", tickets[n]), got)
		}
	}
	return errors.Join(err, s.Close())
}
